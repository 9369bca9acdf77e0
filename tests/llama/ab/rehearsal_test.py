"""rehearsal_test ROOT LLAMA_AB CATENA TIMELINE: the stages of scripts/llama-bench with the real program, whose device computes on
this CPU. TIMELINE is the library that records kernels, on a CUPTI which tells of steps that nobody ran. CATENA is the
command. Where one of them is "", walks or races are not rehearsed."""
import html
import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

LLAMA_AB, CATENA, TIMELINE = sys.argv[2:5]
from bench_case import ROOT, SPEED, STAGES, Bench
import phases
import timeline


class Rehearsal(Bench):
    def bench(self, *words):
        return [str(ROOT / "scripts/llama-bench"), "run", *self.arguments(*words, program=LLAMA_AB)]

    def test_a_run_that_is_killed_goes_on(self):
        first = subprocess.Popen(self.bench("qwen3-30b-a3b"), stdout=subprocess.PIPE, text=True, start_new_session=True)
        while "pp16: measured" not in first.stdout.readline():
            self.assertIsNone(first.poll())
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        first.stdout.close()
        before = self.stages("qwen3-30b-a3b")["pp16"]
        done = subprocess.run(self.bench("qwen3-30b-a3b"), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        stages = self.stages("qwen3-30b-a3b")
        self.assertEqual((tuple(stages), stages["pp16"]), (STAGES, before))
        self.assertNotIn("making", done.stdout)  # the model was there
        for stage in SPEED:
            self.assertEqual(len(stages[stage]["on"]), 2)
        for way in stages["logits8"]["ways"].values():
            self.assertGreater(way["on"]["median_nmse"], 0)
        self.assertEqual(self.table().count("| agree |"), 3)
        for stage in "steps2", "steps2x4":
            self.check_steps(stages[stage])

    def check_steps(self, found):
        """The ten slowest of all steps, each by its tensors."""
        slowest = found["slowest"]
        self.assertEqual((len(slowest), found["walks"]), (10, 2))
        self.assertGreater(found["steps"], 10)
        self.assertEqual(sorted((step["us"] for step in slowest), reverse=True), [step["us"] for step in slowest])
        self.assertGreater(found["us"], sum(step["us"] for step in slowest))
        for step in slowest:
            self.assertRegex(step["step"], r"^node \d+ \w+ \S+( -> [\w.]+\.weight(, [\w.]+\.weight)*)?$")
            self.assertRegex(step["instance"], r"\.sm_90$")
            self.assertGreater(step["bytes"] * step["attainable_us"], 0)
            self.assertIn(html.escape(step["step"]), self.page())

    def test_an_interrupt_ends_the_program_too(self):
        first = subprocess.Popen(self.bench("qwen3-8b"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "pp16: measured" not in first.stdout.readline():
            self.assertIsNone(first.poll())
        first.terminate()
        _, said = first.communicate()
        self.assertIn("interrupted: the same call goes on", said)
        self.assertEqual(first.returncode, 1)
        self.assertEqual([p for p in Path("/proc").glob("[0-9]*/cmdline") if self.is_ours(p)], [])

    @unittest.skipUnless(TIMELINE, "there was no CUPTI to build it with")
    def test_a_walk_has_a_timeline_and_an_account(self):
        walk = self.bench("qwen3-8b", "--what", "walk", "--timeline", TIMELINE, "--catena", CATENA or "catena")
        done = subprocess.run(walk, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("qwen3-8b walk2x4, with Catena: 120 kernels, 480 us: matvec of Catena 360 (60), attention 120 (60)",
                      done.stdout)
        steps = json.loads((self.out / "steps.json").read_text())
        self.assertEqual([(s["model"], s["sequences"], s["catena"], s["us"]) for s in steps["steps"]],
                         [("qwen3-8b", sequences, catena, 480 if catena else 720)
                          for sequences in (1, 4) for catena in (False, True)])
        kernels, facts = timeline.read(self.out / "timelines/qwen3-8b.walk2.json.gz")
        self.assertEqual((len(kernels), facts["stage"], facts["simulated"]), (5 * (120 + 180), "walk2", True))
        self.assertEqual((kernels[0].stream, kernels[0].launch[:2]), (7, ("132,1,1", "256,1,1")))
        again = subprocess.run(walk, capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout.count("measured before")), (0, 1))

    @unittest.skipUnless(CATENA, "the command is not built")
    def test_rows_are_raced_in_the_walk(self):
        races = self.bench("qwen3-8b", "--what", "races", "--catena", CATENA)
        done = subprocess.run(races, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        record = json.loads((self.out / "walk_tuning.json").read_text())
        self.assertEqual((record["source"], record["simulated"]), ("walk", True))
        found = [c for problems in record["models"]["qwen3-8b"].values() for p in problems.values()
                 for c in p["candidates"].values()]
        self.assertEqual(len(found), 6)
        for candidate in found:  # the program has each row, and read its median
            self.assertIn(candidate["verdict"], ("tied", "faster", "slower"), candidate)
            self.assertEqual(candidate["samples"], 3)
        again = subprocess.run(races, capture_output=True, text=True)
        self.assertIn("0 of 6 candidates are left", again.stdout)

    def test_phases_are_kept_and_told_by_kind(self):
        done = subprocess.run(self.bench("qwen3-8b", "--what", "phases"), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("qwen3-8b phases2x4:    1 x    2 blocks span   20.00 skew   0.00 | fill  2.00 wait   1.00 columns  2.00 "
                      "first  0.10 products  13.90 end  1.00 | from wait to last end  17.00, ends spread  0.00  "
                      "catena_matvec_q4_K_sm_90 4096x6144 1", done.stdout)
        launches, facts = phases.read(self.out / "phases/qwen3-8b.phases2.json.gz")
        self.assertEqual((len(launches[0].blocks), facts["stage"]), (2, "phases2"))

    def is_ours(self, cmdline):
        try:
            return str(self.files).encode() in cmdline.read_bytes()
        except OSError:  # it has ended
            return False


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
