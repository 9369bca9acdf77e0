"""What the tests of scripts/llama-bench share: a folder for its results, and a program that answers at once."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(sys.argv[1])
FAKE = Path(__file__).resolve().parent / "fake.py"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/llama"))
import run
from ab_record import Problem

SPEED = ("pp16", "tg4", "tg4x4")
STAGES = (*SPEED, "logits8", "steps2", "steps2x4")


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name) / "out"
        self.files = Path(self.folder.name) / "files"

    def tearDown(self):
        self.folder.cleanup()

    def arguments(self, *words, program=FAKE):
        return [str(self.out), *words, "--rehearse", "--program", str(program), "--files", str(self.files)]

    def call(self, *words, program=FAKE, special=None, gpu="a fake GPU"):
        """The exit code and what was printed."""
        said = io.StringIO()
        environment = {"FAKE": json.dumps(special or {}), "FAKE_GPU": gpu}
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(said), \
                mock.patch.object(sys, "argv", ["llama-bench", *self.arguments(*words, program=program)]):
            return run.main(), said.getvalue()

    def refused(self, *words, why, program=FAKE):
        with self.assertRaises(Problem) as caught:
            self.call(*words, program=program)
        for part in why:
            self.assertIn(part, str(caught.exception))

    def record(self):
        return json.loads((self.out / "record.json").read_text())

    def stages(self, model="qwen3-8b"):
        return self.record()["models"][model]["stages"]

    def page(self):
        return (self.out / "page.html").read_text()

    def table(self):
        return (self.out / "table.md").read_text()
