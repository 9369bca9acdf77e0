"""stock BINARIES DROP_IN STAND_INS MODEL: llama.cpp's own programs load the drop-in that lies beside them, and use the
GPU that runs nothing by Catena's launches."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARIES, DROP_IN, STAND_INS, MODEL = sys.argv[1:]


def has_driver():
    try:
        return ctypes.CDLL("libcuda.so.1") is not None
    except OSError:
        return False


class Stock(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        shutil.copytree(BINARIES, self.root / "bin", symlinks=True)
        shutil.copy(DROP_IN, self.root / "bin/libggml-cuda-catena.so")

    def tearDown(self):
        self.folder.cleanup()

    def said(self, program, *options, **variables):
        """What a program writes, where CUDA's libraries are the stand-ins. It may load backends from where it runs."""
        own = {"LD_LIBRARY_PATH": STAND_INS, "STAND_IN_LOG": str(self.root / "launches"), **variables}
        done = subprocess.run([self.root / "bin" / program, *options], cwd=self.root, env={**os.environ, **own},
                              text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=500)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        return done.stdout

    def launches(self):
        *kernels, refused = (self.root / "launches").read_text().splitlines()
        self.assertEqual(refused, "refused: ")
        return kernels

    def decodes_with_catena(self, said):
        for line in ("catena: device 0 uses the kernels of sm_90",
                     r"catena sm_90: [1-9]\d* of \d+ quantized matmuls in [1-9]\d* steps",
                     r"catena: [1-9]\d* walks by [1-9]\d* plans: [1-9]\d* nodes done"):
            self.assertTrue(re.search(line, said), f"'{line}' is not in {said}")
        kernels = self.launches()
        self.assertTrue(any(k.startswith("catena_matvec") for k in kernels))
        self.assertTrue(any(not k.startswith("catena_") for k in kernels))

    def test_llama_bench_lists_the_gpu(self):
        self.assertIn("CUDA0: NVIDIA H100 80GB HBM3", self.said("llama-bench", "--list-devices"))

    def test_llama_bench(self):
        said = self.said("llama-bench", "-m", MODEL, "-ngl", "99", "-p", "8", "-n", "4", "-r", "1", "-v",
                         CATENA_LOG="summary", CATENA_VERIFY="1")
        self.decodes_with_catena(said)
        self.assertIn("/bin/libggml-cuda-catena.so", said)
        for load in "pp8", "tg4":
            self.assertRegex(said, rf"\| CUDA .*\| *{load} \|")

    def test_llama_cli(self):
        self.decodes_with_catena(self.said("llama-cli", "-m", MODEL, "-ngl", "99", "-c", "256", "-n", "4", "-p", "abc",
                                           "--single-turn", "-v", CATENA_LOG="summary", CATENA_VERIFY="1"))

    def test_switched_off(self):
        self.said("llama-bench", "-m", MODEL, "-ngl", "99", "-p", "8", "-n", "4", "-r", "1", GGML_CUDA_CATENA="0")
        self.assertFalse(any(k.startswith("catena_") for k in self.launches()))

    def test_without_a_driver(self):
        if has_driver():
            self.skipTest("there is a driver")
        cuda = self.root / "cuda"
        shutil.copytree(STAND_INS, cuda, symlinks=True)
        for driver in cuda.glob("libcuda.so*"):
            driver.unlink()
        said = self.said("llama-bench", "-m", MODEL, "-p", "8", "-n", "4", "-r", "1", "-t", "1",
                         LD_LIBRARY_PATH=str(cuda))
        self.assertRegex(said, r"\| CPU .*\| *tg4 \|")

    def test_taken_away(self):
        (self.root / "bin/libggml-cuda-catena.so").unlink()
        self.assertNotIn("CUDA0", self.said("llama-bench", "--list-devices"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
