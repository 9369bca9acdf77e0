"""Accounts of a decode step: of four steps that an H200 took (tests/data/gpu), and what is slower than a record."""
import copy
import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
import slower
import timeline

CUT = ROOT / "tests/data/gpu/h200.qwen3-8b.timeline.tsv.xz"
# What another program made of the same lines.
ON = {"matvec of Catena": (1869, 145), "attention": (169, 72), "norm and rope": (122, 72), "set_rows": (39, 36),
      "row step of Catena": (11, 2), "gap": (5, 0)}
OFF = {"mmvq": (2925, 217), "norm": (264, 73), "quantize": (224, 217), "attention": (165, 72), "norm and rope": (150, 72),
       "set_rows": (41, 36), "get_rows": (3, 2)}


def rounded(found):
    return {kind: (round(us), count) for kind, (us, count) in found["kinds"].items()}


class Accounts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kernels = timeline.lines_of(CUT)

    def tearDown(self):
        self.folder.cleanup()

    def test_a_step_by_kinds_of_kernels(self):
        on, off = timeline.of_side(self.kernels, True), timeline.of_side(self.kernels, False)
        self.assertEqual((rounded(on), round(on["us"]), on["kernels"]), (ON, 2218, 329))
        self.assertEqual((rounded(off), round(off["us"]), off["kernels"]), (OFF, 3773, 690))

    def test_exposed_times_add_up_to_the_step(self):
        for repeats in timeline.steps_of(self.kernels):
            for step in repeats:
                wall = (max(k.end for k in step) - step[0].start) / 1e3
                self.assertAlmostEqual(sum(gap + own for _, gap, own in timeline.exposed(step)), wall, places=6)

    def test_steps_of_other_kernels_are_no_repeats(self):
        launch = timeline.lines_of(CUT)[0].launch
        kernels = [timeline.Kernel(1000000 * step + 1000 * i, 1000000 * step + 1000 * i + 900, 7, 0,
                                   (*launch[:-1], f"kernel {i} {step % 2}")) for step in range(12) for i in range(3)]
        self.assertEqual({names[0]: len(repeats) for names, repeats in timeline.repeats_of(kernels).items()},
                         {"kernel 0 0": 5, "kernel 0 1": 5})

    def test_the_slowest_launches(self):
        on = timeline.steps_of(self.kernels)[0]
        self.assertEqual(next(timeline.kernels_text(on, 1)),
                         " 35.0 x lasts   26.40 exposed   20.86 gap  0.00 =   728.8 us  grid 128,1,1 block 512,1,1 "
                         "registers 64 shared 153952 catena_matvec_q4_K_t512_r2_c1_p4096_bulk2_smem_deferred_sm_90")

    def test_a_file_keeps_every_repeat_but_the_first(self):
        path = Path(self.folder.name) / "t.json.gz"
        timeline.write(path, self.kernels, {"gpu": "one"})
        again, facts = timeline.read(path)
        self.assertEqual((facts, again[0].start), ({"gpu": "one"}, 0))
        kept = [k for repeats in timeline.steps_of(self.kernels) for step in repeats for k in step]
        self.assertEqual([k.launch for k in again], [k.launch for k in sorted(kept)])
        self.assertEqual([k.end - k.start for k in again], [k.end - k.start for k in sorted(kept)])

    def test_other_files_are_refused_by_name(self):
        path = Path(self.folder.name) / "t.tsv"
        path.write_text("1\t2\t3\n")
        with self.assertRaisesRegex(timeline.Bad, "t.tsv:1: not a line of a timeline"):
            timeline.lines_of(path)


class Slower(unittest.TestCase):
    """Against records that say what the H100 did."""

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


if __name__ == "__main__":
    unittest.main()
