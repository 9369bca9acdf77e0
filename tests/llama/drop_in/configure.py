"""configure INTEGRATION LLAMA_DIR [NVCC]: the drop-in's CMake project, on what is there and on what is wrong. Nothing
is built but the program that asks binaries which ggml they have."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT, LLAMA, *NVCC = sys.argv[1:]
VERSION = ".".join(re.findall(r"^set\(GGML_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)\)$",
                             (Path(LLAMA) / "ggml/CMakeLists.txt").read_text(), re.MULTILINE))


def contents_and_times(folder):
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in Path(folder).rglob("*") if p.is_file()}


class Configure(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.build = self.root / "build"

    def tearDown(self):
        self.folder.cleanup()

    def configured(self, **options):
        given = {"LLAMA_DIR": LLAMA, "CMAKE_CUDA_ARCHITECTURES": "90", **options}
        given.setdefault("LLAMA_BIN", self.root / "bin" if (self.root / "bin").is_dir() else self.binaries())
        if NVCC:
            given["CMAKE_CUDA_COMPILER"] = NVCC[0]
        return subprocess.run(["cmake", "-G", "Unix Makefiles", "-S", PROJECT, "-B", self.build,
                               *[f"-D{name}={value}" for name, value in given.items()]],
                              capture_output=True, text=True)

    def accepted(self, **options):
        if not NVCC:
            self.skipTest("needs nvcc")
        done = self.configured(**options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *sentences, **options):
        done = self.configured(**options)
        self.assertNotEqual(done.returncode, 0)
        said = " ".join(done.stderr.split())
        for sentence in sentences:
            self.assertIn(sentence, said)

    def sources(self, version=VERSION):
        """What the project reads before it copies: files of ggml as they are, of another version."""
        ggml = self.root / "llama.cpp/ggml"
        (ggml / "src/ggml-cuda").mkdir(parents=True)
        (ggml / "src/ggml-cuda/ggml-cuda.cu").write_text("no anchors\n")
        major, minor, patch = version.split(".")
        (ggml / "CMakeLists.txt").write_text(f"set(GGML_VERSION_MAJOR {major})\nset(GGML_VERSION_MINOR {minor})\n"
                                             f"set(GGML_VERSION_PATCH {patch})\n")
        return ggml.parent

    def commits(self, folder):
        """Makes the folder a repository; its commit."""
        git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c"]
        for words in ["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]:
            subprocess.run([*git, *words], check=True)
        asked = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
        return asked.stdout.strip()

    def binaries(self, version=VERSION, commit="unknown", loads=True):
        """A folder with a libggml-base.so of this version and commit, and with a backend."""
        folder = self.root / "bin"
        folder.mkdir()
        base = f'const char* ggml_version(void) {{ return "{version}"; }}\n' \
               f'const char* ggml_commit(void) {{ return "{commit}"; }}\n'
        backend = "void ggml_backend_init(void) {}\n" if loads else "void ggml_backend_cpu_reg(void) {}\n"
        for name, text in ("base", base), ("cpu-haswell", backend):
            subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", folder / f"libggml-{name}.so"],
                           input=text, text=True, check=True)
        return folder

    def test_what_is_right(self):
        before = contents_and_times(LLAMA)
        said = self.accepted(CMAKE_EXPORT_COMPILE_COMMANDS="ON")
        self.assertIn("Kernels of sm_90: compiled to 90a-real", said)
        self.assertEqual(contents_and_times(LLAMA), before)
        commands = {Path(entry["file"]).name: entry["command"]
                    for entry in json.loads((self.build / "compile_commands.json").read_text())}
        for source in "ggml-cuda.cu", "catena.cu":
            self.assertIn("-DGGML_CUDA_CATENA", commands[source])
            self.assertIn("-DGGML_CUDA_USE_GRAPHS", commands[source])
        self.assertIn("CATENA_GGML_VERSION", commands["score.cpp"])
        self.assertIn("-DGGML_BACKEND_DL", commands["score.cpp"])
        self.assertNotIn("ggml-cpu.cpp", commands)
        linked = next(self.build.rglob("ggml-cuda.dir/link.txt")).read_text()
        for words in "libggml-cuda-catena.so", "-Wl,-z,nodelete", '-rpath,"\\$ORIGIN:':
            self.assertIn(words, linked)

        # What is there stays, so that a build that was cut goes on, and what another version had goes.
        copied = contents_and_times(self.build / "llama.cpp")
        (self.build / "llama.cpp/ggml/src/ggml-cuda/stray.cu").write_text("of another version")
        self.accepted()
        self.assertEqual(contents_and_times(self.build / "llama.cpp"), copied)

    def test_no_sources(self):
        self.refused("has no ggml/src/ggml-cuda: set LLAMA_DIR to llama.cpp's sources", LLAMA_DIR=self.root)

    def test_sources_in_which_apply_finds_no_place(self):
        self.refused("apply: CMakeLists.txt: the anchor", LLAMA_DIR=self.sources(),
                     LLAMA_BIN=self.binaries())

    def test_a_ggml_that_is_too_old(self):
        self.refused("is '0.20.1', and the drop-in needs 0.25: put Catena into the sources",
                     LLAMA_DIR=self.sources("0.20.1"))

    def test_no_binaries(self):
        self.refused("name the folder with llama.cpp's binaries",
                     "If they are statically linked, they load no backends", LLAMA_BIN=self.root)

    def test_binaries_that_load_no_backends(self):
        self.refused("load no backends, since they were built without GGML_BACKEND_DL",
                     LLAMA_BIN=self.binaries(loads=False))

    def test_binaries_that_do_not_run_here(self):
        folder = self.binaries()
        (folder / "libggml-base.so").write_text("no library")
        self.refused("libggml-base.so does not say which ggml it is: configure where llama.cpp's binaries run",
                     LLAMA_BIN=folder)

    def test_binaries_of_another_version(self):
        self.refused(f"is ggml {VERSION} (unknown), and the binaries in",
                     "are 0.1.2 (8e9fd0d): check out the commit of", LLAMA_DIR=self.sources(),
                     LLAMA_BIN=self.binaries("0.1.2", "8e9fd0d"))

    def test_binaries_of_another_commit(self):
        sources = self.sources()
        commit = self.commits(sources)
        other = ("0" if commit[0] != "0" else "1") + commit[1:]
        self.refused(f"is ggml {VERSION} ({commit}), and the binaries in", f"are {VERSION} ({other}): check out",
                     LLAMA_DIR=sources, LLAMA_BIN=self.binaries(VERSION, other))

    def test_binaries_of_the_same_commit(self):  # so `apply` has its turn
        sources = self.sources()
        self.refused("apply: CMakeLists.txt: the anchor", LLAMA_DIR=sources,
                     LLAMA_BIN=self.binaries(VERSION, self.commits(sources) + "12-dirty"))

    def test_a_gpu_that_catena_does_not_know(self):
        if not NVCC:
            self.skipTest("needs nvcc")
        self.refused("Catena has no kernels for '61'", "No instance set serves 61 (the nearest that one serves is 75)",
                     CATENA_CUDA_ARCHS="61")

    def test_a_gpu_that_has_no_set_of_its_own(self):
        said = self.accepted(CMAKE_CUDA_ARCHITECTURES="87;121a")
        self.assertIn("Kernels of sm_86: compiled to 87-real", said)
        self.assertIn("Kernels of sm_120: compiled to 120-real", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
