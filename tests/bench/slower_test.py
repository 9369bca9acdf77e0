"""What is slower than records: against those in bench/results/, which say what the H100 did, and races that nobody ran."""
import copy
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
import slower
import walk_tuning

H100 = "NVIDIA H100 80GB HBM3"


class Steps(unittest.TestCase):
    """Tokens a second and kinds of kernels."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name)
        (steps,) = slower.RESULTS.glob("steps.*.json")
        self.steps = json.loads(steps.read_text())
        self.steps["provenance"]["gpu"] = "NVIDIA H100 80GB HBM3"
        (speeds,) = slower.RESULTS.glob("llama.h100.*.json")
        self.speeds = json.loads(speeds.read_text())

    def tearDown(self):
        self.folder.cleanup()

    def report(self, speeds=None, steps=None):
        (self.out / "record.json").write_text(json.dumps(speeds or self.speeds))
        (self.out / "steps.json").write_text(json.dumps(steps or self.steps))
        lines, any_slower = slower.report(self.out)
        return "\n".join(lines), any_slower

    def step(self, record):
        return next(s for s in record["steps"] if (s["model"], s["sequences"], s["catena"]) == ("qwen3-8b", 1, True))

    def test_the_same_is_not_slower(self):
        said, any_slower = self.report()
        self.assertFalse(any_slower, said)
        self.assertRegex(said, r"slower than bench/results/llama.h100.*: 0\nslower than bench/results/steps.*: 0")

    def test_fewer_tokens_a_second_are_slower(self):
        changed = copy.deepcopy(self.speeds)
        stage = changed["models"]["qwen3-8b"]["stages"]["tg128"]
        stage["on"] = [0.9 * speed for speed in stage["on"]]
        said, any_slower = self.report(speeds=changed)
        self.assertTrue(any_slower)
        self.assertRegex(said, r"\+11.1 % qwen3-8b tg128: 37\d.\d -> 33\d.\d tokens a second with Catena, (\S+) -> \1 w")

    def test_a_kind_of_kernels_that_takes_longer_is_named(self):
        changed = copy.deepcopy(self.steps)
        self.step(changed)["kinds"]["set_rows"] = [60, 40]
        said, any_slower = self.report(steps=changed)
        self.assertTrue(any_slower)
        self.assertIn("+39.5 % qwen3-8b, 1 a step, set_rows: 43 -> 60 us, 36 -> 40 kernels", said)

    def test_a_new_kind_of_kernels_is_named(self):
        changed = copy.deepcopy(self.steps)
        self.step(changed)["kinds"]["quantize"] = [20, 3]
        self.assertIn("new qwen3-8b, 1 a step, quantize: 0 -> 20 us", self.report(steps=changed)[0])

    def test_another_gpu_has_nothing_to_compare_with(self):
        changed = copy.deepcopy(self.speeds)
        changed["provenance"]["gpu"] = "NVIDIA B200"
        self.assertIn("no llama.*.json of this GPU (NVIDIA B200): nothing to compare", self.report(speeds=changed)[0])


class Phases(unittest.TestCase):
    """Time stamps inside launches."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name)
        (record,) = slower.RESULTS.glob("phases.h100.*.json")
        self.record = json.loads(record.read_text())
        self.walk = self.record["walks"][0]
        self.assertEqual((self.walk["model"], self.walk["sequences"]), ("qwen3-8b", 1))
        (self.gate,) = (kind for kind in self.walk["kinds"] if kind["shape"] == "4096x12288" and kind["threads"] == 512)

    def tearDown(self):
        self.folder.cleanup()

    def report(self):
        (self.out / "phases.json").write_text(json.dumps(self.record))
        lines, any_slower = slower.report(self.out)
        return "\n".join(lines), any_slower

    def test_the_same_is_not_slower(self):
        said, any_slower = self.report()
        self.assertFalse(any_slower)
        self.assertRegex(said, r"^slower than bench/results/phases.h100.*: 0$")

    def test_a_longer_phase_is_named_and_a_shorter_one_not(self):
        self.gate["us"]["products"][0] += 3
        self.gate["us"]["columns"][0] -= 3
        said, any_slower = self.report()
        self.assertTrue(any_slower)
        self.assertRegex(said, r": 1\n  \+21.7 % qwen3-8b, 1 a step, 35 x 4096x12288, products: 13.84 -> 16.84 us, "
                               r"catena_matvec_q4_K_t512_\w+_sm_90$")

    def test_the_worst_comes_first(self):
        for phase in "columns", "products":
            self.gate["us"][phase][0] += 2
        said = self.report()[0]
        self.assertLess(said.index("columns: 4.41 -> 6.41"), said.index("products: 13.84 -> 15.84"))

    def test_what_lies_within_the_noise_is_not_slower(self):
        self.gate["us"]["end"][0] += 0.29  # microseconds
        self.gate["us"]["after_wait"][0] *= 1.04
        self.gate["us"]["wait"] = [2, 5]  # the launches of the kind differ by more than the change
        self.assertFalse(self.report()[1])

    def test_a_launch_of_another_kernel_is_compared_by_its_place(self):
        self.gate["kernel"] = "catena_matvec_new_sm_90"
        self.gate["us"]["end"][0] += 1
        self.assertRegex(self.report()[0], r"end: 1.30 -> 2.30 us, catena_matvec_new_sm_90, then catena_matvec_q4_K_t512_")

    def test_a_launch_of_another_shape_is_not_compared(self):
        self.gate["shape"] = "4096x24576"
        self.gate["us"]["end"][0] += 1
        said, any_slower = self.report()
        self.assertFalse(any_slower)
        self.assertIn("not compared: qwen3-8b, 1 a step: catena_matvec_q4_K_t512_r2_c1_p4096_bulk2_smem_deferred_sm_90 "
                      "4096x24576: these launches were 4096x12288", said)

    def test_a_walk_of_fewer_launches_is_not_compared(self):
        self.walk["kinds"].remove(self.gate)
        self.walk["kinds"][0]["us"]["end"][0] += 1
        said, any_slower = self.report()
        self.assertFalse(any_slower)
        self.assertIn("not compared: qwen3-8b, 1 a step: 145 launches then, 110 now", said)

    def test_a_walk_that_the_record_lacks_is_not_compared(self):
        self.walk["model"] = "llama-3.1-8b"
        self.assertIn("not compared: llama-3.1-8b, 1 a step: the record has no such walk", self.report()[0])

    def test_another_gpu_has_nothing_to_compare_with(self):
        self.record["provenance"]["gpu"] = "NVIDIA B200"
        self.gate["us"]["products"][0] += 3
        said, any_slower = self.report()
        self.assertFalse(any_slower)
        self.assertEqual(said, "phases.json: bench/results has no phases.*.json of this GPU (NVIDIA B200): nothing to compare "
                               "with")


