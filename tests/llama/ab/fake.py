#!/usr/bin/env python3
"""Answers like llama_ab, at once. FAKE says in JSON what is special: {stage: "abort", "hang", "idle", "silent",
"differ", "slower" or "nan"}, or {"load": "fails"}."""
import json
import os
import sys
import time

SPECIAL = json.loads(os.environ.get("FAKE", "{}"))
PLAN = "catena sm_90: 15 of 15 quantized matmuls in 11 steps"


def way(nmse):
    rows = {"rows": 8, "mean_divergence": 1e-5, "same_top": 1.0}
    return {"on": {**rows, "median_nmse": nmse, "worst_nmse": nmse},
            "yardstick": {**rows, "median_nmse": 1e-4, "worst_nmse": 1e-4}}


def answer(stage):
    special = SPECIAL.get(stage)
    if special == "abort":
        print("an assertion", file=sys.stderr, flush=True)
        os.abort()
    if special == "hang":
        time.sleep(60)
    out = {"stage": stage, "catena": ["catena sm_90: all is left to the engine" if special == "idle" else PLAN]}
    if stage.startswith("logits"):
        nmse = {"differ": 4e-4, "nan": None}.get(special, 1e-5)
        return {**out, "perplexity": {"off": 500.0, "on": 501.0}, "ways": {"prompt": way(1e-5), "single": way(nmse)}}
    if stage.startswith("phases"):
        products = 25000 if special == "slower" else 20000
        ns = [1000, 3000, 4000, 6000, 6100, products, products + 1000]
        launch = f"2 128 1 4096 6144 4096 {' '.join(map(str, ns + [2 * at for at in ns]))}"
        return {**out, "blocks": [f"catena_matvec_q4_K_sm_90 {block} {launch}" for block in (0, 1)]}
    if stage.startswith("steps"):
        slowest = [{"step": f"node {i} norm_input attn_norm-{i}", "instance": "matvec.q4_K.sm_90", "us": 30.0 - i,
                    "mean_us": 31.0, "bytes": 4000000, "attainable_us": 2.5} for i in range(10)]
        return {**out, "walks": 16, "steps": 12, "us": 300.0, "slowest": slowest, "graphs_off": os.environ.get("GGML_CUDA_DISABLE_GRAPHS") == "1",
                "dependent_launch": os.environ.get("GGML_CUDA_PDL")}
    return {**out, "off": [100.0, 104.0], "on": [150.0, 156.0], "copy_bytes_per_us": [1.0, 1.0]}


def write_timeline(row, faster):
    """Six steps with rows as they are, of 60 launches of 6 us and 60 of 2 us, then six with a row."""
    now, lines = 0, []
    for step in range(12):
        usual = step < 6
        for ns, name in 60 * ((6000 if usual else int(6000 / faster), f"catena_{'matvec.x.sm_90' if usual else row}"),
                              (2000 if usual else 2100, "flash_attn")):
            lines.append(f"{now}\t{now + ns}\t7\t1\t132,1,1\t256,1,1\t64\t0\t{name.replace('.', '_')}\n")
            now += ns
        now += 100000
    with open(os.environ["CATENA_TIMELINE"], "w", encoding="utf-8") as file:
        file.writelines(lines)


if sys.argv[1] == "facts":
    print(json.dumps({"gpu": os.environ.get("FAKE_GPU", "a fake GPU"), "ggml": "0"}))
elif sys.argv[1] == "race":
    for path in [argument for argument in sys.argv[4:] if argument.endswith(".txt")]:
        with open(path, encoding="utf-8") as file:
            row = file.read().split()[0]
        special = SPECIAL.get(row, "")
        if special == "abort":
            print("an assertion", file=sys.stderr, flush=True)
            os.abort()
        if special == "hang":
            time.sleep(60)
        faster = {"faster": 1.1, "slower": 0.9}.get(special, 1)
        unknown = 1 if special == "unknown" else 0
        if "CATENA_TIMELINE" in os.environ:
            write_timeline(row, faster)
        print(json.dumps({"default": [100, 101, 99], "candidate": [100 * faster, 101 * faster, 99 * faster], "rows": path,
                          "catena": [f"catena: {1 - unknown} medians of {path} decide, {unknown} are of no row", PLAN]}),
              flush=True)
elif sys.argv[1] == "make":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(sys.stdin.read())
elif SPECIAL.get("load") == "fails":
    sys.exit("llama_ab: model.gguf: libllama cannot load it: out of memory")
else:
    for name in [argument for argument in sys.argv[3:] if argument[0].isalpha() and SPECIAL.get(argument) != "silent"]:
        print(json.dumps(answer(name)), flush=True)
