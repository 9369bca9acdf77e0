#!/usr/bin/env python3
"""timeline.py FILE... [--kernels N]: where the decode steps of a timeline go, by kinds of kernels, in us.

FILE is a timeline of scripts/llama-bench (*.json.gz), or the lines that bench/llama/timeline.cpp writes (*.tsv, *.tsv.xz).
--kernels also prints the N kernels of each kind of step that take the longest.

The time of a kernel is what no earlier kernel hides. Kernels without a pause of 15 us between them are a step. Steps of
the same kernels in the same order are repeats of one step; the first of them is left out.
"""
import argparse
import gzip
import json
import lzma
import math
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

FORMAT = "catena timeline 1"
PAUSE_NS = 15000      # the host's work between two steps takes longer
LEAST_KERNELS = 100   # of a step of a whole model
LEAST_REPEATS = 4
LEAST_US = 3          # a kind that takes less is not told
KEPT_REPEATS = 10     # of a step, in a file

# What the name of a kernel contains, and its kind: the first line that fits.
KINDS = (("catena_matvec", "matvec of Catena"), ("catena_matmul", "matmul of Catena"), ("catena_", "row step of Catena"),
         ("mul_mat_vec_q", "mmvq"), ("mul_mat_vec_f", "mmvf"), ("mul_mat_f", "mmf"), ("mul_mat_q", "mmq"),
         ("quantize", "quantize"), ("flash_attn", "attention"), ("rms_norm_mul_rope", "norm and rope"),
         ("rms_norm", "norm"), ("l2_norm", "norm"), ("rope", "rope"), ("set_rows", "set_rows"), ("topk_moe", "top-k"),
         ("argsort", "argsort"), ("soft_max", "softmax"), ("moe_weighted", "sum of experts"),
         ("k_bin_bcast", "sum or product"), ("gated_delta", "gated delta net"), ("ssm_conv", "convolution"),
         ("unary", "unary"), ("get_rows", "get_rows"), ("cpy", "copy"), ("concat", "concat"),
         ("cublas", "gemm of cuBLAS"), ("gemm", "gemm of cuBLAS"))


class Bad(Exception):
    """What is wrong with a file, in one sentence."""


class Kernel(NamedTuple):
    start: int  # ns
    end: int
    stream: int
    node: int   # of a CUDA graph, 0 outside of one
    launch: tuple  # grid, block, registers, bytes of shared memory, name

    @property
    def name(self):
        return self.launch[-1]


def kind_of(name):
    return next((kind for part, kind in KINDS if part in name), f"other: {name[:60]}")


def lines_of(path):
    """The kernels of lines as bench/llama/timeline.cpp writes them."""
    kernels = []
    with (lzma.open(path, "rt") if Path(path).suffix == ".xz" else open(path, encoding="utf-8")) as file:
        for number, line in enumerate(file, 1):
            try:
                start, end, stream, node, grid, block, registers, shared, name = line.rstrip("\n").split("\t")
                kernels.append(Kernel(int(start), int(end), int(stream), int(node),
                                      (grid, block, int(registers), int(shared), name)))
            except ValueError as error:
                raise Bad(f"{path}:{number}: not a line of a timeline ({error})") from error
    return sorted(kernels)


