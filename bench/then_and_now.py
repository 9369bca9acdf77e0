"""Decode steps that were traced, and what today's plans would take in their place: a table of docs/performance.md.

Today's steps take what the cost model alone says, as those of then do, without medians, and the engine's kernels take what they took when they were traced: as many of each op as
today's plan leaves to the engine, the longest first.
"""
import gzip
import json
import subprocess
import sys
from collections import defaultdict

from pages import ROOT, table

sys.path.append(str(ROOT / "bench/llama"))
import ab_record

RESULTS = ROOT / "bench/results"
DATE = "2026-11-26"
LAUNCHES = RESULTS / f"launches.h100.{DATE}.json.gz"
SPEEDS = RESULTS / f"llama.h100.{DATE}.json"
TUNING = RESULTS / f"tuning.sm_90.{DATE}.json.gz"
REGISTERS = RESULTS / f"registers.sm_90.{DATE}.txt"
HEAD = ["model", "columns", "steps then, measured", "steps then", "steps now", "engine then", "engine now", "sum then",
        "sum now", "change", "faster than alone then, measured", "now"]
LOADS = {"tg1": ("tg128", 1), "b4": ("tg128x4", 4)}  # of the graphs; of the records of tokens, and their columns

# The op of the first node that a kernel of the engine's computes. A kernel that stands nowhere is an error.
OPS = {
    "rms_norm_mul_rope_f32": "ROPE", "rope_norm": "ROPE", "rope_neox": "ROPE", "rope_multi": "ROPE",
    "k_set_rows": "SET_ROWS", "k_get_rows_float": "GET_ROWS", "k_get_rows_float_vec": "GET_ROWS",
    "flash_attn_ext_vec": "FLASH_ATTN_EXT", "flash_attn_ext_f16": "FLASH_ATTN_EXT",
    "topk_moe_cuda": "SOFT_MAX", "k_argsort_f32_i32": "ARGSORT", "soft_max_f32": "SOFT_MAX",
    "concat_cont": "CONCAT", "cpy_scalar": "CPY", "ssm_conv_f32": "SSM_CONV", "rms_norm_f32": "RMS_NORM",
    "unary_gated_op_kernel": "UNARY", "unary_op_kernel": "UNARY", "k_bin_bcast": "MUL",
    "gated_delta_net_cuda": "GATED_DELTA_NET",
}
# Kernels beside the one that computes a node: as many as there are nodes.
BESIDE = {"flash_attn_combine_results": "FLASH_ATTN_EXT", "flash_attn_mask_to_KV_max": "FLASH_ATTN_EXT",
          "flash_attn_stream_k_fixup_uniform": "FLASH_ATTN_EXT"}


def engine_then(walk, kernels):
    """{(op, kernel beside its own): the times of its launches}."""
    times = defaultdict(list)
    for launch in walk["launches"]:
        if "kernel" not in launch:
            continue
        kernel = kernels[launch["kernel"]]
        if kernel not in OPS and kernel not in BESIDE:
            sys.exit(f"then_and_now.py: {LAUNCHES}: nobody has said which op {kernel} computes")
        times[(BESIDE[kernel], kernel) if kernel in BESIDE else (OPS[kernel], None)].append(launch["us"])
    return times


def engine_now(times, left):
    """The time of the launches that a plan leaves to the engine; `left` has their number by op."""
    return sum(sum(sorted(us, reverse=True)[:left.get(op, 0)]) for (op, _), us in times.items())


def steps_then(catena):
    """{(model, load): what the cost model says of the steps that ran, and what they took}."""
    done = subprocess.run([catena, "tune", "--arch", "sm_90", "--check-model", "--out", TUNING, "--registers", REGISTERS,
                           "--walks", LAUNCHES, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"then_and_now.py: {catena} tune ends with {done.returncode}: {done.stderr.strip()}")
    return {(w["model"], w["load"]): w for w in json.loads(done.stdout)["walks"]}


class Load:
    """One load of one model in llama.cpp: its time alone, with Catena when it was measured, and by today's plan."""

    def __init__(self, stage, columns):
        self.alone, self.with_catena = (1e6 * columns / ab_record.median_and_spread(stage[side])[0] for side in ("off", "on"))
        self.us, self.now = None, None

    def trace(self, then, times, plan):
        now, kept = sum(plan["predicted"]["model_us"].values()), engine_now(times, plan["launches"]["engine"])
        engine = sum(map(sum, times.values()))
        before, after = then["predicted_us"] + engine, now + kept
        self.us = [then["measured_us"], then["predicted_us"], now, engine, kept, before, after]
        self.change = after / before - 1
        self.now = self.with_catena + after - before

    def cells(self):
        ratio = f"{self.alone / self.with_catena:.2f}x"
        if self.us is None:
            return ["not traced", *[""] * 7, ratio, ""]
        now = self.alone / self.now
        return [*(f"{x:.0f}" for x in self.us), f"{100 * self.change:.0f} %", ratio,
                f"{now:.2f}x" if now >= 1 else f"**{now:.2f}x**"]


def walks(catena, plans):
    """The table, by `plans`: {file's start: {load: what `catena explain` says of its ordered graph}}."""
    record = json.loads(gzip.decompress(LAUNCHES.read_bytes()))
    traced = {(w["model"], w["load"]): w for w in record["walks"]}
    then = steps_then(catena)
    rows, ratios = [], []
    for model, known in ab_record.read(SPEEDS)["models"].items():
        of_model = next(of for file, of in plans.items() if file.startswith(model + "-"))
        for load, (stage, columns) in LOADS.items():
            one, plan = Load(known["stages"][stage], columns), of_model[load]
            if walk := traced.get((model, load)):
                one.trace(then[model, load], engine_then(walk, record["kernels"]), plan)
                ratios.append(one.alone / one.now)
            rows.append([plan["graph"]["model"], str(columns), *one.cells()])
    return (f"By today's plans these loads are {min(ratios):.2f} to {max(ratios):.2f} times as fast as llama.cpp alone "
            "*(predicted)*.\n\n" + table(HEAD, rows))
