"""The walks of scripts/llama-bench: timelines of decode steps, and where the steps go."""
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ab_record
import launches
import timeline
from ab_record import Problem
from program import said_by

FORMAT = "catena decode steps 1"  # of bench/results/steps.*.json
METHOD = ("us: median of the repeats, from the first kernel's start to the last one's end. kinds: mean us that no earlier "
          "kernel hides, and how many kernels; gap is the time in which no kernel runs. Kinds of less than "
          f"{timeline.LEAST_US} us a step are left out")


def accounts(lines, kept, provenance):
    """The steps without Catena and with it, from what the injected library wrote; the timeline is kept as a file."""
    if not lines.exists():
        raise Problem("no timeline was written: llama_ab.log says why, if the CUDA toolkit's libcupti was found")
    try:
        kernels = timeline.lines_of(lines)
    except timeline.Bad as bad:
        raise Problem(str(bad)) from None
    found = [timeline.of_side(kernels, catena) for catena in (False, True)]
    for account, side in zip(found, ("without Catena", "with it")):
        if account is None:
            raise Problem(f"{len(kernels)} kernels were recorded, but no step {side} came {timeline.LEAST_REPEATS} times")
    kept.parent.mkdir(exist_ok=True)
    timeline.write(kept, kernels, provenance)
    lines.unlink()
    return found


def write_steps(path, record):
    """The steps of all models in the form of bench/results; nothing if none is measured."""
    steps = []
    for name, model in record["models"].items():
        for stage, result in model["stages"].items():
            for found in result.get("steps", []) if stage.startswith("walk") else []:
                kinds = {kind: [round(us), count] for kind, (us, count) in found["kinds"].items()}
                steps.append({"model": name, "gpu": record["provenance"]["gpu"], "sequences": ab_record.sequences_of(stage),
                              **found, "us": round(found["us"]), "kinds": kinds})
    if steps:
        ab_record.write(path, {"format": FORMAT, "simulated": record["simulated"], "steps": steps,
                               "provenance": {**record["provenance"], "method": METHOD}})


def gpu_of(report, catena):
    """The name in Catena's list of the GPU that a plan is for; "" if the list has none of its chip, SMs and clock, or
    several."""
    gpu = report["gpu"]
    names = [known["name"] for known in json.loads(said_by(catena, "instances", "--gpus", "--json"))["gpus"]
             if known["name"].split()[0] in gpu["name"].split() and
             (known["sms"], known["cycles_per_us"]) == (gpu["sms"], gpu["cycles_per_us"])]
    return names[0] if len(names) == 1 else ""


def told_by(record):
    """The provenance of a record of launches."""
    of = record["provenance"]
    return {"gpu": of["gpu"], "driver": of["driver, highest clocks"].split(",")[0], "cuda": of["cuda"],
            "date": datetime.now(timezone.utc).date().isoformat(), "commit": of["catena"], "simulated": record["simulated"],
            "command": "scripts/gpu-check OUT walk; the plans are those of the same sources for tests/data/graphs"}


def write_launches(out, record, models, catena):
    """What each launch took, of all walks that are measured, as a record that `catena explain --measured` reads. Returns a
    sentence for each walk that is not in it."""
    found, said = None, []
    arch = "sm_90" if record["simulated"] else "native"
    for model in models:
        for stage in record["models"].get(model.name, {"stages": {}})["stages"]:
            file = out / f"timelines/{model.name}.{stage}.json.gz"
            if not stage.startswith("walk") or not file.exists():
                continue
            try:
                graph = model.graph_file(ab_record.sequences_of(stage))
                report = json.loads(said_by(catena, "explain", graph, "--arch", arch, "--optimized", "--json"))
                found = found or launches.Record(report["arch"], gpu_of(report, catena), told_by(record))
                found.add(model.name, timeline.read(file)[0], report)
            except (Problem, timeline.Bad) as problem:
                said.append(f"{model.name} {stage}: not in launches.json.gz: {problem}")
    if found and found.walks:
        found.write(out / "launches.json.gz")
    return said
