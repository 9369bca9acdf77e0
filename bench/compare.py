#!/usr/bin/env python3
"""compare.py A B: what of record B got slower or faster than in A, beyond what the samples' spread explains.

Exit code: 0 nothing got slower, 1 something did, 2 the two cannot be compared."""
import sys

sys.dont_write_bytecode = True
from records import OURS, Record, fail, key, label, really_slower

if len(sys.argv) != 3:
    fail(__doc__)
a, b = (Record(path) for path in sys.argv[1:])
for field in ("gpu", "method"):
    if a.provenance[field] != b.provenance[field]:
        fail(f"{a.path} and {b.path} differ in {field}: {a.provenance[field]!r} and {b.provenance[field]!r}; "
             "their times say nothing about each other")
for field in ("driver", "cuda", "ggml", "clocks_mhz"):
    if a.provenance[field] != b.provenance[field]:
        print(f"note: {field} was {a.provenance[field]} and is {b.provenance[field]}")

before = {key(case): case for case in a.cases}
after = {key(case): case for case in b.cases}
changes = []
for k in before.keys() & after.keys():
    then, now = (case["times"].get(OURS) for case in (before[k], after[k]))
    if not then or not now:
        if bool(then) != bool(now):
            changes.append((2.0 if then else 0.0, label(after[k]), "has no time any more" if then else "has a time now"))
        continue
    change = now["median_us"] / then["median_us"]
    if really_slower(now, then) or really_slower(then, now):
        changes.append((change, label(after[k]),
                        f"{then['median_us']:.2f} -> {now['median_us']:.2f} us ({100 * (change - 1):+.1f} %)"))

slower = sorted((c for c in changes if c[0] > 1), reverse=True)
faster = sorted(c for c in changes if c[0] <= 1)
for name, group in (("slower", slower), ("faster", faster)):
    print(f"{name}: {len(group)}")
    for _, what, how in group:
        print(f"  {what}: {how}")
print(f"the same within the spread: {len(before.keys() & after.keys()) - len(changes)}")
for name, only in (("only in " + a.path, before.keys() - after.keys()), ("only in " + b.path, after.keys() - before.keys())):
    if only:
        print(f"{name}: {len(only)}")
sys.exit(1 if slower else 0)
