#!/usr/bin/env python3
"""words.py ROOT: the first paragraph of each page says for whom the page is, and sentences and comments stand alone.

In pages and in the comments of include/ no sentence begins with "The same of" or "Of a", and no comment of any source
begins with "The same of" or "Of": such a sentence is understood only beside the one before it.

Fewer than FIELDS comments on fields of include/ begin with a preposition: "///< bytes of a row" says what a field is, and
"///< of a row" leaves that to its name.
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
pages = sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "integrations").rglob("*.md")])
headers = sorted([*(root / "include").rglob("*.hpp"), *(root / "include").rglob("*.cuh")])
folders = ("include", "evidence", "generators", "measure", "tools", "bench", "examples", "integrations", "tests", "cmake")
sources = sorted(file for folder in folders for kind in ("*.hpp", "*.cpp", "*.cuh", "*.cu", "*.py", "*.cmake", "CMakeLists.txt")
                 for file in (root / folder).rglob(kind) if file.is_file())
assert len(pages) > 10 and len(headers) > 100 and len(sources) > 400, "the files of ROOT are not those of Catena"

READER = re.compile(r"\bfor (authors|contributors|everyone|owners|readers|users)\b")
OPENS = re.compile(r"(?:^|\s)(?://[/<]*|#) (The same (?:of|for|as|with|in)|Of)\b")
LEANS = re.compile(r"\b(The same (?:of|for)|Of (?:a|an|all|the))\b")
FIELDS = 20
PREPOSITIONS = ("of in to for by from with at on as behind before past into without per between under over above below beside "
                "until after")
FIELD = re.compile(rf"\S\s*///< ((?:{PREPOSITIONS.replace(' ', '|')}) .*)")

wrong = [f"{page.relative_to(root)}: its first paragraph does not say for whom the page is" for page in pages
         if not READER.search(" ".join(page.read_text().split("\n\n")[1].split()))]
wrong += [f"{file.relative_to(root)}:{number}: name the thing again, and give the sentence a verb: {found.group(0)}"
          for file in pages + headers for number, line in enumerate(file.read_text().splitlines(), 1)
          for found in LEANS.finditer(line)]
wrong += [f"{file.relative_to(root)}:{number}: name the thing again, and give the comment a subject: {found.group(1)}"
          for file in sources for number, line in enumerate(file.read_text().splitlines(), 1)
          if (found := OPENS.search(line))]
fields = [f"{file.relative_to(root)}:{number}: begin the comment on the field with a noun: {found.group(1)}"
          for file in headers for number, line in enumerate(file.read_text().splitlines(), 1)
          if (found := FIELD.search(line))]
if len(fields) >= FIELDS:
    wrong += fields
print(f"{len(fields)} comments on fields begin with a preposition, fewer than {FIELDS} may", *wrong, sep="\n")
sys.exit(bool(wrong))
