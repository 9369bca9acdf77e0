#!/usr/bin/env python3
"""torch_peer.py OUT: norm and fp8 quantizing (e4m3, a scale per token) by torch.compile and by a Triton kernel, as a
JSON file: microseconds of one call inside a CUDA graph of 64 calls whose inputs rotate, beyond the L2 cache where 64
are enough for that. Needs PyTorch with CUDA, and Triton, which comes with it."""
import json
import statistics
import sys
import time

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    sys.exit(f"torch_peer.py needs PyTorch with CUDA and Triton ({error}): python3 -m pip install torch")

SHAPES = [(rows, k) for k in (2048, 4096, 8192) for rows in (1, 4, 64, 512, 2048)]
EPS, MOST = 1e-6, 448.0
LAUNCHES, ROUNDS = 64, 21


def plain(x, weight):
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight
    scale = (y.abs().amax(-1, keepdim=True) / MOST).clamp(min=1e-12)
    return (y / scale).to(torch.float8_e4m3fn), scale


@triton.jit
def norm_quantize(x, weight, out, scales, k: tl.constexpr, eps: tl.constexpr, most: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < k
    value = tl.load(x + row * k + at, mask=inside, other=0.0)
    value = value * tl.rsqrt(tl.sum(value * value) / k + eps) * tl.load(weight + at, mask=inside, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(value)) / most, 1e-12)
    tl.store(out + row * k + at, (value / scale).to(tl.float8e4nv), mask=inside)
    tl.store(scales + row, scale)


def by_triton(x, weight):
    rows, k = x.shape
    out = torch.empty_like(x, dtype=torch.float8_e4m3fn)
    scales = torch.empty(rows, 1, device=x.device)
    norm_quantize[(rows,)](x, weight, out, scales, k, EPS, MOST, triton.next_power_of_2(k), num_warps=8)
    return out, scales


def graph_of(call, inputs):
    """A graph of LAUNCHES calls, the inputs in turn."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for x in inputs[:3]:
            call(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(LAUNCHES):
            call(inputs[i % len(inputs)])
    return graph


def sample_us(graph):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    return 1e3 * begin.elapsed_time(end) / LAUNCHES


def error(found, expected):
    """NMSE of the values that were quantized."""
    is_, should = (q.double() * s.double() for q, s in (found, expected))
    return float((is_ - should).square().sum() / should.square().sum())


def main(path):
    if not torch.cuda.is_available():
        sys.exit(f"torch_peer.py: PyTorch {torch.__version__} finds no GPU to time: run it on a machine with one")
    gpu = torch.cuda.get_device_properties(0)
    torch.manual_seed(1)
    compiled = torch.compile(plain, dynamic=False)
    cases = []
    for rows, k in SHAPES:
        sets = max(2, min(LAUNCHES, -(-4 * gpu.L2_cache_size // (4 * rows * k))))
        inputs = [torch.randn(rows, k, device="cuda") for _ in range(sets)]
        weight = 1 + torch.randn(k, device="cuda") / 4
        torch._dynamo.reset()  # beyond 8 shapes of a function it runs them uncompiled
        truth = plain(inputs[0].double(), weight.double())
        calls = {"torch.compile": lambda x, w=weight: compiled(x, w), "Triton": lambda x, w=weight: by_triton(x, w)}
        case = {"rows": rows, "k": k, "sets": sets, "bytes": rows * (5 * k + 4) + 4 * k, "times": {}, "nmse": {}}
        graphs = {}
        for name, call in calls.items():
            case["nmse"][name] = error(call(inputs[0]), truth)
            if not case["nmse"][name] <= 1e-3:
                sys.exit(f"{name} computes something else at {rows} x {k}: NMSE {case['nmse'][name]}")
            graphs[name] = graph_of(call, inputs)
        samples = {name: [] for name in graphs}
        for _ in range(ROUNDS):
            for name, graph in graphs.items():
                samples[name].append(sample_us(graph))
        for name, us in samples.items():
            quarter, median, three = statistics.quantiles(us, n=4)
            case["times"][name] = {"median_us": median, "spread": (three - quarter) / 2 / median, "samples": len(us)}
            print(f"{rows:5} x {k:5}  {name:14} {median:8.2f} us  {case['bytes'] / median / 1e3:7.0f} GB/s")
        cases.append(case)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "catena torch peer 1", "gpu": gpu.name, "cuda": torch.version.cuda, "torch": torch.__version__,
                   "triton": triton.__version__, "date": time.strftime("%Y-%m-%d", time.gmtime()), "cases": cases}, file,
                  indent=1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
