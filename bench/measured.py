#!/usr/bin/env python3
"""measured.py [--check | --print]: what was measured in llama.cpp, as tables and charts of bench/results/.

It writes the text between the marks `<!-- made by bench/measured.py: NAME -->` and `<!-- end -->` of README.md and
docs/performance.md, and docs/pictures/tokens-*.svg and steps-*.svg.
--check  writes nothing; exit code 1 names each place that is not what the records say
--print  prints the tables alone
"""
import json
import re
import sys
import textwrap
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/llama")]
import ab_record
import bars
from ab_record import Problem, median_and_spread
from pages import filled, table, written

RESULTS = ROOT / "bench/results"
DATE = "2026-11-26"
SPEEDS = (f"llama.h100.{DATE}.json", f"llama.h200.{DATE}.json")
STEPS = f"steps.sm_90.{DATE}.json"
TESTS = f"device_tests.sm_90.{DATE}.json"

MODELS = {"qwen3-8b": "Qwen3-8B", "llama-3.1-8b": "Llama-3.1-8B", "qwen3-30b-a3b": "Qwen3-30B-A3B",
          "gpt-oss-20b": "gpt-oss-20b", "qwen3.6-35b-a3b": "Qwen3.6-35B-A3B"}
FORMATS = {"MXFP4_MOE": "MXFP4"}
LOADS = {"tg128": "one token at a time", "tg128x4": "four sequences", "pp512": "prompt of 512 tokens"}

# The parts of a decode step, by the kinds of kernels of the record. A kind that stands nowhere is an error.
PARTS = {
    "matrices": ("matvec of Catena", "mmvq", "mmvf", "mmf", "gemm of cuBLAS"),
    "norms, quantization, other": ("row step of Catena", "norm", "quantize", "sum or product", "unary",
                                  "sum of experts"),
    "attention": ("attention",),
    "ropes, caches": ("norm and rope", "rope", "set_rows"),
    "choice of experts": ("top-k", "argsort", "softmax"),
    "linear attention": ("gated delta net", "convolution", "concat", "copy"),
    "between kernels": ("gap",),
}
OTHER = "norms, quantization, other"


def gpu_name(name):
    return re.search(r"H\d+", name).group(0)


class Cell:
    """One load of one model on one GPU: tokens a second without Catena and with it."""

    def __init__(self, samples):
        self.off, self.off_all = median_and_spread(samples["off"])[0], samples["off"]
        self.on, self.on_all = median_and_spread(samples["on"])[0], samples["on"]
        self.ratio = self.on / self.off


def speeds():
    """{(GPU, model, load): Cell} and the records, by GPU."""
    records = {gpu_name(r["provenance"]["gpu"]): r for r in (ab_record.read(RESULTS / name) for name in SPEEDS)}
    for gpu, record in records.items():
        for model in MODELS:
            for load in LOADS:
                if "on" not in record["models"].get(model, {"stages": {}})["stages"].get(load, {}):
                    raise Problem(f"the record of the {gpu} has no {load} of {model}: measure it, or name another one")
    return {(gpu, model, load): Cell(r["models"][model]["stages"][load])
            for gpu, r in records.items() for model in MODELS for load in LOADS}, records


def quant(record, model):
    found = record["models"][model]["quant"]
    return FORMATS.get(found, found)


def bold_if_slower(ratio):
    return f"**{ratio:.2f}x**" if ratio < 1 else f"{ratio:.2f}x"


def span(values):
    values = list(values)
    return f"{min(values):.2f}x to {max(values):.2f}x"


def wrapped(sentences):
    return textwrap.fill(" ".join(sentences), 120, break_long_words=False, break_on_hyphens=False)


def ranges(cells, records):
    """How many times as fast, load by load, and what is slower than llama.cpp alone."""
    said = [f"{LOADS[load][0].upper()}{LOADS[load][1:]}: " + ", ".join(
        f"{span(cells[gpu, m, load].ratio for m in MODELS)} on the {gpu}" for gpu in records) + "." for load in LOADS]
    slower = {}
    for (gpu, model, load), cell in cells.items():
        if cell.ratio < 1:
            slower.setdefault((load, model), []).append(f"{cell.ratio:.2f}x on the {gpu}")
    for (load, model), where in slower.items():
        said.append(f"**Slower than llama.cpp alone:** {MODELS[model]}, {LOADS[load]}: {', '.join(where)}.")
    return said


