"""worked_op.py ROOT WORK PAGE COMPILER LIBRARY...: the op of a page of docs works, and the page has all of its code.

The page's changes are applied to a copy of the headers, which the program beside this script then uses: row.cpp for
docs/worked-op.md, epilogue.cpp for docs/worked-epilogue-op.md. So a page that does not fit the headers any more fails
here, and so does an op that takes more files than one should.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

MOST_FILES = 6
PROGRAMS = {"worked-op.md": "row.cpp", "worked-epilogue-op.md": "epilogue.cpp"}

root, work, page, compiler, *libraries = sys.argv[1:]
root, work = Path(root), Path(work)
text = (root / "docs" / page).read_text(encoding="utf-8")
changes = "".join(re.findall(r"^```diff\n(.*?)^```", text, re.M | re.S))
files = re.findall(r"^\+\+\+ b/(\S+)", changes, re.M)

shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
shutil.copytree(root / "include", work / "include")
# Below a repository git would take the paths for those of the repository.
alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(work.resolve().parent)}
applied = subprocess.run(["git", "apply", "-"], cwd=work, env=alone, input=changes, text=True, capture_output=True)
if applied.returncode:
    sys.exit(f"docs/{page} does not fit the headers: {applied.stderr}")
print(f"{len(files)} files of headers:", *files)

program = work / "worked_op"
subprocess.run([compiler, "-std=c++20", f"-I{work}/include", f"-I{root}/tests/include",
                Path(__file__).with_name(PROGRAMS[page]), "-o", program, *libraries], check=True)
subprocess.run([program], check=True)
if not 0 < len(files) <= MOST_FILES:
    sys.exit(f"the op takes {len(files)} files, expected {MOST_FILES} at most")
