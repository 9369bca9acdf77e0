"""configure INTEGRATION LLAMA_DIR LLAMA_BIN [NVCC]: the plug-in's own CMake project, on what is there and on what is
wrong. Nothing is built."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT, LLAMA, BINARIES, *NVCC = sys.argv[1:]


class Configure(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def configured(self, **options):
        given = {"LLAMA_DIR": LLAMA, "LLAMA_BIN": BINARIES, "CMAKE_CUDA_ARCHITECTURES": "90", **options}
        if NVCC:
            given["CMAKE_CUDA_COMPILER"] = NVCC[0]
        return subprocess.run(["cmake", "-S", PROJECT, "-B", self.root / "build",
                               *[f"-D{name}={value}" for name, value in given.items()]],
                              capture_output=True, text=True)

    def refused(self, *sentences, **options):
        done = self.configured(**options)
        self.assertNotEqual(done.returncode, 0)
        said = " ".join(done.stderr.split())
        for sentence in sentences:
            self.assertIn(sentence, said)

    def test_what_is_right(self):
        if not NVCC:
            self.skipTest("needs nvcc")
        done = self.configured()
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_binaries(self):
        self.refused("name the folder with llama.cpp's binaries", LLAMA_BIN=self.root)

    def test_no_sources(self):
        self.refused("set LLAMA_DIR to llama.cpp's sources", LLAMA_DIR=self.root)

    def test_a_ggml_that_is_too_old(self):
        ggml = self.root / "ggml"
        (ggml / "src").mkdir(parents=True)
        (ggml / "src/ggml-backend-impl.h").touch()
        (ggml / "CMakeLists.txt").write_text("set(GGML_VERSION_MAJOR 0)\nset(GGML_VERSION_MINOR 20)\n"
                                             "set(GGML_VERSION_PATCH 1)\n")
        self.refused("is '0.20.1', and the plug-in needs 0.25", LLAMA_DIR=self.root)

    def test_a_gpu_that_catena_does_not_know(self):
        self.refused("Catena has no kernels for '61'", "No instance set serves 61 (the nearest that one serves is 75)",
                     CMAKE_CUDA_ARCHITECTURES="61")

    def test_a_gpu_that_has_no_set_of_its_own(self):
        if not NVCC:
            self.skipTest("needs nvcc")
        done = self.configured(CMAKE_CUDA_ARCHITECTURES="87;121a")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Kernels of sm_86: compiled to 87-real", done.stdout)
        self.assertIn("Kernels of sm_120: compiled to 120-real", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
