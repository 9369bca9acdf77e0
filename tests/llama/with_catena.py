"""A copy of ggml's sources with Catena in them, and the options that compile them."""
import shutil
import subprocess
from pathlib import Path

CATENA = Path(__file__).resolve().parents[2]
OPTIONS = ["-DGGML_CUDA_CATENA", "-DCATENA_HAS_SM_90=1", "-DCATENA_HAS_KERNELS=1", "-DCATENA_HAS_KERNELS_SM_90=1",
           f"-I{CATENA / 'include'}"]


def copied(ggml, folder):
    """The folder ggml in `folder`, which has what `apply` touches and what that includes."""
    copy = Path(folder) / "ggml"
    for part in ("src", "include"):
        shutil.copytree(ggml / part, copy / part)
    shutil.copy2(ggml / "CMakeLists.txt", copy)
    subprocess.run([CATENA / "integrations/llama.cpp/apply", folder], check=True)
    return copy
