"""by_source BUILD OUT LIBRARY...: the ggml-cuda that BUILD has compiled, with Catena in its sources: two files are
compiled anew, and linked with BUILD's objects and these libraries."""
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD, OUT, *LIBRARIES = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import with_catena

base, = (entry for entry in json.loads((Path(BUILD) / "compile_commands.json").read_text())
         if entry["file"].endswith("/ggml-cuda.cu"))
sources = Path(base["file"]).parents[2]
objects = Path(BUILD) / "ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir"


def compiled(ggml, name):
    """Compiles a file as BUILD has compiled ggml-cuda.cu."""
    words = shlex.split(base["command"].replace(str(sources), str(ggml)))
    for option in "-c", "-o":
        at = words.index(option)
        del words[at:at + 2]
    out = ggml.parent / f"{name}.o"
    subprocess.run([*words, *with_catena.OPTIONS, "-c", ggml / "src/ggml-cuda" / name, "-o", out], check=True)
    return out


with tempfile.TemporaryDirectory() as folder:
    tree = with_catena.copied(sources, folder)
    ours = [compiled(tree, name) for name in ("ggml-cuda.cu", "catena.cu")]
    theirs = [o for o in objects.rglob("*.o") if o.name != "ggml-cuda.cu.o"]
    subprocess.run(["c++", "-shared", "-o", OUT, *ours, *theirs, "-Wl,--no-undefined", *LIBRARIES], check=True)
