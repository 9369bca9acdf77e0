"""Accounts of a decode step: of four steps that an H200 took (tests/data/gpu)."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
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


if __name__ == "__main__":
    unittest.main()
