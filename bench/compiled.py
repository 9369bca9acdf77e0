#!/usr/bin/env python3
"""compiled.py [--check]: the tables of docs/kernels/compiled.md, from what bench_static read off the kernels' machine code.

--check  writes nothing; exit code 1 if the page has other figures
"""
import json
import sys
from collections import defaultdict

sys.dont_write_bytecode = True
from pages import ROOT, filled, table, written

PAGE = "docs/kernels/compiled.md"
RECORD = "bench/results/static.sm_90.2026-12-01.json"
DOTS = ("1 row", "2 rows", "mma")


class Instance:
    """An instance of the record, and the parts of its name: `kind.formats.policy.arch`."""

    def __init__(self, one):
        self.kind, self.formats, self.policy, _ = one["name"].split(".")
        self.registers, self.bytes = one["registers"], one["sass_bytes"]
        self.dot, self.predicted = one.get("dot"), one.get("predicted")
        self.parts, self.by_mma = self.policy.split("_"), one["mma"] > 0

    def way(self):
        """How a matvec of one quantized format multiplies; none of those that make a norm or route tokens."""
        if self.dot is None or {"deferred", "passing", "routes", "single"} & set(self.parts):
            return None
        if any(p.startswith("plain") for p in self.parts):
            return "plain row"
        rows = "1 row" if "r1" in self.parts else "2 rows" if "r2" in self.parts else None
        return "mma" if self.by_mma else rows

    def looped(self):
        """Is there an inner loop? Of a piece that is one pass ptxas makes none."""
        return self.dot is not None and self.dot["instructions"] > 0

    def inner(self):
        return [f"{self.dot['per_byte']:.1f}" + ("" if self.dot["keeps_up"] else " **!**"),
                f"{self.dot['integer_per_byte']:.1f}"]

    def stage(self):
        p = self.predicted
        return [f"{32 * p['stage_issues'] / p['stage_bytes']:.1f}", f"{p['stage_cycles'] / p['stage_bytes']:.2f}"]


def span(values):
    values = sorted(set(values))
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def by_format(instances, ways, cells, width):
    """A line for each quantized format, with `width` cells of the instance that goes each way."""
    lines = defaultdict(dict)
    for i in instances:
        if i.way() in ways:
            lines[i.formats].setdefault(i.way(), i)
    return [[name, *(c for w in ways for c in (cells(of[w]) if w in of else [""] * width))] for name, of in lines.items()]


def sizes(instances, name):
    """A line for each value of name(instance): how many instances, their registers and machine code."""
    groups = defaultdict(list)
    for i in instances:
        groups[name(i)].append(i)
    return table(["", "instances", "registers", "KB"],
                 [[key, str(len(g)), span(i.registers for i in g), f"{sum(i.bytes for i in g) / 1024:.0f}"] for key, g in groups.items()])


def tiles(matmul):
    if matmul.formats in ("f16", "bf16", "f32", "fp8_e4m3"):
        return matmul.formats
    return "decoded to bf16" if "wgmma" in matmul.parts else "integer tiles"


def slow_loops(matvecs, allowed):
    """The loops that cannot keep up, and the share of the bandwidth at which each is bound by what an SM can issue."""
    def share(i):
        return min(allowed / i.dot["per_byte"], allowed / 2 / i.dot["integer_per_byte"])

    slow = [i for i in matvecs if i.way() in DOTS and i.looped() and not i.dot["keeps_up"]]
    return table(["loop", "instructions per byte", "of the bandwidth"],
                 [[f"{i.formats}, {i.way()}", f"{i.dot['per_byte']:.1f}", f"{int(100 * share(i))} %"]
                  for i in sorted(slow, key=share)])


def blocks(record):
    every = [Instance(one) for one in record["instances"]]
    matvecs = [i for i in every if i.kind == "matvec"]
    matmuls = [i for i in every if i.kind == "matmul"]
    rows = [i for i in every if i.kind not in ("matvec", "matmul")]
    faults = sum(len(one.get("faults", [])) for one in record["instances"])

    def beside(what):
        return ["format", *(cell for way in DOTS for cell in (way, what))]

    return {
        "record": f"`{RECORD}`: CUDA {record['cuda']}, {record['date']}, {len(every)} instances, {faults} faults.",
        "inner loops": table(beside("integer"), by_format(filter(Instance.looped, matvecs), DOTS, Instance.inner, 2)),
        "slow loops": slow_loops(matvecs, record["issued_per_byte"]),
        "stages": table(beside("cycles"), by_format(matvecs, DOTS, Instance.stage, 2)),
        "registers": table(["format", *DOTS, "plain row"],
                           by_format(matvecs, (*DOTS, "plain row"), lambda i: [str(i.registers)], 1)),
        "matvecs": sizes(matvecs, lambda i: i.formats),
        "matmuls": sizes(matmuls, tiles),
        "rows": sizes(rows, lambda i: f"{i.kind}.{i.formats}"),
        "all": sizes(every, lambda i: "row" if i in rows else i.kind),
    }


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    record = json.loads((ROOT / RECORD).read_text(encoding="utf-8"))
    return written({PAGE: filled("bench/compiled.py", PAGE, blocks(record))}, "bench/compiled.py", sys.argv[1:] == ["--check"])


if __name__ == "__main__":
    sys.exit(main())
