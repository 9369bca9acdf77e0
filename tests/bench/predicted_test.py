"""predicted_test.py PROGRAM: what `bench_static predicted` writes is a record of every chain and layer, marked as predicted."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = sys.argv.pop()
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
from records import OURS, Record, label


class Predicted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "predicted.json")
        self.done = self.run_it()

    def tearDown(self):
        self.folder.cleanup()

    def run_it(self):
        return subprocess.run([PROGRAM, "predicted", "--columns", "1", "--out", self.path], text=True, capture_output=True, check=False)

    def test_every_case_has_a_time_that_no_launch_of_its_own_beats(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        record = Record(self.path)
        self.assertEqual(record.not_measured, "predicted by the cost model")
        self.assertEqual({c["kind"] for c in record.cases}, {"chain", "layer"})
        self.assertEqual(len({c["model"] for c in record.cases}), 9)
        for case in record.cases:
            with self.subTest(label(case)):
                self.assertEqual(case["missing"], {})
                node, rate = (case["floor"][f] for f in ("empty_node_us", "read_bytes_per_us"))
                self.assertGreater(case["times"][OURS]["median_us"], case["launches"] * node + case["bytes"] / rate)
                self.assertEqual(case["launches"], len(case["instances"]))

    def test_a_record_that_is_there_is_not_touched(self):
        before = os.stat(self.path).st_mtime_ns
        again = self.run_it()
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("--out", again.stderr + again.stdout)
        self.assertEqual(os.stat(self.path).st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
