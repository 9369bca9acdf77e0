#!/usr/bin/env python3
"""launches.py --out RECORD --provenance FILE MODEL:TIMELINE:REPORT...: what each launch of a decode step takes, as
a record that `catena explain --measured` reads.

TIMELINE has every kernel of a walk, in a form that bench/timeline.py reads. REPORT is what `catena explain --optimized --json`
of the same commit says about the graph of one load. Each load of a timeline has a report of its own.
FILE is a JSON object with gpu, driver, cuda, date, commit and the like, and arch and catena_gpu: the instance set, and the
GPU's name in `catena instances --gpus`.

The time of a launch is the median, over the repeats of a step, of what no earlier kernel hides. A step becomes part of the
record if its kernels of Catena are the instances of the report, one for one.
"""
import argparse
import gzip
import itertools
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import timeline
from timeline import Bad

FORMAT = "catena launches 1"
METHOD = ("us: median over the repeats of the time from the end of all earlier kernels to the end of this one; gap_us: the "
          "same of the time before it in which no kernel ran, where it is 0.01 us or more")
OWN = "catena_"       # kernels of Catena: the instance's name follows, a _ for each dot


def plain(names):
    """The names of functions, without parameters."""
    read = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")
    return {name: re.sub(r"\(anonymous namespace\)::|^void ", "", text).partition("(")[0].partition("<")[0]
            for name, text in zip(names, read)}


def symbol(instance):
    return OWN + instance.replace(".", "_")


def own(names):
    return [name for name in names if name.startswith(OWN)]


def step_of(kernels, plan):
    """The names and repeats of the step that the plan describes, launch for launch."""
    found = sorted((of for of in timeline.repeats_of(kernels).items() if own(of[0])), key=lambda of: -len(of[1]))
    if not found:
        raise Bad(f"no step with kernels of Catena came {timeline.LEAST_REPEATS + 1} times")
    planned = [symbol(step["instance"]) for step in plan]
    for names, repeats in found:
        if own(names) == planned:
            return names, repeats
    pairs = enumerate(itertools.zip_longest(own(found[0][0]), planned, fillvalue="none"))
    at, ran, wanted = next((k, ran, wanted) for k, (ran, wanted) in pairs if ran != wanted)
    raise Bad(f"launch {at} of Catena is {ran}, and the plan has {wanted}: take the plan of the commit that was measured")


class Record:
    def __init__(self, arch, gpu, provenance):
        self.arch, self.gpu = arch, gpu
        self.provenance = {**provenance, "method": METHOD}
        self.steps, self.kernels, self.walks = {}, {}, []

    def add(self, model, kernels, report):
        """A walk by its kernels and the report of its plan. If they do not agree, the record stays as it is."""
        plan = sorted(report["steps"], key=lambda s: s["launch_at"])
        names, repeats = step_of(kernels, plan)
        read, steps, launches = plain(names), iter(plan), []
        for name, times in zip(names, zip(*map(timeline.exposed, repeats))):
            gap, us = (round(statistics.median(column), 2) for column in list(zip(*times))[1:])
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

    def write(self, path):
        """As a whole or not at all."""
        fresh = Path(f"{path}.new")
        fresh.write_bytes(gzip.compress(self.text().encode(), mtime=0))
        fresh.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="RECORD")
    parser.add_argument("--provenance", required=True, metavar="FILE")
    parser.add_argument("walks", nargs="+", metavar="MODEL:TIMELINE:REPORT")
    asked = parser.parse_args()
    provenance = json.loads(Path(asked.provenance).read_text(encoding="utf-8"))
    record = Record(provenance.pop("arch"), provenance.pop("catena_gpu"), provenance)
    for walk in asked.walks:
        model, file, plan = walk.split(":")
        kernels, _ = timeline.read(file)
        try:
            record.add(model, kernels, json.loads(Path(plan).read_text(encoding="utf-8")))
        except Bad as bad:
            raise Bad(f"{file}, {plan}: {bad}") from None
    record.write(asked.out)


if __name__ == "__main__":
    try:
        main()
    except (Bad, OSError, KeyError) as problem:
        sys.exit(f"launches.py: {problem}")
