#!/usr/bin/env python3
"""faults.py ROOT: every fault of tests/faults changes a text that its source has once, and docs/reliability.md has the
faults of today: so many in each folder, and those that survive."""
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

page = (root / reliability.PAGE).read_text(encoding="utf-8")
survived = [fault for fault in faults if fault.equivalent]
for name, block in ("figures", reliability.figures(faults, survived)), ("survivors", reliability.survivors(survived)):
    if f"<!-- made by {reliability.PROGRAM}: {name} -->\n{block}\n<!-- end -->" not in page:
        wrong.append(f"{reliability.PAGE} has other {name} than the lists of faults: run {reliability.PROGRAM}")
print("\n".join(wrong))
sys.exit(bool(wrong))
