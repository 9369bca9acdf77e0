"""compile LLAMA_DIR NVCC: puts Catena into a copy of llama.cpp and compiles, with and without it, what it touches."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import with_catena

LLAMA, NVCC = Path(sys.argv[1]), sys.argv[2]
OPTIONS = ["-std=c++17", "-arch=sm_90", "-use_fast_math", "-extended-lambda", "-DGGML_CUDA_USE_GRAPHS", "-DNDEBUG",
           "-D_GNU_SOURCE", "-DGGML_SCHED_MAX_COPIES=4", "-Xcompiler", "-Wall,-Wextra,-fPIC", "-Xcompiler",
           "-Wmissing-declarations,-Wmissing-noreturn,-Wcast-qual,-Wno-unused-function,-Wno-array-bounds"]


def compiled(ggml, source, options):
    done = subprocess.run([NVCC, *OPTIONS, *options, "-I..", "-I../../include", "-I.", "-c", source, "-o", "/dev/null"],
                          cwd=ggml / "src/ggml-cuda", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source} does not compile:\n{done.stderr[-4000:]}")
    of_ours = [line for line in done.stderr.splitlines() if "warning" in line and "catena" in line]
    if of_ours:
        sys.exit("\n".join(of_ours))


with tempfile.TemporaryDirectory() as folder:
    ggml = with_catena.copied(LLAMA / "ggml", folder)
    compiled(ggml, "catena.cu", with_catena.OPTIONS)
    compiled(ggml, "ggml-cuda.cu", with_catena.OPTIONS)
    compiled(ggml, "ggml-cuda.cu", [])
