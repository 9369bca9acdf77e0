"""configure ROOT LLAMA_DIR: the project of scripts/llama-bench is configured twice, as a build that was cut is."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root, llama = Path(sys.argv[1]), Path(sys.argv[2])
with tempfile.TemporaryDirectory() as folder:
    tree = Path(folder) / "tree"
    for part in "ggml", "src", "include":
        shutil.copytree(llama / part, tree / part)
    subprocess.run([root / "integrations/llama.cpp/apply", tree], check=True)
    for _ in range(2):
        subprocess.run(["cmake", "-G", "Ninja", "-S", root / "bench/llama", "-B", Path(folder) / "build",
                        f"-DLLAMA_TREE={tree}", "-DCMAKE_CUDA_ARCHITECTURES=90-real"], check=True)
