#!/usr/bin/env python3
"""launches.py --out RECORD --provenance FILE MODEL:TIMELINE:REPORT...: what each launch of a decode step takes, as
a record that `catena explain --measured` reads.

TIMELINE has every kernel of a walk: *.tsv or *.tsv.xz, a line for each with start and end in ns, stream, node of a graph,
grid, block, registers, shared memory and name; or *.json.gz, the same in the format "catena timeline 1". REPORT is what `catena explain --optimized --json` of the
same commit says about the graph of one load. Each load of a timeline has a report of its own.
FILE is a JSON object with gpu, driver, cuda, date, commit and the like, and arch and catena_gpu: the instance set, and the
GPU's name in `catena instances --gpus`.

Kernels without a pause of 15 us between them are a step. Steps of the same kernels are repeats of one step; the first of
them is left out. The time of a launch is the median of what no earlier kernel hides. A step becomes part of the record if
its kernels of Catena are the instances of the report, one for one.
"""
import argparse
import gzip
import json
import lzma
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FORMAT = "catena launches 1"
TIMELINE = "catena timeline 1"
METHOD = ("us: median over the repeats of the time from the end of all earlier kernels to the end of this one; gap_us: the "
          "same of the time before it in which no kernel ran, where it is 0.01 us or more")
PAUSE_NS = 15000      # the host's work between two steps takes longer
LEAST_REPEATS = 4
OWN = "catena_"       # kernels of Catena: the instance's name follows, a _ for each dot


class Problem(Exception):
    """What is wrong with the input, in one sentence."""


class Kernel(NamedTuple):
    start: int  # ns
    end: int
    name: str


def packed(path):
    """The kernels of a file in the format TIMELINE: (start, ns, stream, node, launch) each, and launches end in a name."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    if found.get("format") != TIMELINE:
        raise Problem(f"{path}: not a timeline: 'format' should be '{TIMELINE}'")
    names = [launch[-1] for launch in found["launches"]]
    return [Kernel(start, start + lasts, names[launch]) for start, lasts, _, _, launch in found["kernels"]]


def kernels_of(path):
    return sorted(packed(path) if Path(path).suffix == ".gz" else lines_of(path))


def lines_of(path):
    kernels = []
    with (lzma.open(path, "rt") if Path(path).suffix == ".xz" else open(path, encoding="utf-8")) as file:
        for number, line in enumerate(file, 1):
            try:
                start, end, *_, name = line.rstrip("\n").split("\t")
                kernels.append(Kernel(int(start), int(end), name))
            except ValueError as error:
                raise Problem(f"{path}:{number}: not a line of a timeline ({error})") from error
    return kernels


def repeats_of(kernels):
    """The steps that run the same kernels in the same order, without the first of each."""
    steps, step, end = {}, [], 0
    for k in [*kernels, None]:
        if step and (k is None or k.start - end > PAUSE_NS):
            steps.setdefault(tuple(one.name for one in step), []).append(step)
            step = []
        if k is not None:
            end = max(end, k.end) if step else k.end
            step.append(k)
    return {names: found[1:] for names, found in steps.items() if len(found) > LEAST_REPEATS}


def exposed(step):
    """(us that no earlier kernel hides, us before it in which nothing ran) of each kernel."""
    until = step[0].start
    for k in step:
        yield max(0, k.end - max(k.start, until)) / 1e3, max(0, k.start - until) / 1e3
        until = max(until, k.end)


def plain(names):
    """The names of functions, without parameters."""
    read = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")
    return {name: re.sub(r"\(anonymous namespace\)::|^void ", "", text).partition("(")[0].partition("<")[0]
            for name, text in zip(names, read)}


def symbol(instance):
    return OWN + instance.replace(".", "_")


class Record:
    def __init__(self, provenance):
        self.arch, self.gpu = provenance.pop("arch"), provenance.pop("catena_gpu")
        self.provenance = {**provenance, "method": METHOD}
        self.steps, self.kernels, self.walks = {}, {}, []

    def add(self, model, names, repeats, report):
        plan = sorted(report["steps"], key=lambda s: s["launch_at"])
        own = [name for name in names if name.startswith(OWN)]
        for k, (name, step) in enumerate(zip(own, plan)):
            if name != symbol(step["instance"]):
                raise Problem(f"{model}: launch {k} of Catena is {name}, and the report has {step['instance']}: take the "
                              "report of the commit that was measured")
        read, steps, launches = plain(names), iter(plan), []
        for name, times in zip(names, zip(*map(exposed, repeats))):
            us, gap = (round(statistics.median(column), 2) for column in zip(*times))
            launch = {"us": us, "gap_us": gap} if gap >= 0.01 else {"us": us}
            if name.startswith(OWN):
                step = next(steps)
                known = json.dumps([step["instance"], step["problem"]])
                launch["step"] = self.steps.setdefault(known, len(self.steps))
            else:
                launch["kernel"] = self.kernels.setdefault(read[name], len(self.kernels))
            launches.append(launch)
        us = statistics.median((max(k.end for k in step) - step[0].start) / 1e3 for step in repeats)
        self.walks.append({"model": model, "load": report["graph"]["case"], "repeats": len(repeats), "us": round(us, 1),
                           "launches": launches})

    def text(self):
        steps = [{"instance": instance, "problem": problem} for instance, problem in map(json.loads, self.steps)]
        return json.dumps({"format": FORMAT, "arch": self.arch, "gpu": self.gpu, "provenance": self.provenance,
                           "steps": steps, "kernels": list(self.kernels), "walks": self.walks}, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="RECORD")
    parser.add_argument("--provenance", required=True, metavar="FILE")
    parser.add_argument("walks", nargs="+", metavar="MODEL:TIMELINE:REPORT")
    asked = parser.parse_args()
    record = Record(json.loads(Path(asked.provenance).read_text(encoding="utf-8")))
    for walk in asked.walks:
        model, timeline, file = walk.split(":")
        report = json.loads(Path(file).read_text(encoding="utf-8"))
        fitting = {names: repeats for names, repeats in repeats_of(kernels_of(timeline)).items()
                   if sum(name.startswith(OWN) for name in names) == len(report["steps"])}
        if not fitting:
            raise Problem(f"{timeline}: no step that came {LEAST_REPEATS + 1} times has the {len(report['steps'])} launches "
                          f"of Catena that {file} has")
        record.add(model, *max(fitting.items(), key=lambda of: len(of[1])), report)
    Path(asked.out).write_bytes(gzip.compress(record.text().encode(), mtime=0))


if __name__ == "__main__":
    try:
        main()
    except (Problem, OSError, KeyError) as problem:
        sys.exit(f"launches.py: {problem}")
