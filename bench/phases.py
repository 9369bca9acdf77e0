#!/usr/bin/env python3
"""phases.py FILE... [--launches] [--only TEXT]: where the time of matvec launches goes, in us, a line for each kind of launch.

FILE is what scripts/llama-bench run OUT --what phases has kept (OUT/phases/*.json.gz), or lines of time stamps (*.xz). Launches
of one kernel with one shape are of one kind; a line has the medians over them. --launches prints each launch instead.

Of a launch: span, from the first block's entry to the last one's end; skew, between the first and the last entry; then
medians over blocks: fill, until copies of weights are on their way; wait, for the launch before; columns, until they are
there; first, until the first weights have come; products; end, results and epilogue. Then from the wait to the last end,
and between the end of a tenth of the blocks and the last end.
"""
import argparse
import gzip
import json
import lzma
import math
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

FORMAT = "catena phases 1"
FORMAT_OF_KINDS = "catena phases by kind 1"  # of bench/results/phases.*.json
METHOD = ("time stamps of the last token's launches, by the first thread of each block. A launch's phases are medians over its "
          "blocks; at: which launches of the walk are of a kind; us: the median over these launches, and half the distance of "
          "their quartiles. after_wait: from the wait to the last block's end; spread: between the end of a tenth of the "
          "blocks and the last end")
PARTS = ("fill", "wait", "columns", "first", "products", "end")
ENTRY, WAITED, END = 0, 2, 6
LEAST_NS = 10000  # of a block that tells the clock


class Bad(Exception):
    """What is wrong with a file, in one sentence."""


class Block(NamedTuple):
    ns: tuple      # of a clock that all SMs share, in steps of 32 ns on an H100
    cycles: tuple  # of its SM


class Launch(NamedTuple):
    label: str
    kind: tuple
    blocks: list


class Times(NamedTuple):
    """A launch, in us."""
    blocks: float
    span: float
    skew: float
    parts: tuple
    after_wait: float
    spread: float


def lines_of(path):
    """Launches of lines: node, block, 7 times in ns and a zero, 7 in cycles and a zero, operation and name."""
    found = {}
    with lzma.open(path, "rt") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#"):
                continue
            words = line.rstrip("\n").split(" ", 18)
            if len(words) != 19:
                raise Bad(f"{path}:{number}: not a line of time stamps")
            found.setdefault((int(words[0]), words[18]), []).append(
                Block(tuple(map(int, words[2:9])), tuple(map(int, words[10:17]))))
    return [Launch(f"{node:5d} {name}", (re.sub(r"[-_]\d+$", "", name), len(blocks)), blocks)
            for (node, name), blocks in found.items()]


def read(path):
    """The launches of a file in either form, by their beginnings, and what it says about itself."""
    if Path(path).suffix == ".xz":
        return lines_of(path), {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        record = json.load(file)
    if record.get("format") != FORMAT:
        raise Bad(f"{path}: not a file of phases: 'format' should be '{FORMAT}'")
    return launches_of(record["blocks"]), record["provenance"]


def launches_of(lines):
    """The launches of what the program prints of blocks (instances/phases.hpp)."""
    found = defaultdict(list)
    for line in lines:
        kernel, _, blocks, threads, columns, k, rows, weight, *times = line.split()
        times = tuple(map(int, times))
        if len(times) != 14:
            raise Bad(f"not a block of a launch: {line}")
        found[kernel, f"{k}x{rows}", columns, blocks, threads, weight].append(Block(times[:7], times[7:]))
    ordered = sorted(found.items(), key=lambda of: min(b.ns[ENTRY] for b in of[1]))
    return [Launch(f"{number:5d} {' '.join(key[:2])}", key[:-1], blocks) for number, (key, blocks) in enumerate(ordered)]


def write(path, lines, provenance):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "provenance": provenance, "blocks": lines}, file, indent=0)


def cycles_per_us(launches):
    """The clock of the SMs, by the blocks that last."""
    rates = [1e3 * (b.cycles[END] - b.cycles[ENTRY]) / (b.ns[END] - b.ns[ENTRY])
             for launch in launches for b in launch.blocks if b.ns[END] - b.ns[ENTRY] > LEAST_NS]
    if not rates:
        raise Bad("no block lasts long enough to tell the clock of the SMs")
    return statistics.median(rates)


def median(values):
    values = list(values)
    return statistics.median(values) if values else float("nan")


