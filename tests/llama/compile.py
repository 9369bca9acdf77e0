"""compile CATENA LLAMA_DIR NVCC: puts Catena into a copy of llama.cpp and compiles, with and without it, what it touches."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CATENA, LLAMA, NVCC = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3]
OPTIONS = ["-std=c++17", "-arch=sm_90", "-use_fast_math", "-extended-lambda", "-DGGML_CUDA_USE_GRAPHS", "-DNDEBUG",
           "-D_GNU_SOURCE", "-DGGML_SCHED_MAX_COPIES=4", "-Xcompiler", "-Wall,-Wextra,-fPIC", "-Xcompiler",
           "-Wmissing-declarations,-Wmissing-noreturn,-Wcast-qual,-Wno-unused-function,-Wno-array-bounds"]
WITH_CATENA = ["-DGGML_CUDA_CATENA", "-DCATENA_HAS_SM_90=1", "-DCATENA_HAS_KERNELS=1", "-DCATENA_HAS_KERNELS_SM_90=1",
               "-DCATENA_SEPARATE_COMPILATION", f"-I{CATENA / 'include'}"]


def compiled(ggml, source, options):
    done = subprocess.run([NVCC, *OPTIONS, *options, "-I..", "-I../../include", "-I.", "-c", source, "-o", "/dev/null"],
                          cwd=ggml / "src/ggml-cuda", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source} does not compile:\n{done.stderr[-4000:]}")
    of_ours = [line for line in done.stderr.splitlines() if "warning" in line and "catena" in line]
    if of_ours:
        sys.exit("\n".join(of_ours))


with tempfile.TemporaryDirectory() as folder:
    ggml = Path(folder) / "ggml"
    for part in ("src", "include"):
        shutil.copytree(LLAMA / "ggml" / part, ggml / part)
    shutil.copy2(LLAMA / "ggml/CMakeLists.txt", ggml)
    subprocess.run([CATENA / "integrations/llama.cpp/apply", folder], check=True)
    compiled(ggml, "catena.cu", WITH_CATENA)
    compiled(ggml, "ggml-cuda.cu", WITH_CATENA)
    compiled(ggml, "ggml-cuda.cu", [])
