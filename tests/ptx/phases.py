"""phases.py NVCC INCLUDE SOURCE.cu PTX...: no clock is read in the PTX of the build; with CATENA_PHASES the kernels of
SOURCE read both clocks, at each phase, and the file compiles whole, with what enters it into the program."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CLOCK = re.compile(r"%(globaltimer|clock64|clock)\b")
PHASES = 7

nvcc, include, source, *files = sys.argv[1:]
assert files, "no PTX is named"
wrong = [f"{file} reads a clock" for file in files if CLOCK.search(Path(file).read_text())]
with tempfile.TemporaryDirectory() as folder:
    made = Path(folder) / "timed.o"
    subprocess.run([nvcc, "-std=c++20", "-O3", "-DNDEBUG", "-DCATENA_PHASES=1", "-arch=sm_90a", f"-I{include}", "--keep",
                    "--keep-dir", folder, "-c", "-o", str(made), source], check=True)
    kernels = [kernel for ptx in Path(folder).glob("*.ptx") for kernel in ptx.read_text().split(".entry ")[1:]]
for kernel in kernels:
    name = kernel.split("(")[0]
    for clock in "globaltimer", "clock64":
        if (found := len(re.findall(rf"%{clock}\b", kernel))) < PHASES:
            wrong.append(f"with CATENA_PHASES {name} reads %{clock} {found} times: a phase is missing")
print(f"{len(files)} files read no clock, {len(kernels)} kernels with CATENA_PHASES read both", *wrong, sep="\n")
sys.exit(bool(wrong) or not kernels)
