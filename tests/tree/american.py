#!/usr/bin/env python3
"""american.py ROOT: what a user reads is spelled in the American way. Prints each place that is not."""
import re
import sys
from pathlib import Path

FOLDERS = ["docs", "examples", "tools", "bench", "measure", "scripts", "cmake", "include", "evidence", "generators",
           "integrations", "packaging", "tests"]
FILES = ["*.md", "CITATION.cff", "CMakeLists.txt"]
# "catalogue" and "dialogue" are spelled so in America too.
VERBS = ("apolog author capital categor character critic custom emphas equal factor familiar final formal general harmon "
         "initial item local material maxim memor minim modern neutral normal optim organ parallel penal polar prior "
         "priorit quant random rational real recogn sanit serial special stabil standard summar symbol synchron token "
         "util vector visual").split()
WORDS = ("(anal|catal|paral)ys(e|ed|ing)|armour|artefact|behaviour|calibre|centr(e|ed|es)|colour|defence|endeavour|favour|"
         "fibre|flavour|fulfil\\b|grey|harbour|honour|humour|judgement|labour|learnt|licence|lustre|metres?\\b|neighbour|"
         "offence|practis(e|ed|ing)|pretence|programme\\b|rigour|rumour|sceptic|spelt\\b|theatre|vapour|vigour|whilst|"
         "(cancel|channel|equal|fuel|label|level|model|signal|total|travel|tunnel)l(ed|er|ing)")
BRITISH = re.compile(rf"(?<![a-z])(un|re|de|dis)*((?:{'|'.join(VERBS)})is(e[drs]?|es|ers|ing|able|ation)|{WORDS})", re.I)


def texts(root):
    for folder in FOLDERS:
        yield from (f for f in sorted((root / folder).rglob("*")) if f.is_file() and f.suffix not in {".json", ".png", ".gz", ".xz"}
                    and f.resolve() != Path(__file__).resolve())
    for pattern in FILES:
        yield from sorted(root.glob(pattern))


root = Path(sys.argv[1])
files = list(texts(root))
assert len(files) > 50, "the folders of ROOT are not those of Catena"
bad = [f"{f.relative_to(root)}:{number}: {found.group(0)}" for f in files if not {"__pycache__", "corpus"} & set(f.parts)
       for number, line in enumerate(f.read_text().splitlines(), 1) for found in BRITISH.finditer(line)]
print("\n".join(bad))
sys.exit(bool(bad))
