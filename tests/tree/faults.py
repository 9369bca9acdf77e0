#!/usr/bin/env python3
"""faults.py ROOT: every fault of tests/faults changes a text that its source has once, the tests that cover it are there,
and docs/reliability.md has the faults of today: so many in each folder, and those that survive."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
root = Path(sys.argv[1])
sys.path[:0] = [str(root / "tests/faults"), str(root / "bench")]
import listed
import reliability

faults = listed.all_faults()
assert len(faults) >= 120, "the lists of faults are not those of Catena"
wrong = []
for source, own in listed.by_source(faults).items():
    try:
        listed.with_switches((root / source).read_text(encoding="utf-8"), own)
    except (OSError, listed.WrongList) as problem:
        wrong.append(str(problem))

# A test is named by its program, or as program:file,file for the cases of some of its sources.
lists = "\n".join(file.read_text(encoding="utf-8") for file in (root / "tests").rglob("CMakeLists.txt"))
programs = set(re.findall(r"(?:catena_add_test\(|add_executable\(catena_test_)(\w+)", lists))
files = {file.stem for file in (root / "tests").rglob("*.cpp")}
for test in sorted({test for fault in faults for test in fault.tests}):
    program, _, some = test.partition(":")
    if program not in programs:
        wrong.append(f"no program of the tests is called {program}, which covers a fault")
    wrong += [f"{program} has no source {file}, whose cases cover a fault" for file in some.split(",")
              if some and file not in files]

page = (root / reliability.PAGE).read_text(encoding="utf-8")
survived = [fault for fault in faults if fault.equivalent]
for name, block in ("figures", reliability.figures(faults, survived)), ("survivors", reliability.survivors(survived)):
    if f"<!-- made by {reliability.PROGRAM}: {name} -->\n{block}\n<!-- end -->" not in page:
        wrong.append(f"{reliability.PAGE} has other {name} than the lists of faults: run {reliability.PROGRAM}")
print("\n".join(wrong))
sys.exit(bool(wrong))
