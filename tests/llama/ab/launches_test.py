"""launches_test ROOT CATENA: timelines of a model's walks become the record that `catena explain --measured` reads."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, CATENA = Path(sys.argv[1]), sys.argv[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/llama"))
import run  # which adds bench to the path
import launches
import timeline
import walks
from models import Model


class Launches(unittest.TestCase):
    GRAPH = ROOT / "tests/data/graphs/qwen3-8b-q4km.tg1.json.gz"
    RECORD = {"simulated": True, "models": {"qwen3-8b": {"stages": {"walk2": {}, "walk2x4": {}}}},
              "provenance": {"gpu": "a GPU", "driver, highest clocks": "1.2, 3 MHz", "cuda": "13", "catena": "abc"}}

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name)
        (self.out / "timelines").mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def told(self, *words):
        return subprocess.run([CATENA, *map(str, words)], capture_output=True, text=True, check=True).stdout

    def kept(self, instances):
        """A timeline of six steps of these launches, 2 us each."""
        kernels = [timeline.Kernel(1000000 * step + 2000 * i, 1000000 * step + 2000 * (i + 1), 7, 0,
                                   ("1,1,1", "32,1,1", 16, 0, launches.symbol(instance)))
                   for step in range(6) for i, instance in enumerate(instances)]
        timeline.write(self.out / "timelines/qwen3-8b.walk2.json.gz", kernels, {})

    def test_walks_become_a_record_that_explain_reads(self):
        steps = json.loads(self.told("explain", self.GRAPH, "--arch", "sm_90", "--optimized", "--json"))["steps"]
        self.kept([s["instance"] for s in sorted(steps, key=lambda s: s["launch_at"])])
        self.assertEqual(walks.write_launches(self.out, self.RECORD, [Model("qwen3-8b")], CATENA), [])
        said = self.told("explain", self.GRAPH, "--measured", self.out / "launches.json.gz", "--json")
        measured = json.loads(said)["measured"]
        self.assertEqual((measured["gpu"], measured["walk"]["us"]), ("a GPU", 2 * len(steps)), measured)

    def test_a_walk_of_another_plan_is_told(self):
        self.kept(["matvec.q4_K.t1.sm_90"] * 120)
        said = walks.write_launches(self.out, self.RECORD, [Model("qwen3-8b")], CATENA)
        self.assertEqual(len(said), 1)
        self.assertIn("qwen3-8b walk2: not in launches.json.gz: launch 0 of Catena is catena_matvec_q4_K_t1_sm_90, and the "
                      "plan has catena_", said[0])
        self.assertFalse((self.out / "launches.json.gz").exists())

    def test_a_command_that_is_not_there_is_told(self):
        self.kept(["matvec.q4_K.t1.sm_90"] * 120)
        said = walks.write_launches(self.out, self.RECORD, [Model("qwen3-8b")], "no_such_command")
        self.assertIn("no_such_command cannot be run: No such file or directory", said[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
