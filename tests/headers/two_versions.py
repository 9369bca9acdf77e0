"""two_versions.py INCLUDE WORK COMPILER...: two versions of the headers share a process and not each other's tables.

Two shared objects are compiled, one with the headers as they are and one with those of "the next version", which has
another format in front of q4_0. Whoever is opened second must read its own registry, and call its own functions.
"""

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

engine = """#include "catena/runtime.hpp"
static volatile int q4_K = static_cast<int>(catena::format::q4_K);
extern "C" const char* by_table() { return catena::format_registry[q4_K].name; }
extern "C" const char* by_function() { return catena::name(static_cast<catena::format>(q4_K)); }
extern "C" const char* version() { return catena::headers_version; }
"""


def edit(file, before, after):
    text = file.read_text()
    assert before in text, f"{file} has no {before}"
    file.write_text(text.replace(before, after, 1))


def opened_in_turn(libraries, mode):
    """What each library says of q4_K, opened in one process."""
    script = "import ctypes,sys\nfor path in sys.argv[2:]:\n    it = ctypes.CDLL(path, mode=int(sys.argv[1]))\n"
    script += "    for ask in (it.by_table, it.by_function, it.version): ask.restype = ctypes.c_char_p\n"
    script += "    print(it.version().decode(), it.by_table().decode(), it.by_function().decode())\n"
    command = [sys.executable, "-c", script, str(mode), *map(str, libraries)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


include, work, *compilers = map(Path, sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
shutil.copytree(include, work / "next")
config = work / "next/catena/config.hpp"
here = re.search(r'HEADERS_VERSION "(.*)"', config.read_text()).group(1)
namespace = "v" + here.replace(".", "_")
edit(work / "next/catena/format/format.hpp", "    X(q4_0,", "    X(q9_9, 32, 40, weight) \\\n    X(q4_0,")
edit(config, f'"{here}"', '"99.0.0"')
config.write_text(re.sub(rf"\b{namespace}\b", "v99_0_0", config.read_text()))
(work / "engine.cpp").write_text(engine)

wrong = 0
for compiler in compilers:
    libraries = []
    for name, headers in (("here", include), ("next", work / "next")):
        library = work / f"{compiler.name}_{name}.so"
        subprocess.run([compiler, "-std=c++17", "-fPIC", "-shared", f"-I{headers}", work / "engine.cpp", "-o", library],
                       check=True)
        libraries.append(library)
    for order in (libraries, libraries[::-1]):
        for mode in (ctypes.RTLD_LOCAL, ctypes.RTLD_GLOBAL):
            found = opened_in_turn(order, mode)
            wanted = [w for it in order for w in (here if "here" in it.name else "99.0.0", "q4_K", "q4_K")]
            if found != wanted:
                print(f"{compiler}, opened {'globally' if mode else 'locally'}: {found}, not {wanted}")
                wrong += 1
print(f"{wrong} wrong")
sys.exit(wrong > 0)