def short_tokens(cells, records):
    first = next(iter(records))
    others = [gpu for gpu in records if gpu != first]

    def cell(model, load):
        c = cells[first, model, load]
        return f"{c.off:.0f} -> {c.on:.0f}, {bold_if_slower(c.ratio)}"

    rows = [[f"{MODELS[m]} {quant(records[first], m)}", *(cell(m, load) for load in LOADS),
             *(", ".join(bold_if_slower(cells[gpu, m, load].ratio) for load in LOADS) for gpu in others)]
            for m in MODELS]
    head = ["tokens a second", *(f"{first}, {words}" for words in LOADS.values()),
            *(f"{gpu}, the ratios" for gpu in others)]
    return wrapped(ranges(cells, records)) + "\n\n" + table(head, rows)


def spread(samples):
    return f"{min(samples):.0f} to {max(samples):.0f}"


def all_tokens(cells, records):
    rows = [[f"{MODELS[m]} {quant(records[gpu], m)}", words, gpu, f"{c.off:.0f}", spread(c.off_all), f"{c.on:.0f}",
             spread(c.on_all), bold_if_slower(c.ratio)]
            for m in MODELS for load, words in LOADS.items() for gpu in records for c in [cells[gpu, m, load]]]
    head = ["model", "load", "GPU", "llama.cpp alone", "its samples", "with Catena", "its samples", "ratio"]
    return wrapped(ranges(cells, records)) + "\n\n" + table(head, rows)


def logits(records):
    """How far the logits are apart, beside the yardstick; on which GPU nobody looked."""
    rows = []
    for gpu, record in records.items():
        for m in MODELS:
            found = ab_record.logits_of(record["models"][m])
            if found:
                pairs = [(way["on"]["median_nmse"], way["yardstick"]["median_nmse"])
                         for way in (found["ways"][name] for name in ("single", "four", "prompt"))]
                rows.append([MODELS[m], gpu, *(f"{on:.1e}, {yard:.1e}" for on, yard in pairs)])
    missing = [gpu for gpu, r in records.items() if not any(ab_record.logits_of(m) for m in r["models"].values())]
    note = [f"On the {gpu} logits were not compared." for gpu in missing]
    return "\n\n".join([table(["model", "GPU", *LOADS.values()], rows), *note])


def part_of(kind):
    if kind == "get_rows":
        return OTHER
    found = next((part for part, kinds in PARTS.items() if kind in kinds), None)
    if found is None:
        raise Problem(f"{STEPS}: kernels of the kind '{kind}' belong to no part: name the kind in PARTS")
    return found


def parts(step):
    """{part: us} of a step. What get_rows fetches: states of linear attention, weights of experts, or the embedding."""
    kinds, out = step["kinds"], dict.fromkeys(PARTS, 0)
    fetches = "linear attention" if "gated delta net" in kinds else "choice of experts" if "argsort" in kinds else OTHER
    for kind, (us, _) in kinds.items():
        out[fetches if kind == "get_rows" else part_of(kind)] += us
    return out


class Step:
    """One line of the table of decode steps."""

    def __init__(self, step, cells, records, read):
        self.step, self.gpu = step, gpu_name(step["gpu"])
        self.parts = parts(step)
        self.launches = sum(n for kind, (_, n) in step["kinds"].items() if part_of(kind) == "matrices")
        rate = read.get(step["gpu"])
        weights = records[self.gpu]["models"][step["model"]]["bytes_read"][str(step["sequences"])]
        self.floor = weights / rate if rate else None
        cell = cells[self.gpu, step["model"], "tg128" if step["sequences"] == 1 else f"tg128x{step['sequences']}"]
        self.rest = 1e6 * step["sequences"] / (cell.on if step["catena"] else cell.off) - step["us"]

    def over_floor(self):
        return None if self.floor is None else (self.parts["matrices"] - self.floor) / self.launches


def loaded(name, form):
    with open(RESULTS / name, encoding="utf-8") as file:
        record = json.load(file)
    if record.get("format") != form:
        raise Problem(f"{name}: 'format' should be '{form}'")
    return record


