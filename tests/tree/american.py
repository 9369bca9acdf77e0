#!/usr/bin/env python3
"""american.py ROOT: what a user reads is spelled in the American way. Prints each place that is not."""
import re
import sys
from pathlib import Path

FOLDERS = ["docs", "examples", "tools", "bench", "measure", "scripts", "cmake", "include", "generators", "tests"]
FILES = ["*.md", "CITATION.cff", "CMakeLists.txt"]
# "catalogue" and "dialogue" are spelled so in America too.
VERBS = ("author capital categor character custom emphas equal factor final general harmon initial item local material "
         "maxim memor minim modern neutral normal optim organ parallel penal polar prior quant random rational real recogn "
         "sanit serial special stabil standard summar symbol synchron token util vector visual").split()
WORDS = ("analys(e|ed|ing)|armour|artefact|behaviour|cancell(ed|ing)|centr(e|ed|es)|colour|defence|favour|fibre|flavour|grey|"
         "harbour|honour|judgement|label+l(ed|ing)|labour|licence|modell(ed|ing)|neighbour|offence|programme\\b|rigour|"
         "signall(ed|ing)|travell(ed|er|ing)|vapour|whilst")
BRITISH = re.compile(rf"(?<![a-z])(un|re|de|dis)*((?:{'|'.join(VERBS)})is(e[drs]?|es|ers|ing|able|ation)|{WORDS})", re.I)


def texts(root):
    for folder in FOLDERS:
        yield from (f for f in sorted((root / folder).rglob("*")) if f.is_file() and f.suffix not in {".json", ".png", ".gz"}
                    and f.resolve() != Path(__file__).resolve())
    for pattern in FILES:
        yield from sorted(root.glob(pattern))


root = Path(sys.argv[1])
files = list(texts(root))
assert len(files) > 50, "the folders of ROOT are not those of Catena"
bad = [f"{f.relative_to(root)}:{number}: {found.group(0)}" for f in files if "__pycache__" not in f.parts
       for number, line in enumerate(f.read_text().splitlines(), 1) for found in BRITISH.finditer(line)]
print("\n".join(bad))
sys.exit(bool(bad))
