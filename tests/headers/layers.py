"""layers.py ROOT: no source includes one of a layer to the right of its own, none includes itself, and engines see little.

The order stands here; docs/architecture.md (Stages) tells it. A folder that is in no layer, and an
include that leads back, are refused.
"""

import re
import sys
from pathlib import Path

planning = [f"plan/{name}.hpp" for name in ("counters", "step", "explain", "observer", "sink", "options", "shared", "plan", "sentences", "detail/owned")]
planning += [f"plan/detail/{name}" for name in ("switches.hpp", "order", "find", "draft", "result")] + ["plan"]
library = ["config.hpp", "bits.hpp", "arch", "format", "error", "chain", "match", "exec", "kernel", "pick", *planning,
           "launch", "engine", "runtime.hpp", "planning.hpp", "catena.hpp", "instances"]
programs = ["tools/predict", "tools/text", "tools/shape", "evidence", "generators", "measure", "tools/json", "tools/measured", "tools/tune", "tools/catena", "bench"]
layers = [f"include/catena/{name}" for name in library] + programs
sources = {".hpp", ".cpp", ".cuh", ".cu"}
include = re.compile(r'\s*#\s*include "([^"]+)"')


def layer_of(path):
    """The number of the layer that holds a path below ROOT; None if there is none."""
    inside = [i for i, layer in enumerate(layers) if path == layer or path.startswith(layer + "/")]
    return inside[0] if inside else None


root = Path(sys.argv[1])
files = sorted(p.relative_to(root).as_posix() for top in ("include/catena", "evidence", "generators", "measure", "tools", "bench")
               for p in (root / top).rglob("*") if p.suffix in sources)
named = {}  # what targets find by name alone: their own folder and those of the layers they link
for file in files:
    if not file.startswith("include/"):
        named.setdefault(Path(file).name, []).append(file)


def target_of(file, text):
    """The file below ROOT that `#include "text"` in `file` reads; None for what is not Catena's."""
    for found in (Path(file).parent / text, Path("include") / text):
        if (root / found).is_file():
            return found.as_posix()
    candidates = named.get(text, [])
    if len(candidates) > 1:
        sys.exit(f"{file}: \"{text}\" may be any of {', '.join(candidates)}: give one of them another name")
    if text.startswith("catena/") and not candidates:
        sys.exit(f"{file}: there is no include/{text}")
    return candidates[0] if candidates else None


arrows, bad = 0, []
includes = {}  # of each file, Catena's
for file in files:
    mine = layer_of(file)
    if mine is None:
        bad.append(f"{file}: its folder is in no layer: give it a place in tests/headers/layers.py")
        continue
    for number, line in enumerate((root / file).read_text().splitlines(), 1):
        found = include.match(line)
        target = target_of(file, found[1]) if found else None
        other = layer_of(target) if target else None
        if target:
            includes.setdefault(file, []).append(target)
        if other is None or other == mine:
            continue
        arrows += 1
        if other > mine:
            bad.append(f"{file}:{number}: {layers[mine]} includes {target}, which stands to the right of it: move what "
                       f"both need into {layers[mine]} or further left")


def circle(file, above, done):
    """The files that lead from `file` back to one that includes it; None if there are none."""
    if file in above:
        return above[above.index(file):] + [file]
    if file in done:
        return None
    for target in includes.get(file, []):
        if found := circle(target, above + [file], done):
            return found
    done.add(file)
    return None


done = set()
for file in files:
    if found := circle(file, [], done):
        bad.append(f"{' includes '.join(found)}: give what both need a header of its own")
        break


def closure(file, seen):
    """`seen` with the files of Catena that `file` reads, itself among them."""
    if file not in seen:
        seen.add(file)
        for target in includes.get(file, []):
            closure(target, seen)
    return seen


read = closure("include/catena/runtime.hpp", set())
if len(read) > 30:
    bad.append(f"include/catena/runtime.hpp reads {len(read)} headers, more than 30: let it declare, and planning.hpp define")
if hidden := sorted(file for file in read if "/detail/" in file):
    bad.append(f"include/catena/runtime.hpp reads {', '.join(hidden)}: an engine should not see these")
print(f"runtime.hpp reads {len(read)} headers of {sum(file.startswith('include/') for file in files)}")
print(f"{len(files)} files, {arrows} includes from one layer of another, {len(bad)} wrong")
print("\n".join(bad))
sys.exit(1 if bad or arrows < 100 else 0)