def device_tests():
    """What tests of the kernels on a GPU said."""
    record = loaded(TESTS, "catena device tests 1")
    facts, checks = record["provenance"], (record["memcheck"], record["racecheck"])
    if record["failed"] or checks[0]["errors"] or checks[1]["hazards"]:
        raise Problem(f"{TESTS}: something failed, and README has no sentence for that")
    sampled = len(set(checks[0]["families"]) & set(checks[1]["families"]))
    return wrapped([f"**On a GPU** the kernels of sm_90 have run ({facts['date']}, CUDA {facts['cuda']}, commit "
                    f"{facts['commit']}), and the first launch was right: all {len(record['passed'])} families gave "
                    f"the host executor's bits, and {sampled} of them had no error under memcheck and racecheck. No "
                    "other set has run on a GPU."])


def steps(cells, records, sequences):
    record = loaded(STEPS, "catena decode steps 1")
    order = list(MODELS)
    read = record["read_bytes_per_us"]
    chosen = [Step(s, cells, records, read) for s in record["steps"] if s["sequences"] == sequences]
    return sorted(chosen, key=lambda s: (s.gpu, order.index(s.step["model"]), s.step["catena"]))


def step_table(chosen):
    rows = []
    for s in chosen:
        over, us = s.over_floor(), {part: str(value) for part, value in s.parts.items()}
        rows.append([f"{MODELS[s.step['model']]}, {s.gpu}", "with Catena" if s.step["catena"] else "alone",
                     f"{s.step['us']} ({s.step['kernels']})", f"{us.pop('matrices')} ({s.launches})",
                     *("" if over is None else value for value in (f"{s.floor or 0:.0f}", f"{over or 0:.1f}")),
                     *us.values(), f"{s.rest:.0f}"])
    head = ["model, GPU", "llama.cpp", "us (kernels)", "matrices (launches)", "their bytes", "over them, a launch",
            *(part for part in PARTS if part != "matrices"), "rest of the token"]
    return table(head, rows)


def all_steps(cells, records):
    one, four = steps(cells, records, 1), steps(cells, records, 4)
    over = [s.over_floor() for s in one if s.step["catena"] and s.floor]
    share = [s.parts["matrices"] / s.step["us"] for s in one if s.step["catena"]]
    said = [f"With Catena the matrices take {100 * min(share):.0f} to {100 * max(share):.0f} % of a step of one token. "
            f"Each of their launches takes {min(over):.1f} to {max(over):.1f} us more than its bytes, on average."]
    return "\n\n".join([wrapped(said), "One token:", step_table(one),
                        "Four sequences, a token each:", step_table(four)])


def pictures(cells, records):
    first = next(iter(records))
    models = {(MODELS[m], quant(records[first], m)): m for m in MODELS}
    loads = {words: load for load, words in LOADS.items()}
    stacks = [("" if s.step["catena"] else MODELS[s.step["model"]], "with Catena" if s.step["catena"] else "alone",
               list(s.parts.values()), f"{s.step['us']} us, {s.step['kernels']} kernels")
              for s in steps(cells, records, 1) if s.gpu == first]

    def values(gpu, words, model):
        cell = cells[gpu, models[model], loads[words]]
        return cell.off, cell.on

    out = {}
    for theme in bars.THEMES:
        out[f"docs/pictures/tokens-{theme}.svg"] = bars.pairs(
            f"llama.cpp: tokens a second, measured on {DATE}", ("llama.cpp alone", "with Catena"), list(records),
            list(loads), list(models), values, theme)
        out[f"docs/pictures/steps-{theme}.svg"] = bars.stacked(
            f"llama.cpp: where a decode step of one token goes, {first}, measured on {DATE}", list(PARTS), stacks,
            theme)
    return out


def main():
    if sys.argv[1:] not in ([], ["--check"], ["--print"]):
        sys.exit(__doc__)
    cells, records = speeds()
    pages = {"README.md": {"tokens in short": short_tokens(cells, records), "device tests": device_tests()},
             "docs/performance.md": {"tokens": all_tokens(cells, records), "logits": logits(records),
                                     "steps": all_steps(cells, records)}}
    if sys.argv[1:] == ["--print"]:
        return print("\n\n".join(block for blocks in pages.values() for block in blocks.values()))
    made = {**{page: filled("bench/measured.py", page, blocks) for page, blocks in pages.items()}, **pictures(cells, records)}
    return written(made, "bench/measured.py", sys.argv[1:] == ["--check"])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Problem, OSError) as problem:
        sys.exit(f"measured.py: {problem}")
