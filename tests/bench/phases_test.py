"""Phases of launches: of time stamps that an H100 took (tests/data/gpu), beside what another program printed of them."""
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
import phases

CUT = ROOT / "tests/data/gpu/h100.phases.xz"
THEIR_RATE = 1755  # MHz; the program took the clock for that, and it was 1967
THEIRS = [
    "  96 blocks span   12.86 skew   0.26 | fill  3.25 wait   0.11 columns  3.48 first  0.10 products   3.33 end  0.47 | from "
    "wait to last end   9.73, ends spread  3.36",
    " 128 blocks span    6.62 skew   0.13 | fill  1.07 wait   0.08 columns  3.55 first  0.10 products   1.43 end  0.46 | from "
    "wait to last end   5.38, ends spread  0.86",
    " 128 blocks span   32.64 skew   5.92 | fill  3.84 wait   0.11 columns  5.04 first  0.11 products  15.62 end  1.43 | from "
    "wait to last end  23.55, ends spread  7.46",
    "  96 blocks span   17.60 skew   6.40 | fill  2.10 wait   1.11 columns  2.72 first  0.10 products   3.34 end  0.47 | from "
    "wait to last end   9.47, ends spread  3.58"]
KERNEL = "catena_matvec_q4_K_sm_90 {block} 2 128 1 4096 6144 {weight} 1000 3000 4000 6000 6100 20000 {end} 0 4000 6000 10000 " \
         "10200 38000 40000"


class Phases(unittest.TestCase):
    def setUp(self):
        self.launches, _ = phases.read(CUT)

    def test_launches_are_those_of_the_other_program(self):
        self.assertEqual([phases.text(phases.times_of(launch, THEIR_RATE)) for launch in self.launches[:4]], THEIRS)

    def test_the_clock_follows_from_the_blocks(self):
        self.assertAlmostEqual(phases.cycles_per_us(self.launches), 1967, delta=1)

    def test_launches_of_a_kind_are_one_line_of_medians(self):
        lines = phases.kinds_text(self.launches)
        self.assertEqual([line.split("  ")[-1] for line in lines],
                         ["MUL_MAT Qcur 96", "MUL_MAT node 128", "MUL_MAT ffn_gate 128", "MUL_MAT ffn_moe_logits 17"])
        self.assertTrue(lines[0].startswith("   2 x   96 blocks span   15.23 skew   3.33 |"), lines[0])

    def test_a_block_without_rows_has_no_end(self):
        launch = self.launches[4]
        self.assertEqual(sum(block.ns[phases.END] == 0 for block in launch.blocks), 1)
        self.assertEqual(round(phases.times_of(launch, 1967).spread, 2), 0.22)  # 0.26 with that block

    def test_blocks_of_the_program_are_launches_by_their_weights(self):
        lines = [KERNEL.format(block=block, weight=weight, end=21000 + 1000 * block)
                 for weight in (4096, 8192) for block in (0, 1)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.json.gz"
            phases.write(path, lines, {"gpu": "one"})
            launches, facts = phases.read(path)
        self.assertEqual((len(launches), facts), (2, {"gpu": "one"}))
        self.assertEqual(phases.kinds_text(launches)[0].split(" | ")[0], "   2 x    2 blocks span   21.00 skew   0.00")

    def test_a_record_has_medians_of_kinds_and_their_launches(self):
        of_kernel = [launch._replace(kind=(launch.kind[0], "4096x1", "1", launch.kind[1], "128")) for launch in self.launches]
        walk = {"model": "one", "sequences": 1, **phases.walk_of(of_kernel)}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.json"
            phases.write_kinds(path, [walk], False, {"gpu": "one"})
            record = json.loads(path.read_text())
            phases.write_kinds(Path(folder) / "none.json", [], False, {"gpu": "one"})
            self.assertFalse((Path(folder) / "none.json").exists())
        self.assertEqual((record["format"], record["provenance"]["gpu"]), (phases.FORMAT_OF_KINDS, "one"))
        self.assertEqual(record["walks"], [walk])
        kind = walk["kinds"][0]
        self.assertEqual((walk["mhz"], kind["kernel"], kind["blocks"], kind["at"]), (1967, "MUL_MAT Qcur", 96, [0, 3]))
        first, second = ([float(us) for us in re.findall(r" (\d+\.\d+)", THEIRS[at])] for at in (0, 3))
        middles = [(a + b) / 2 for a, b in zip(first[2:], second[2:])]  # behind span and skew
        for name, theirs in zip(phases.PARTS, middles):
            self.assertAlmostEqual(kind["us"][name][0], theirs * THEIR_RATE / 1967, delta=0.01)
        self.assertAlmostEqual(kind["us"]["after_wait"][0], middles[6], delta=0.01)
        self.assertAlmostEqual(kind["us"]["after_wait"][1], (9.73 - 9.47) / 4, delta=0.01)

    def test_a_line_that_is_none_is_refused(self):
        with self.assertRaisesRegex(phases.Bad, "not a block of a launch: a 0 2 128 1 4096 6144 1 5"):
            phases.launches_of(["a 0 2 128 1 4096 6144 1 5"])


if __name__ == "__main__":
    unittest.main()
