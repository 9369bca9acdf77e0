#!/usr/bin/env python3
"""slower.py OUT...: what got slower since the last records. OUT is a folder that scripts/llama-bench has measured into.

Tokens a second with Catena are compared with bench/results/llama.*.json, and kinds of kernels of a decode step with
bench/results/steps.*.json, of the same GPU. Only what is slower is printed, the worst first, and what cannot be compared.
Exit code: 0 nothing got slower, 1 something did.
"""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/llama")]
import ab_record
from ab_record import median_and_spread
from records import really_slower

RESULTS = ROOT / "bench/results"
LEAST_US, LEAST_SHARE = 5, 0.03  # by which a kind of kernels is slower; the means of two runs differ by less


def newest(results, pattern, gpu):
    """The last record of a GPU, and its name; records have their dates in their names."""
    for path in sorted(results.glob(pattern), key=lambda path: path.name.split(".")[-2], reverse=True):
        record = json.loads(path.read_text(encoding="utf-8"))
        if gpu in record["provenance"]["gpu"].split(", "):
            return record, path.name
    return None, None


def time_of(tokens_per_second):
    median, spread = median_and_spread([1e6 / speed for speed in tokens_per_second])
    return {"median_us": median, "spread": spread, "samples": len(tokens_per_second)}


def slower_speeds(before, now):
    """(how many times as long, what) of each load that takes longer with Catena than before."""
    for name, model in now["models"].items():
        for stage in filter(ab_record.is_speed, model["stages"]):
            then = before["models"].get(name, {"stages": {}})["stages"].get(stage, {})
            found = model["stages"][stage]
            if "on" not in then or "on" not in found:
                continue
            old, new = time_of(then["on"]), time_of(found["on"])
            if really_slower(new, old):
                alone = [median_and_spread(samples["off"])[0] for samples in (then, found)]
                yield (new["median_us"] / old["median_us"],
                       f"{name} {stage}: {1e6 / old['median_us']:.1f} -> {1e6 / new['median_us']:.1f} tokens a second with "
                       f"Catena, {alone[0]:.1f} -> {alone[1]:.1f} without it")


def step_key(step):
    return step["model"], step["sequences"], step["catena"]


def slower_kinds(before, now, gpu):
    """The same of each kind of kernels in a decode step with Catena."""
    then = {step_key(step): step for step in before["steps"] if step["gpu"] == gpu}
    for step in now["steps"]:
        if not step["catena"] or step_key(step) not in then:
            continue
        old = {"all": [then[step_key(step)]["us"], 0], **then[step_key(step)]["kinds"]}
        for kind, (us, count) in {"all": [step["us"], 0], **step["kinds"]}.items():
            was, were = old.get(kind, (0, 0))
            if us - was > max(LEAST_US, LEAST_SHARE * was):
                label = f"{step['model']}, {step['sequences']} a step, {kind}"
                how_many = f", {were} -> {count} kernels" if count != were else ""
                yield us / was if was else float("inf"), f"{label}: {was:.0f} -> {us:.0f} us{how_many}"


def report(out, results=RESULTS):
    """Lines, and whether something got slower."""
    lines, slower = [], []
    for name, pattern, compare in (("record.json", "llama.*.json", lambda a, b, _: slower_speeds(a, b)),
                                   ("steps.json", "steps.*.json", slower_kinds)):
        if not (out / name).exists():
            continue
        now = json.loads((out / name).read_text(encoding="utf-8"))
        gpu = now["provenance"]["gpu"]
        before, where = newest(results, pattern, gpu)
        if before is None:
            lines.append(f"{name}: bench/results has no {pattern} of this GPU ({gpu}): nothing to compare with")
            continue
        found = sorted(compare(before, now, gpu), reverse=True)
        lines.append(f"slower than bench/results/{where}: {len(found)}")
        lines += [f"  {100 * (times - 1):+.1f} % {what}" if times < float("inf") else f"  new {what}"
                  for times, what in found]
        slower += found
    return lines, bool(slower)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    any_slower = False
    for out in map(Path, sys.argv[1:]):
        lines, slower = report(out)
        print("\n".join(lines) or f"{out}: nothing is measured yet")
        any_slower |= slower
    return int(any_slower)


if __name__ == "__main__":
    sys.exit(main())
