#!/usr/bin/env python3
"""engine.py RECORD [PEER]: the chains at which the engine's own kernels are faster than Catena's, beyond the noise.

Prints lines for instances/<arch>/engine.txt, which the generator compiles in, or for catena::measured_file: the
planner leaves these chains to the engine. PEER is its name in the record, ggml-cuda if none is given."""
import sys

sys.dont_write_bytecode = True
from records import Record, fail, label, ours_beside, really_slower

if len(sys.argv) not in (2, 3):
    fail(__doc__)
record, peer = Record(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else "ggml-cuda"
chains = [case for case in record.cases if case["kind"] == "chain" and peer in case["times"]]
if not chains:
    fail(f"{record.path}: no chain was timed with {peer}: measure it with that peer, or name another")
lost = {}
for case in chains:
    theirs, ours = case["times"][peer], ours_beside(case, peer)
    if ours and really_slower(ours, theirs):
        lost.setdefault(case["steps_key"], (theirs["median_us"], ours["median_us"], label(case)))
where = ", ".join(f"{field} {value}" for field, value in record.provenance.items() if isinstance(value, str) and value)
print(f"# {record.not_measured.upper() + '. ' if record.not_measured else ''}{peer}: {len(lost)} of {len(chains)} chains. {where}")
for steps, (theirs, ours, name) in sorted(lost.items()):
    print(f"# {name}\nengine {steps} {theirs:.4f} {ours:.4f}")
