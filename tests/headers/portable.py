"""portable.py FOLDER: what only GNU's compilers know stands behind a question for them.

Headers of the host executor are left out: it is built with GCC or Clang.
"""

import re
import sys
from pathlib import Path

words = re.compile(r"__builtin_|__attribute__|__int128|__typeof__|__PRETTY_FUNCTION__|#pragma GCC|\basm\s*(volatile)?\(")
root = Path(sys.argv[1])
bad = []
for path in sorted(root.rglob("*.hpp")):
    if path.relative_to(root).as_posix().startswith("exec/host/"):
        continue
    branches = []  # around a line: is the branch nvcc's, and did it or one before it ask for GNU's compilers?
    for number, line in enumerate(path.read_text().splitlines(), 1):
        bare = line.strip()
        if bare.startswith(("#if", "#el")):
            gnu = bare.startswith("#el") and branches.pop()[1]
            branches.append(("__CUDA" in bare, gnu or "__GNUC__" in bare))
        elif bare.startswith("#endif"):
            branches.pop()
        elif (word := words.search(line.split("//")[0])) and not any(map(any, branches)):
            bad.append(f"{path}:{number}: only GNU's compilers know {word[0]}: ask for __GNUC__ before, "
                       "as catena/bits.hpp does")
if bad:
    sys.exit("\n".join(bad))
