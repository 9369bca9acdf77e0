#!/usr/bin/env python3
"""launches_test.py ROOT: bench/launches.py makes a record from a timeline and a plan, or says what does not fit."""
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1]).resolve()
PROVENANCE = {"arch": "sm_90", "catena_gpu": "H100 SXM", "gpu": "a GPU", "driver": "1", "cuda": "2", "date": "2026-01-02",
              "commit": "abc"}
REPORT = {"graph": {"case": "tg1"}, "steps": [{"instance": "matvec.b.sm_90", "problem": {"k": 2}, "launch_at": 9},
                                              {"instance": "row.a.sm_90", "problem": {"k": 1}, "launch_at": 3}]}
# of a step: us from its start to the start and end of each kernel. The engine's starts before the first one ends.
KERNELS = (("catena_row_a_sm_90", 0, 4), ("_Z6kernelIiEvv", 3, 6), ("catena_matvec_b_sm_90", 7, 12))


def timeline(repeats, kernels=KERNELS):
    """Repeats with pauses between them; the last kernel of repeat r lasts r us longer, of the first one 100 us."""
    lines = []
    for r in range(repeats):
        for name, start, end in kernels:
            end += (r if r else 100) if name == kernels[-1][0] else 0
            begin = 1000000 * r
            lines.append(f"{begin + 1000 * start}\t{begin + 1000 * end}\t7\t0\t1,1,1\t32,1,1\t16\t0\t{name}\n")
    return "".join(lines)


def packed(lines):
    """Lines of a timeline in its other form."""
    kernels = [line.split("\t") for line in lines.splitlines()]
    names = sorted({k[-1] for k in kernels})
    return {"format": "catena timeline 1", "provenance": {}, "launches": [["1,1,1", "32,1,1", 16, 0, name] for name in names],
            "kernels": [[int(k[0]), int(k[1]) - int(k[0]), 7, 0, names.index(k[-1])] for k in kernels]}


def run(lines, report, name="t.tsv"):
    """Of lines, or of a timeline in its other form."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder)
        data = lines.encode() if isinstance(lines, str) else gzip.compress(json.dumps(lines).encode())
        (inside / name).write_bytes(data)
        for file, content in (("plan.json", report), ("from.json", PROVENANCE)):
            (inside / file).write_text(json.dumps(content))
        done = subprocess.run([sys.executable, root / "bench/launches.py", "--out", "record.json.gz", "--provenance",
                               "from.json", f"m:{name}:plan.json"], cwd=folder, capture_output=True, text=True)
        made = inside / "record.json.gz"
        return done, json.loads(gzip.decompress(made.read_bytes())) if made.exists() else None


done, record = run(timeline(6), REPORT)
assert done.returncode == 0, done.stderr
assert record["format"] == "catena launches 1" and record["arch"] == "sm_90" and record["gpu"] == "H100 SXM"
assert record["provenance"]["commit"] == "abc" and "median" in record["provenance"]["method"]
assert record["kernels"] == ["kernel"], record["kernels"]
assert [s["instance"] for s in record["steps"]] == ["row.a.sm_90", "matvec.b.sm_90"]
assert [s["problem"]["k"] for s in record["steps"]] == [1, 2]
assert record["walks"] == [{"model": "m", "load": "tg1", "repeats": 5, "us": 15.0, "launches": [
    {"us": 4.0, "step": 0}, {"us": 2.0, "kernel": 0}, {"us": 8.0, "gap_us": 1.0, "step": 1}]}], record["walks"]

assert run(packed(timeline(6)), REPORT, "t.json.gz")[1] == record
done, _ = run({"format": "other"}, REPORT, "t.json.gz")
assert done.returncode == 1 and "t.json.gz: not a timeline" in done.stderr, done.stderr

other = {**REPORT, "steps": [{**s, "instance": s["instance"].replace(".b.", ".c.")} for s in REPORT["steps"]]}
less = {**REPORT, "steps": REPORT["steps"][1:]}
for lines, report, sentence in (
        (timeline(6), other, "t.tsv, plan.json: launch 1 of Catena is catena_matvec_b_sm_90, and the plan has catena_matvec_c_sm_90"),
        (timeline(6), less, "launch 1 of Catena is catena_matvec_b_sm_90, and the plan has none"),
        (timeline(4), REPORT, "no step with kernels of Catena came 5 times"),
        (timeline(6) + "nothing\n", REPORT, "t.tsv:19: not a line of a timeline")):
    done, record = run(lines, report)
    assert done.returncode == 1 and record is None, sentence
    assert done.stderr.startswith("launches.py: ") and sentence in done.stderr, done.stderr
