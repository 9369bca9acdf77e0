"""The walks of scripts/llama-bench: timelines of decode steps, and where the steps go."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ab_record
import timeline
from ab_record import Problem

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