def times_of(launch, rate):
    ends = sorted(b.ns[END] for b in launch.blocks if b.ns[END])  # a block without rows has none
    starts = [b.ns[ENTRY] for b in launch.blocks]
    waits = [b.ns[WAITED] for b in launch.blocks if b.ns[WAITED]]
    parts = tuple(median((b.cycles[i + 1] - b.cycles[i]) / rate for b in launch.blocks if b.cycles[i] and b.cycles[i + 1])
                  for i in range(len(PARTS)))
    return Times(len(launch.blocks), (ends[-1] - min(starts)) / 1e3, (max(starts) - min(starts)) / 1e3, parts,
                 (ends[-1] - median(waits)) / 1e3, (ends[-1] - ends[len(ends) // 10]) / 1e3)


def text(t):
    parts = " ".join(f"{name} {us:{width}.2f}" for name, us, width in zip(PARTS, t.parts, (5, 6, 5, 5, 6, 5)))
    return (f"{t.blocks:4.0f} blocks span {t.span:7.2f} skew {t.skew:6.2f} | {parts} | from wait to last end "
            f"{t.after_wait:6.2f}, ends spread {t.spread:5.2f}")


def by_kind(launches, rate):
    """{kind: (how many launches, medians of their times)}, kinds in the order of their first launch."""
    kinds = {}
    for launch in launches:
        kinds.setdefault(launch.kind, []).append(times_of(launch, rate))
    out = {}
    for kind, all_times in kinds.items():
        parts = tuple(median(t.parts[i] for t in all_times) for i in range(len(PARTS)))
        others = {field: median(getattr(t, field) for t in all_times) for field in Times._fields if field != "parts"}
        out[kind] = len(all_times), Times(parts=parts, **others)
    return out


def kinds_text(launches):
    rate = cycles_per_us(launches)
    return [f"{count:4d} x {text(times)}  {' '.join(map(str, kind[:3]))}"
            for kind, (count, times) in by_kind(launches, rate).items()]


def median_and_half_quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values
    return [round(middle, 3), round((high - low) / 2, 3)]


def walk_of(launches):
    """What a record keeps of a walk's launches, which are in order: the clock of the SMs, and the times of each kind."""
    rate, kinds = cycles_per_us(launches), {}
    for at, launch in enumerate(launches):
        kinds.setdefault(launch.kind, []).append((at, times_of(launch, rate)))
    out = []
    for (kernel, shape, _, blocks, threads), found in kinds.items():
        each = [{**dict(zip(PARTS, t.parts)), "after_wait": t.after_wait, "spread": t.spread} for _, t in found]
        known = {name: [us[name] for us in each if not math.isnan(us[name])] for name in each[0]}
        out.append({"kernel": kernel, "shape": shape, "blocks": int(blocks), "threads": int(threads),
                    "at": [at for at, _ in found],
                    "us": {name: median_and_half_quartiles(us) for name, us in known.items() if us}})
    return {"mhz": round(rate), "kinds": out}


def write_kinds(path, walks, simulated, provenance):
    """A record of walks, each with its model and sequences, a line for each kind; nothing if there are none."""
    if not walks:
        return
    lines = []
    for walk in walks:
        head = json.dumps({name: value for name, value in walk.items() if name != "kinds"})[:-1]
        lines.append(f'  {head}, "kinds": [\n   ' + ",\n   ".join(map(json.dumps, walk["kinds"])) + "]}")
    facts = {"format": FORMAT_OF_KINDS, "simulated": simulated, "provenance": {**provenance, "method": METHOD}}
    text = json.dumps(facts, indent=1)[:-2] + ',\n "walks": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    Path(path).write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT", help="launches whose names have it")
    asked = parser.parse_args()
    for path in asked.files:
        launches, provenance = read(path)
        print(f"## {path}, {cycles_per_us(launches):.0f} MHz" + "".join(f", {k} {v}" for k, v in provenance.items() if v))
        shown = [launch for launch in launches if asked.only in launch.label]
        if asked.launches:
            rate = cycles_per_us(launches)
            for launch in shown:
                print(f"{text(times_of(launch, rate))}  {launch.label}")
        else:
            print("\n".join(kinds_text(shown)))


if __name__ == "__main__":
    try:
        main()
    except (Bad, OSError) as problem:
        sys.exit(f"phases.py: {problem}")
