#!/usr/bin/env python3
"""counted.py CATENA [--check | --print]: what plans of the given graphs count and predict, as tables of docs/performance.md.

CATENA is the command, such as build/ci/bin/catena: it explains the graphs of tests/data/graphs, for sm_90.
--check  writes nothing; exit code 1 if the page has other figures
--print  prints the tables alone
"""
import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from pages import ROOT, filled, table, written
from then_and_now import walks

PAGE = "docs/performance.md"
GRAPHS = ROOT / "tests/data/graphs"
KINDS_OF = ("Qwen3-8B", "Qwen3-30B-A3B", "gpt-oss-20b")  # a dense model, and two with experts


class Plans:
    """What `catena explain --json` says of a model's graphs: in the memory and order of the engine, or ordered."""

    def __init__(self, catena, model):
        def explained(load, *options):
            file = GRAPHS / f"{model}.{load}.json.gz"
            done = subprocess.run([catena, "explain", str(file), "--json", *options], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"counted.py: {catena} explain {file} ends with {done.returncode}: {done.stderr.strip()}")
            return json.loads(done.stdout)

        self.one, self.one_ordered = explained("tg1"), explained("tg1", "--optimized")
        self.four_ordered = explained("b4", "--optimized")
        self.prompt = explained("pp512")
        self.name = self.one["graph"]["model"]


def launches(plans):
    rows = [(p.one["launches"]["per_node"], p.one["launches"]["peer"], p.one["launches"]["planned"],
             p.one["launches"]["planned_engine_fused"], p.one_ordered["launches"]["planned_engine_fused"])
            for p in plans]
    return table(["model", "per node", "peer", "planned", "engine fuses", "ordered"],
                 [[p.name, *map(str, row)] for p, row in zip(plans, rows)])


def times(plans):
    def cells(e):
        return [str(e["launches"]["steps"]), f"{e['bytes'] / 1e6:.0f}", f"{e['attainable_us']:.0f}",
                f"{e['predicted']['steps_us']:.0f}"]

    return table(["model", "steps", "MB", "attainable", "predicted", "steps, 4 columns", "MB, 4 columns",
                  "attainable, 4 columns", "predicted, 4 columns"],
                 [[p.name, *cells(p.one_ordered), *cells(p.four_ordered)] for p in plans])


def parts(plans):
    names = {"bytes": "bytes", "node": "nodes", "columns": "wait for columns", "warps": "warps", "results": "behind products"}

    def cells(e):
        us = [e["predicted"]["model_us"][name] for name in names]
        return [f"{x:.0f}" for x in (*us, sum(us))]

    heads = [*names.values(), "sum"]
    return table(["model", *heads, *(f"{head}, 4 columns" for head in heads)],
                 [[p.name, *cells(p.one_ordered), *cells(p.four_ordered)] for p in plans])


def over_bytes(us):
    return sum(us.values()) - us["bytes"]


def kinds(plans):
    """What launches of a step of one token take over their bytes: those with one work together."""
    def rows(p):
        of = {}
        for step in p.one_ordered["steps"]:
            of.setdefault(step["work"], []).append(step["model_us"])
        for work, each in sorted(of.items(), key=lambda kind: -sum(us for step in kind[1] for us in step.values())):
            us = {name: sum(step[name] for step in each) / len(each) for name in each[0]}
            parts = us["bytes"], over_bytes(us), us["node"], us["columns"], us["warps"], us["results"]
            yield [p.name, work, str(len(each)), *(f"{x:.1f}" for x in parts)]

    def of_matrices(p):
        over = [over_bytes(step["model_us"]) for step in p.one_ordered["steps"] if step["problem"]["needs"].get("kind") == "matvec"]
        return f"{p.name} {sum(over) / len(over):.1f}"

    heads = ["model", "launch", "how many", "bytes", "over them", "node", "wait for columns", "warps", "behind products"]
    return (textwrap.fill("A launch with matrices takes so many us over its bytes, on average over a step: "
                          f"{', '.join(map(of_matrices, plans))}.", 120) + "\n\n"
            + table(heads, [row for p in plans if p.name in KINDS_OF for row in rows(p)]))


def quantizing(plans):
    return table(["model", "quantizing, peer", "quantizing, Catena", "groups", "whole groups"],
                 [[p.name, str(p.one["activations"]["matmuls"]), str(p.one["activations"]["quantized_once"]),
                   str(p.one["groups"]["wanted"]), str(p.one["groups"]["planned_after_alloc"])] for p in plans])


def prompts(plans):
    return table(["model", "steps", "only quantize", "GB"],
                 [[p.name, str(p.prompt["launches"]["steps"]), str(p.prompt["activations"]["standalone"]),
                   f"{p.prompt['bytes'] / 1e9:.2f}"] for p in plans])


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--check"], ["--print"]):
        sys.exit(__doc__)
    models = sorted(file.name.removesuffix(".tg1.json.gz") for file in GRAPHS.glob("*.tg1.json.gz"))
    with ThreadPoolExecutor() as workers:
        plans = list(workers.map(lambda model: Plans(sys.argv[1], model), models))
    by_load = {model: {"tg1": p.one_ordered, "b4": p.four_ordered} for model, p in zip(models, plans)}
    blocks = {"launches": launches(plans), "quantizing": quantizing(plans), "times": times(plans),
              "parts": parts(plans), "kinds": kinds(plans),
              "walks": walks(sys.argv[1], by_load), "prompts": prompts(plans)}
    if sys.argv[2:] == ["--print"]:
        return print("\n\n".join(blocks.values()))
    return written({PAGE: filled("bench/counted.py", PAGE, blocks)}, "bench/counted.py CATENA", sys.argv[2:] == ["--check"])


if __name__ == "__main__":
    sys.exit(main())
