#!/usr/bin/env python3
"""slower.py OUT...: what got slower since the last records. OUT is a folder that scripts/llama-bench has measured into.

Each of these is compared with the last record of the same GPU in bench/results/:
  tokens a second with Catena                              llama.*.json
  kinds of kernels of a decode step                        steps.*.json
  phases of each kind of launch                            phases.*.json
  of races, the walk with today's rows                     llama.*.json; its kernels steps.*.json
  of races, the walk and the candidates raced before       races.*.json
Only what is slower is printed, the worst first, and what cannot be compared.
Exit code: 0 nothing got slower, 1 something did.
"""
import json
import math
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Callable, NamedTuple

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/llama")]
import ab_record
from ab_record import median_and_spread
from records import really_slower
from walk_tuning import STANDARD_ERRORS, problems_of

RESULTS = ROOT / "bench/results"
LEAST_US, LEAST_SHARE = 5, 0.03  # by which a kind of kernels is slower; the means of two runs differ by less
LEAST_PHASE_US, LEAST_PHASE_SHARE = 0.3, 0.05  # by which a phase is longer; halves of a walk's layers rarely differ so
LEAST_RACE_SHARE = 0.01  # by which a candidate's walk is slower


def newest(results, pattern, gpu):
    """The last record of a GPU, and its name; records have their dates in their names."""
    for path in sorted(results.glob(pattern), key=lambda path: path.name.split(".")[-2], reverse=True):
        record = json.loads(path.read_text(encoding="utf-8"))
        if gpu in record["provenance"]["gpu"].split(", "):
            return record, path.name
    return None, None


def time_of_us(us):
    median, spread = median_and_spread(us)
    return {"median_us": median, "spread": spread, "samples": len(us)}


def time_of(tokens_per_second):
    return time_of_us([1e6 / speed for speed in tokens_per_second])


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
                yield us / was if was else math.inf, f"{label}: {was:.0f} -> {us:.0f} us{how_many}"


def walk_key(walk):
    return walk["model"], walk["sequences"]


def of_walk(model, sequences):
    return f"{model}, {sequences} a step"


def compared_kinds(before, walk):
    """(kind then, kind now) of each kind of a walk's launches, and why others have no such pair. Rows may have changed since:
    a kind is compared with the one that most of its launches were of, by their places in the walk."""
    then = next((w for w in before["walks"] if walk_key(w) == walk_key(walk)), None)
    if then is None:
        return [], ["the record has no such walk"]
    places = {at: kind for kind in then["kinds"] for at in kind["at"]}
    count = sum(len(kind["at"]) for kind in walk["kinds"])
    if len(places) != count:
        return [], [f"{len(places)} launches then, {count} now"]
    pairs, other = [], []
    for kind in walk["kinds"]:
        kernels = Counter(then["kinds"].index(places[at]) for at in kind["at"])
        old = then["kinds"][kernels.most_common(1)[0][0]]
        if old["shape"] == kind["shape"]:
            pairs.append((old, kind))
        else:
            other.append(f"{kind['kernel']} {kind['shape']}: these launches were {old['shape']}")
    return pairs, other


def time_of_phase(kind, phase):
    middle, half_quartiles = kind["us"][phase]
    return {"median_us": middle, "spread": half_quartiles / middle if middle else 0, "samples": len(kind["at"])}


def slower_phases(before, now, _):
    """The same of each phase of each kind of launch."""
    for walk in now["walks"]:
        for then, kind in compared_kinds(before, walk)[0]:
            for phase in (phase for phase in kind["us"] if phase in then["us"]):
                old, new = time_of_phase(then, phase), time_of_phase(kind, phase)
                was, us = old["median_us"], new["median_us"]
                if really_slower(new, old) and us - was > max(LEAST_PHASE_US, LEAST_PHASE_SHARE * was):
                    other = f", then {then['kernel'] or 'an unknown kernel'}" if then["kernel"] != kind["kernel"] else ""
                    yield (us / was if was else math.inf,
                           f"{of_walk(*walk_key(walk))}, {len(kind['at'])} x {kind['shape']}, {phase}: {was:.2f} -> {us:.2f} "
                           f"us, {kind['kernel']}{other}")


def phases_left_out(before, now):
    for walk in now["walks"]:
        for why in compared_kinds(before, walk)[1]:
            yield f"{of_walk(*walk_key(walk))}: {why}"


def raced(record):
    """{(model, sequences, key, row): the problem, what came of the race} of candidates that did not fail."""
    return {(model, sequences, key, row): (problem, found) for model, sequences, key, problem in problems_of(record)
            for row, found in problem["candidates"].items() if found["verdict"] != "failed"}


