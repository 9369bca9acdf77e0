"""Records of scripts/llama-bench: read and checked, and what their numbers say."""
import json
import math
import os
import re
import statistics

FORMAT = "catena llama.cpp A/B 2"
LIMIT = 3  # logits may be so many times as far from the engine's as those of the yardstick


class Problem(Exception):
    """One sentence for the user."""


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError) as error:
        raise Problem(f"{path}: cannot be read as JSON ({error}): move it away, or name another folder") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise Problem(f"{path}: not a record of scripts/llama-bench ('format' should be '{FORMAT}'): move it away, or "
                      "name another folder")
    for where, value, fields in [("the record", record, ("simulated", "provenance", "models")),
                                 *[(name, m, ("quant", "bytes", "bytes_read", "experts", "stages"))
                                   for name, m in record.get("models", {}).items()]]:
        if missing := [field for field in fields if field not in value]:
            raise Problem(f"{path}: {where} has no '{missing[0]}': move the record away, or name another folder")
    return record


def write(path, record):
    """As a whole or not at all."""
    fresh = f"{path}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
    os.replace(fresh, path)


def median_and_spread(values):
    """The median, and half the distance of the quartiles relative to it."""
    middle = statistics.median(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else (middle,) * 3
    return middle, (high - low) / 2 / middle


def sequences_of(stage):
    return int(stage.split("x")[1]) if "x" in stage else 1


def is_speed(stage):
    return re.match(r"(pp|tg)\d", stage) is not None


def served(result):
    """What Catena logged of its last plan; None if no plan has steps."""
    plans = [line for line in result.get("catena", []) if re.search(r": [1-9]\d* of \d+ quantized matmuls in", line)]
    return plans[-1] if plans else None


class Speed:
    """What a speed stage's numbers say."""

    def __init__(self, model, stage):
        result = model["stages"][stage]
        self.off, self.off_spread = median_and_spread(result["off"])
        self.on, self.on_spread = median_and_spread(result["on"])
        self.ratio, self.ratio_spread = median_and_spread([on / off for off, on in zip(result["off"], result["on"])])
        self.copy = statistics.median(result["copy_bytes_per_us"])
        sequences = sequences_of(stage)
        self.bytes = None if stage.startswith("pp") else model["bytes_read"][str(sequences)] / sequences  # of a token

    def share_of_copy(self, tokens_per_second):
        return None if self.bytes is None else tokens_per_second * self.bytes / (1e6 * self.copy)


def judged(model, logits):
    """Whether the logits with Catena are near enough to those without it, and why not."""
    # A token whose experts are nearly equal may get another one by any rounding: the middle row counts there.
    measures = ("median_nmse",) if model["experts"] else ("median_nmse", "worst_nmse")
    for way, found in logits["ways"].items():
        for measure in measures:
            value, limit = found["on"][measure], found["yardstick"][measure]
            if value is None or limit is None or not math.isfinite(value) or value > LIMIT * limit:
                return False, (f"logits differ: {way}, {measure.replace('_nmse', ' NMSE')} {number(value)}, allowed are "
                               f"{LIMIT} times {number(limit)}")
    return True, "logits agree"


def number(value):
    return "not finite" if value is None else f"{value:.1e}"


def logits_of(model):
    return next((result for stage, result in model["stages"].items() if stage.startswith("logits")), None)


def why_no_row(model, stage):
    """Why a row of a speed stage does not count; None if it does."""
    result = model["stages"].get(stage)
    if result is None:
        return "not measured yet"
    if "failed" in result:
        return result["failed"]
    logits = logits_of(model)
    if logits is None:
        return "logits are not compared yet"
    if "failed" in logits:
        return f"logits could not be compared: {logits['failed']}"
    passed, why = judged(model, logits)
    return None if passed else why