class Races(unittest.TestCase):
    """Rows raced within a walk, beside the records of the walk and of an earlier race."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out, self.results = Path(self.folder.name) / "out", Path(self.folder.name) / "results"
        self.out.mkdir()
        self.results.mkdir()
        for pattern in "llama.*.json", "steps.*.json":
            for path in slower.RESULTS.glob(pattern):
                shutil.copy(path, self.results)

    def tearDown(self):
        self.folder.cleanup()

    def races(self, walk_us=2690, kernels_us=2541, gpu=H100, **rows_us):
        """A record of races of Qwen3-8B in which the walk with each row takes so long."""
        record = {"format": walk_tuning.FORMAT, "simulated": False, "provenance": {"gpu": gpu}, "models": {}}
        for row, us in rows_us.items():
            candidate = walk_tuning.Candidate(1, "q4_K 4096 x 6144, 1 column", 18, "aa", row, 5.0, 5.0)
            result = walk_tuning.judged({"default": [1e6 / walk_us] * 3, "candidate": [1e6 / us] * 3}, 1)
            parts = {"launches_us": 200, "others_us": kernels_us - 210, "gaps_us": 10}
            walk_tuning.put(record, SimpleNamespace(name="qwen3-8b"), candidate,
                            {**result, "where": {"launches": 18, "default": parts, "candidate": parts}})
        return record

    def report(self, now, earlier=None):
        (self.out / "walk_tuning.json").write_text(json.dumps(now))
        if earlier:
            (self.results / "races.h100.2026-12-01.json").write_text(json.dumps(earlier))
        lines, any_slower = slower.report(self.out, self.results)
        return "\n".join(lines), any_slower

    def test_the_walk_is_as_fast_as_the_records_and_there_is_no_earlier_race(self):
        said, any_slower = self.report(self.races(a=2700))
        self.assertFalse(any_slower, said)
        self.assertRegex(said, r"^slower than bench/results/llama.h100.\S+: 0\nslower than bench/results/steps.\S+: 0\n"
                               r"walk_tuning.json: bench/results has no races.\*.json of this GPU \(NVIDIA H100 80GB HBM3\): "
                               r"nothing to compare with$")

    def test_a_walk_slower_than_its_tokens_a_second_is_named(self):
        said, any_slower = self.report(self.races(walk_us=2900, a=2700))
        self.assertTrue(any_slower)
        self.assertRegex(said, r"llama.h100.\S+: 1\n  \+\d.\d % qwen3-8b, 1 a step, the walk with today's rows: "
                               r"26\d\d -> 2900 us")

    def test_kernels_of_a_walk_slower_than_those_of_the_step_are_named(self):
        said, any_slower = self.report(self.races(kernels_us=2700, a=2700))
        self.assertTrue(any_slower)
        self.assertRegex(said, r"steps.\S+: 1\n  \+6.3 % qwen3-8b, 1 a step, kernels of the walk with today's rows: "
                               r"2541 -> 2700 us")

    def test_a_candidate_slower_than_in_an_earlier_race_is_named_and_a_faster_one_not(self):
        said, any_slower = self.report(self.races(a=2800, b=2600, c=2720), self.races(a=2700, b=2700, c=2700))
        self.assertTrue(any_slower)
        self.assertRegex(said, r"slower than bench/results/races.h100.2026-12-01.json: 1\n  \+3.7 % qwen3-8b, 1 a step, "
                               r"q4_K 4096 x 6144, 1 column, the walk with a: 2700 -> 2800 us$")

    def test_a_walk_slower_than_in_an_earlier_race_is_named(self):
        said, _ = self.report(self.races(walk_us=2750, a=2700), self.races(walk_us=2600, a=2700))
        self.assertIn("races.h100.2026-12-01.json: 1\n  +5.8 % qwen3-8b, 1 a step, the walk with today's rows: 2600 -> 2750",
                      said)

    def test_a_candidate_that_was_not_raced_then_is_not_compared(self):
        said, _ = self.report(self.races(a=2700, b=2900), self.races(a=2700))
        self.assertIn("races.h100.2026-12-01.json: 0\n  not compared: 1 of 2 candidates, which the record does not have", said)

    def test_an_earlier_race_of_another_gpu_is_not_compared(self):
        said, any_slower = self.report(self.races(a=2800), self.races(gpu="NVIDIA H200", a=2700))
        self.assertFalse(any_slower)
        self.assertIn("has no races.*.json of this GPU (NVIDIA H100 80GB HBM3): nothing to compare with", said)

    def test_candidates_that_failed_have_no_time(self):
        now = self.races(a=2700)
        (problem,) = now["models"]["qwen3-8b"]["1"].values()
        problem["candidates"]["b"] = {"predicted_us": 5.0, "verdict": "failed", "why": "it ended"}
        self.assertIn("races.h100.2026-12-01.json: 0", self.report(now, now)[0])


if __name__ == "__main__":
    unittest.main()
