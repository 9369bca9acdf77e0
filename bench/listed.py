#!/usr/bin/env python3
"""listed.py RECORD ROWS REGISTERS: of a record of `catena tune` what the set takes, on standard output.

Row steps and matvecs of float weights keep all candidates. Matvecs of quantized weights keep those that ROWS (an instances/ARCH/
rows.inc) lists, and those of WALKED. What the tuner found beside them, launch by launch in a chain of copies, made no decode
step faster (Qwen3-8B) or made it slower (experts of Qwen3-30B-A3B for four tokens).

REGISTERS is the record of registers and counts of the code that was timed (instances/ARCH/registers.txt of that day). Each
candidate that it has gets its counts, by which the generator carries its median over to later code.
"""
import gzip
import json
import re
import sys
from pathlib import Path

FLOAT_WEIGHTS = {"f32", "f16", "bf16"}
# Found rows that also made decode steps of whole models faster on an H100: the output matrix of Qwen3-8B took 180 us in place
# of 196, and gpt-oss-20b decoded 17 % more tokens of four sequences.
WALKED = {"matvec.q6_K.t256_r4_c1_p4096_async2_smem", "matvec.mxfp4.t128_r8_c1_p1024_bulk2"}


def is_kept(problem, candidate, listed):
    weights = problem["computes"].get("weights")
    return weights is None or set(weights) <= FLOAT_WEIGHTS or candidate["row"].rsplit(".", 1)[0] in listed | WALKED


def counts_of(registers):
    """Of each row the counts of its formats, six for each."""
    counts = {}
    for line in Path(registers).read_text(encoding="utf-8").splitlines():
        row, *numbers = line.split()
        if row != "#" and len(numbers) > 1:
            own = [int(n) for n in numbers[1:]]
            counts[row] = [own[i:i + 6] for i in range(0, len(own), 6)]
    return counts


def main(record, rows, registers):
    text = Path(record).read_bytes()
    tuning = json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
    lines = [line for line in Path(rows).read_text(encoding="utf-8").splitlines() if " found(" not in line]
    listed = {".".join(of) for of in re.findall(r"^CATENA_ROW\((\w+), (\w+), (\w+),", "\n".join(lines), re.MULTILINE)}
    for problem in tuning["problems"]:
        problem["candidates"] = [c for c in problem["candidates"] if is_kept(problem, c, listed)]
    tuning["problems"] = [p for p in tuning["problems"] if p["decided"] and p["candidates"]]
    counts = counts_of(registers)
    for candidate in (c for p in tuning["problems"] for c in p["candidates"]):
        if candidate["row"] in counts:
            candidate["code"] = counts[candidate["row"]]
    tuning["provenance"] = {**tuning.get("provenance", {}), "record": Path(record).name,
                            "left_out": " ".join(__doc__.split("\n\n")[1].split())}
    problems = ",\n".join(json.dumps(p, separators=(",", ":")) for p in tuning.pop("problems"))
    print(json.dumps(tuning)[:-1] + ',\n"problems":[\n' + problems + "]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
