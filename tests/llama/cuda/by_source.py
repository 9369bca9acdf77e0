"""by_source BUILD BY_SOURCE DROP_IN LIBRARY...: the ggml-cuda that BUILD has compiled, with Catena in its sources, and
the same as the drop-in: what has Catena is compiled anew, and linked with BUILD's objects and these libraries."""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD, BY_SOURCE, DROP_IN, *LIBRARIES = sys.argv[1:]
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


def compiled_score(ggml):
    """The drop-in's score, for the ggml that BUILD has compiled, of whatever commit."""
    nvcc, = (Path(word) for word in shlex.split(base["command"]) if word.endswith("/nvcc"))
    version = re.search('GGML_VERSION "(.*)"', (Path(BUILD) / "ggml/src/ggml-version.h").read_text())[1]
    out = ggml.parent / "score.o"
    subprocess.run(["c++", "-std=c++17", "-O1", "-fPIC", "-DGGML_BACKEND_DL", "-DGGML_BACKEND_SHARED",
                    "-DGGML_BACKEND_BUILD", f'-DCATENA_GGML_VERSION="{version}"', '-DCATENA_GGML_COMMIT="unknown"',
                    *with_catena.OPTIONS, f"-I{ggml / 'include'}", f"-I{ggml / 'src'}",
                    f"-isystem{nvcc.parents[1] / 'include'}",
                    "-c", with_catena.CATENA / "integrations/llama.cpp/drop-in/score.cpp", "-o", out], check=True)
    return out


def link(out, files):
    subprocess.run(["c++", "-shared", "-o", out, *files, "-Wl,-z,nodelete", "-Wl,--no-undefined", *LIBRARIES],
                   check=True)


with tempfile.TemporaryDirectory() as folder:
    tree = with_catena.copied(sources, folder)
    ours = [compiled(tree, name) for name in ("ggml-cuda.cu", "catena.cu")]
    theirs = [o for o in objects.rglob("*.o") if o.name != "ggml-cuda.cu.o"]
    link(BY_SOURCE, ours + theirs)
    link(DROP_IN, [*ours, compiled_score(tree), *theirs])
