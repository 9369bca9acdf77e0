#!/usr/bin/env python3
"""readme.py ROOT CATENA: what README.md shows is true.

Its C++ and CMake are examples/small_engine, each line of output under `$ catena ...` is one that the command CATENA
prints, its launches are those that the command counts, and its sets are those that exist.
"""
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

root, catena = Path(sys.argv[1]), sys.argv[2]
readme = (root / "README.md").read_text()
wrong = []


def prints(arguments):
    """What the command prints, line by line."""
    return subprocess.run([catena, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)\n```$", readme, re.S | re.M)


for language, name in ("cpp", "small_engine.cpp"), ("cmake", "CMakeLists.txt"):
    file = root / "examples/small_engine" / name
    if blocks(language) != [file.read_text().rstrip("\n")]:
        wrong.append(f"the block of {language} is not {file.relative_to(root)}: copy the file into it")

asked = 0
for block in blocks("console"):
    said = None
    for line in block.splitlines():
        if line.startswith("$ "):
            asked += line.startswith("$ catena ")
            said = prints(shlex.split(line[len("$ catena "):])) if line.startswith("$ catena ") else None
        elif said is not None and line not in said:
            wrong.append(f"the command does not print this line: {line}")
if asked == 0:
    wrong.append("no block shows a call of the command")

GRAPH = "tests/data/graphs/qwen3.6-35b-a3b-q4km.tg1.json.gz"
counts = [json.loads("\n".join(prints(["explain", GRAPH, "--json", *order])))["launches"]
          for order in ([], ["--optimized"])]
table = re.search(r"^\| who launches.*?\n\n", readme, re.S | re.M).group(0).replace("*", "").strip().splitlines()[2:]
for line, key in zip(table, ("per_node", "peer", "planned", "planned_engine_fused"), strict=True):
    if [int(cell) for cell in line.split("|")[2:4]] != [c[key] for c in counts]:
        wrong.append(f"launches.{key} of {GRAPH} is {[c[key] for c in counts]}, not: {line}")

sets = re.findall(r"^\| (sm_\d+) \|", readme, re.M)
if sorted(sets) != sorted(folder.name for folder in (root / "instances").glob("sm_*")):
    wrong.append(f"the sets in the table of GPUs are not those of instances/: {sets}")

print("\n".join(f"README.md: {sentence}" for sentence in wrong))
sys.exit(bool(wrong))