def read(path):
    """The kernels of a timeline in either form, and what the file says about itself."""
    if Path(path).suffix != ".gz":
        return lines_of(path), {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        record = json.load(file)
    if record.get("format") != FORMAT:
        raise Bad(f"{path}: not a timeline: 'format' should be '{FORMAT}'")
    launches = [tuple(launch) for launch in record["launches"]]
    return [Kernel(start, start + lasts, stream, node, launches[launch])
            for start, lasts, stream, node, launch in record["kernels"]], record["provenance"]


def write(path, kernels, provenance):
    """The last repeats of each step. Times are from the first kernel on."""
    kept = [k for repeats in steps_of(kernels) for step in repeats[-KEPT_REPEATS:] for k in step]
    numbers = {launch: i for i, launch in enumerate(dict.fromkeys(k.launch for k in kept))}
    begin = min((k.start for k in kept), default=0)
    record = {"format": FORMAT, "provenance": provenance,
              "fields": {"launches": ["grid", "block", "registers", "shared bytes", "name"],
                         "kernels": ["start ns", "ns", "stream", "node of a CUDA graph", "launch"]},
              "launches": list(numbers),
              "kernels": [[k.start - begin, k.end - k.start, k.stream, k.node, numbers[k.launch]] for k in sorted(kept)]}
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(record, file, separators=(",", ":"))


def repeats_of(kernels):
    """{names: the steps that run kernels of these names in this order}, of each all but the first."""
    steps, end = [], -math.inf
    for k in kernels:
        if k.start - end > PAUSE_NS:
            steps.append([])
        steps[-1].append(k)
        end = max(end, k.end)
    by_names = defaultdict(list)
    for step in steps:
        by_names[tuple(k.name for k in step)].append(step)
    return {names: found[1:] for names, found in by_names.items() if len(found) > LEAST_REPEATS}


def steps_of(kernels):
    """Of each step of a model its repeats; the shortest step comes first."""
    return [repeats for names, repeats in sorted(repeats_of(kernels).items(), key=lambda of: len(of[0]))
            if len(names) > LEAST_KERNELS]


def exposed(step):
    """(kernel, us in which nothing ran before it, us of it that no earlier kernel hides)."""
    until = step[0].start
    for k in step:
        yield k, max(0, k.start - until) / 1e3, max(0, k.end - max(k.start, until)) / 1e3
        until = max(until, k.end)


def account(repeats):
    """The repeats of a step as bench/results/steps.*.json has them, kinds unrounded."""
    us, counts = defaultdict(float), Counter(kind_of(k.name) for k in repeats[0])
    for step in repeats:
        for k, gap, own in exposed(step):
            us["gap"] += gap
            us[kind_of(k.name)] += own
    kinds = {kind: [total / len(repeats), counts[kind]] for kind, total in sorted(us.items(), key=lambda of: -of[1])
             if total / len(repeats) >= LEAST_US}
    return {"catena": any("catena_" in k.name for k in repeats[0]), "kernels": len(repeats[0]), "repeats": len(repeats),
            "us": statistics.median((max(k.end for k in step) - step[0].start) / 1e3 for step in repeats), "kinds": kinds}


def of_side(kernels, catena):
    """The step that repeats most with Catena, or without it; None if none does."""
    found = [account(repeats) for repeats in steps_of(kernels)]
    return max((a for a in found if a["catena"] == catena), key=lambda a: a["repeats"], default=None)


def account_text(found):
    kinds = ", ".join(f"{kind} {us:.0f} ({count})" for kind, (us, count) in found["kinds"].items())
    return f"{found['kernels']} kernels, {found['us']:.0f} us: {kinds}"


def kernels_text(repeats, most):
    """The launches that take the longest together: how many in a step, medians, all of a step."""
    times = defaultdict(list)
    for step in repeats:
        for k, gap, own in exposed(step):
            times[k.launch].append(((k.end - k.start) / 1e3, own, gap))
    slowest = sorted(times.items(), key=lambda of: -sum(own + gap for _, own, gap in of[1]))[:most]
    for (grid, block, registers, shared, name), found in slowest:
        lasts, own, gap = (statistics.median(column) for column in zip(*found))
        total = sum(own + gap for _, own, gap in found) / len(repeats)
        yield (f"{len(found) / len(repeats):5.1f} x lasts {lasts:7.2f} exposed {own:7.2f} gap {gap:5.2f} = {total:7.1f} us  "
               f"grid {grid} block {block} registers {registers} shared {shared} {name[:150]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--kernels", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    for path in asked.files:
        kernels, provenance = read(path)
        print(f"## {path}" + "".join(f", {key} {value}" for key, value in provenance.items() if value))
        for repeats in steps_of(kernels):
            print(account_text(account(repeats)))
            for line in kernels_text(repeats, asked.kernels):
                print(line)


if __name__ == "__main__":
    try:
        main()
    except (Bad, OSError) as problem:
        sys.exit(f"timeline.py: {problem}")