def walks_of_races(record):
    """The time of the walk with today's rows, by model and sequences, over all races."""
    us = {}
    for (model, sequences, *_), (_, found) in raced(record).items():
        us.setdefault((model, sequences), []).append(found["walk_us"])
    return {key: time_of_us(all_us) for key, all_us in us.items()}


def slower_walks(before, now):
    """The same of each walk with today's rows, by their times then and now."""
    for key, new in now.items():
        if key in before and really_slower(new, before[key]):
            old = before[key]["median_us"]
            yield (new["median_us"] / old,
                   f"{of_walk(*key)}, the walk with today's rows: {old:.0f} -> {new['median_us']:.0f} us")


def slower_than_speeds(before, now, _):
    """The walks of races, beside the time of a step by tokens a second."""
    steps = {}
    for name, model in before["models"].items():
        for stage, samples in model["stages"].items():
            if stage.startswith("tg") and "on" in samples:
                sequences = ab_record.sequences_of(stage)
                steps[name, sequences] = time_of([speed / sequences for speed in samples["on"]])
    return slower_walks(steps, walks_of_races(now))


def kernels_of_races(record):
    """{(model, sequences): us of all kernels of the walk with today's rows}, where a timeline of one was taken."""
    us = {}
    for (model, sequences, *_), (_, found) in raced(record).items():
        if parts := found.get("where", {}).get("default"):
            us.setdefault((model, sequences), []).append(sum(parts[name] for name in ("launches_us", "others_us", "gaps_us")))
    return {key: statistics.median(all_us) for key, all_us in us.items()}


def slower_than_steps(before, now, gpu):
    """The kernels of the walks of races, beside those of a decode step."""
    then = {step_key(step): step["us"] for step in before["steps"] if step["gpu"] == gpu}
    for (model, sequences), us in kernels_of_races(now).items():
        was = then.get((model, sequences, True), math.inf)
        if us - was > max(LEAST_US, LEAST_SHARE * was):
            yield us / was, f"{of_walk(model, sequences)}, kernels of the walk with today's rows: {was:.0f} -> {us:.0f} us"


def slower_races(before, now, _):
    """The walks of races, and those with a candidate's row, beside earlier races."""
    yield from slower_walks(walks_of_races(before), walks_of_races(now))
    then = raced(before)
    for key, (problem, found) in raced(now).items():
        if key not in then:
            continue
        old = then[key][1]
        was, us = old["median_us"], found["median_us"]
        error = math.hypot(old["error_us"], found["error_us"])
        if us - was > max(STANDARD_ERRORS * error, LEAST_RACE_SHARE * was):
            yield us / was, f"{of_walk(*key[:2])}, {problem['problem']}, the walk with {key[3]}: {was:.0f} -> {us:.0f} us"


def races_left_out(before, now):
    then, found = raced(before), raced(now)
    if new := sum(key not in then for key in found):
        yield f"{new} of {len(found)} candidates, which the record does not have"


class Comparison(NamedTuple):
    """A file of OUT and the records that it is compared with."""
    file: str
    pattern: str
    slower: Callable
    has: Callable = lambda now: True  # whether anything is measured that these records have
    left_out: Callable = lambda before, now: ()


COMPARISONS = (
    Comparison("record.json", "llama.*.json", lambda before, now, _: slower_speeds(before, now),
               has=lambda now: any(map(ab_record.is_speed, (s for m in now["models"].values() for s in m["stages"])))),
    Comparison("steps.json", "steps.*.json", slower_kinds),
    Comparison("phases.json", "phases.*.json", slower_phases, left_out=phases_left_out),
    Comparison("walk_tuning.json", "llama.*.json", slower_than_speeds, has=walks_of_races),
    Comparison("walk_tuning.json", "steps.*.json", slower_than_steps, has=kernels_of_races),
    Comparison("walk_tuning.json", "races.*.json", slower_races, has=raced, left_out=races_left_out))


def report(out, results=RESULTS):
    """Lines, and whether something got slower."""
    lines, slower = [], []
    for compare in COMPARISONS:
        if not (out / compare.file).exists():
            continue
        now = json.loads((out / compare.file).read_text(encoding="utf-8"))
        if not compare.has(now):
            continue
        gpu = now["provenance"]["gpu"]
        before, where = newest(results, compare.pattern, gpu)
        if before is None:
            lines.append(f"{compare.file}: bench/results has no {compare.pattern} of this GPU ({gpu}): nothing to compare with")
            continue
        found = sorted(compare.slower(before, now, gpu), reverse=True)
        lines.append(f"slower than bench/results/{where}: {len(found)}")
        lines += [f"  {100 * (times - 1):+.1f} % {what}" if times < math.inf else f"  new {what}" for times, what in found]
        lines += [f"  not compared: {why}" for why in compare.left_out(before, now)]
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
