"""run_test ROOT NO_GPU: the stages of scripts/llama-bench, with a program that answers at once. NO_GPU finds no GPU."""
import json
import os
import shutil
import sys
import unittest
from pathlib import Path
from unittest import mock

NO_GPU = sys.argv[2]
from bench_case import FAKE, STAGES, Bench
import run
import slower
import timeline
import walk_tuning
from ab_record import Problem


class Stages(Bench):
    def test_all_stages_are_measured_once(self):
        code, said = self.call("qwen3-8b", "gpt-oss-20b")
        self.assertEqual(code, 0, said)
        for model in "qwen3-8b", "gpt-oss-20b":
            self.assertEqual(tuple(self.stages(model)), STAGES)
        self.assertTrue(self.stages()["steps2"]["graphs_off"])
        self.assertEqual(list(self.files.iterdir()), [])  # no model stays
        before = self.record()
        code, said = self.call("qwen3-8b", "gpt-oss-20b")
        self.assertEqual((code, said.count("measured before")), (0, 2))
        self.assertEqual(self.record(), before)

    def test_dependent_launch_is_on_unless_the_user_says_otherwise(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("GGML_CUDA_PDL", None)
            self.call("qwen3-8b")
        self.assertEqual(self.stages()["steps2"]["dependent_launch"], "1")
        with mock.patch.dict(os.environ, {"GGML_CUDA_PDL": "0"}):
            self.call("qwen3-8b")
        self.assertEqual(self.stages()["steps2"]["dependent_launch"], "0")

    def test_a_second_call_measures_what_is_left(self):
        self.call("qwen3-8b")
        before = self.stages()
        record = self.record()
        del record["models"]["qwen3-8b"]["stages"]["tg4"]
        (self.out / "record.json").write_text(json.dumps(record))
        code, said = self.call("qwen3-8b")
        self.assertEqual((code, said.count(": measured\n")), (0, 1))
        self.assertEqual({**self.stages(), "tg4": None}, {**before, "tg4": None})

    def test_the_time_of_a_call_is_up(self):
        with mock.patch.object(run, "minutes", return_value=0.01):
            code, said = self.call("qwen3-8b")
        self.assertEqual(code, 2)
        self.assertIn("the same call goes on", said)
        self.assertEqual(self.call("qwen3-8b")[0], 0)

    def test_the_time_is_up_within_a_stage(self):
        with mock.patch.object(run, "minutes", return_value=0.1), mock.patch.object(run, "LEAST_SECONDS", 0):
            code, _ = self.call("qwen3-8b", special={"tg4x4": "hang"})
        self.assertEqual((code, tuple(self.stages())), (2, ("pp16", "tg4")))
        model, = self.files.iterdir()
        model.rename(f"{model}.part")  # as a call leaves it that is cut while it makes the model
        self.assertIn("logits are not compared yet", self.page())
        self.assertEqual(self.call("qwen3-8b")[0], 0)
        self.assertEqual(tuple(sorted(self.stages())), tuple(sorted(STAGES)))
        self.assertEqual(list(self.files.iterdir()), [])

    def test_a_stage_that_ends_the_program_keeps_none_from_being_measured(self):
        code, said = self.call("qwen3-8b", special={"tg4": "abort"})
        self.assertEqual(code, 1)
        self.assertIn("qwen3-8b tg4: FAILED, llama_ab was ended by SIGABRT: an assertion", said)
        self.assertEqual({stage for stage, result in self.stages().items() if "failed" not in result}, {*STAGES} - {"tg4"})
        self.assertEqual(self.call("qwen3-8b")[0], 0)  # what failed is tried again

    def test_a_stage_that_hangs_is_ended(self):
        with mock.patch.object(run, "STAGE_SECONDS", 2):
            code, said = self.call("qwen3-8b", special={"pp16": "hang"})
        self.assertEqual(code, 1)
        self.assertIn("qwen3-8b pp16: FAILED, not done after 2 s", said)

    def test_a_model_that_cannot_be_loaded_fails_at_once(self):
        code, said = self.call("qwen3-8b", special={"load": "fails"})
        self.assertEqual((code, said.count("qwen3-8b tg4: model.gguf: libllama cannot load it: out of memory")), (1, 1))
        self.assertEqual((self.out / "llama_ab.log").read_text().count("out of memory"), 2)  # a try for each process

    def test_a_stage_without_a_result_fails(self):
        code, said = self.call("qwen3-8b", special={"tg4": "silent"})
        self.assertEqual((code, said.count("FAILED, llama_ab ended without a result")), (1, 1))

    def test_no_stage_passes_if_catena_did_nothing(self):
        code, said = self.call("qwen3-8b", special={"tg4": "idle"})
        self.assertEqual(code, 1)
        self.assertIn("Catena took no matmul: catena sm_90: all is left to the engine", said)

    def test_a_disk_without_room(self):
        full = shutil.disk_usage(self.folder.name)._replace(free=1000)
        with mock.patch.object(run.shutil, "disk_usage", return_value=full):
            code, said = self.call("qwen3-8b")
        self.assertEqual(code, 1)
        self.assertIn("0.0 GB are free: name a folder with more room by --files", said)
        self.assertIn("qwen3-8b tg4: FAILED", said)

    def test_a_record_of_another_gpu_is_kept(self):
        self.call("qwen3-8b")
        before = self.record()
        self.call("qwen3-8b", gpu="another")
        self.assertEqual(json.loads((self.out / "record.before.json").read_text()), before)
        self.assertEqual(self.record()["provenance"]["gpu"], "another")


class Walks(Bench):
    """A program that records nothing."""

    def walk(self, *words, **special):
        return self.call("qwen3-8b", "--what", "walk", *words, **special)

    def test_a_library_that_is_not_there(self):
        code, said = self.walk("--timeline", "/nowhere/t.so")
        self.assertEqual(code, 1)
        self.assertIn("qwen3-8b walk2: /nowhere/t.so: there is no such library: scripts/llama-bench build makes it", said)

    def test_no_timeline_was_written(self):
        code, said = self.walk("--timeline", str(FAKE))
        self.assertEqual(code, 1)
        self.assertIn("qwen3-8b walk2x4: FAILED, no timeline was written: llama_ab.log says why", said)
        self.assertFalse((self.out / "steps.json").exists())

    def test_speeds_stay_when_a_walk_is_cut(self):
        self.call("qwen3-8b")
        before = self.stages()
        with mock.patch.object(run, "minutes", return_value=0.01):
            code, _ = self.walk("--timeline", str(FAKE))
        self.assertEqual((code, self.stages()), (2, before))


class Phases(Bench):
    """Time stamps inside launches, of a program that makes them up."""

    def phases(self, **special):
        return self.call("qwen3-8b", "--what", "phases", "--slower", str(self.out / "slower"), special=special)

    def test_what_got_slower_than_a_record_is_found(self):
        self.assertEqual(self.phases()[0], 0)
        self.assertEqual((self.out / "slower").read_text(), "phases.json: bench/results has no phases.*.json of this GPU "
                         "(a fake GPU): nothing to compare with\n")
        results = Path(self.folder.name) / "results"
        results.mkdir()
        shutil.move(self.out / "phases.json", results / "phases.fake.2026-12-01.json")
        (self.out / "record.json").unlink()
        self.phases(phases2="slower")
        lines, any_slower = slower.report(self.out, results)
        self.assertTrue(any_slower)
        self.assertEqual(lines[:2], ["slower than bench/results/phases.fake.2026-12-01.json: 2",
                                     "  +36.0 % qwen3-8b, 1 a step, 1 x 4096x6144, products: 13.90 -> 18.90 us, "
                                     "catena_matvec_q4_K_sm_90"])


class Races(Bench):
    """Tuning in the walk, with a command that lists three rows of one problem and one of another."""

    def setUp(self):
        super().setUp()
        self.catena = Path(self.folder.name) / "catena"
        rows = [f"matvec.{row}.sm_90 {key} {us} 0" for row, key, us in (
            ("a", "00000000000000aa", 3.0), ("b", "00000000000000aa", 2.0), ("c", "00000000000000aa", 4.0),
            ("d", "00000000000000bb", 1.0))]
        lines = ["# Candidates of sm_90, predicted us", "# q4_K 4096 x 6144, 1 column; 36 launches", *rows[:3],
                 "# q6_K 4096 x 512, 1 column; 1 launches", rows[3]]
        self.catena.write_text("#!/bin/sh\n[ $# = 6 ] || exit 1\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
        self.catena.chmod(0o755)

    def races(self, *words, library=FAKE, **special):
        return self.call(*words, "--what", "races", "--catena", str(self.catena), "--timeline", str(library), **special)

    def found(self):
        record = json.loads((self.out / "walk_tuning.json").read_text())
        self.assertEqual(record["source"], "walk")
        return record["models"]["qwen3-8b"]

    def test_a_row_that_makes_the_walk_faster_is_found(self):
        code, said = self.races("qwen3-8b", special={"matvec.a.sm_90": "faster", "matvec.c.sm_90": "slower"})
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"-909.1 us a walk of 10000: qwen3-8b, 1 a step, q4_K 4096 x 6144, 1 column, 36 launches: "
                               r"matvec.a.sm_90; its 60 launches -32.8 us, 6.00 to 5.45 each; others \+6.0, gaps \+0.0\n")
        for sequences in "1", "4":
            (problem,) = self.found()[sequences].values()  # of one row there is nothing to choose
            self.assertEqual({row: c["verdict"] for row, c in problem["candidates"].items()},
                             {"matvec.a.sm_90": "faster", "matvec.b.sm_90": "tied", "matvec.c.sm_90": "slower"})
        self.assertEqual((self.out / "walk_rows.txt").read_text().splitlines()[1:],
                         ["matvec.a.sm_90 00000000000000aa 3.0000 0"])
        self.assertEqual(list(self.files.iterdir()), [])

    def test_what_got_slower_than_an_earlier_race_is_found(self):
        self.races("qwen3-8b", "--slower", str(self.out / "slower"))
        self.assertIn("walk_tuning.json: bench/results has no races.*.json of this GPU (a fake GPU): nothing to compare with\n",
                      (self.out / "slower").read_text())
        results = Path(self.folder.name) / "results"
        results.mkdir()
        shutil.move(self.out / "walk_tuning.json", results / "races.fake.2026-12-01.json")
        self.races("qwen3-8b", special={"matvec.c.sm_90": "slower"})
        lines, any_slower = slower.report(self.out, results)
        self.assertTrue(any_slower)
        self.assertEqual(lines[-3:-1], ["slower than bench/results/races.fake.2026-12-01.json: 2",
                                        "  +11.1 % qwen3-8b, 4 a step, q4_K 4096 x 6144, 1 column, the walk with "
                                        "matvec.c.sm_90: 40000 -> 44444 us"])

    def test_where_the_time_of_a_faster_row_went_is_kept_or_why_not(self):
        faster = {"matvec.a.sm_90": "faster"}
        code, said = self.races("qwen3-8b", library="/nowhere/t.so", special=faster)
        self.assertEqual(code, 0, said)
        self.assertIn("matvec.a.sm_90; where the time went is not known: /nowhere/t.so: there is no such library", said)
        record = json.loads((self.out / "walk_tuning.json").read_text())
        for (problem,) in (problems.values() for problems in record["models"]["qwen3-8b"].values()):
            self.assertNotIn("where", problem["candidates"]["matvec.b.sm_90"])  # it is not faster
            del problem["candidates"]["matvec.a.sm_90"]["where"]  # as in a call that was cut there
        (self.out / "walk_tuning.json").write_text(json.dumps(record))
        self.races("qwen3-8b", special=faster)
        (problem,) = self.found()["4"].values()
        self.assertEqual(problem["candidates"]["matvec.a.sm_90"]["where"],
                         {"launches": 60, "default": {"launches_us": 360, "others_us": 120, "gaps_us": 0},
                          "candidate": {"launches_us": 327.24, "others_us": 126, "gaps_us": 0}})
        self.assertFalse((self.out / "timeline.tsv").exists())

    def test_walks_that_more_than_the_row_sets_apart(self):
        launch = ("1,1,1", "32,1,1", 32, 0)
        kernels = [timeline.Kernel(10 ** 6 * step + 1000 * i, 10 ** 6 * step + 1000 * i + 900, 7, 1, (*launch, name))
                   for step in range(12) for i, name in enumerate(
                       120 * ["engine"] + (["catena_matvec_x", "cpy"] if step % 2 else ["catena_matvec_a_sm_90", "quantize"]))]
        with self.assertRaisesRegex(timeline.Bad, "no two walks that matvec.a.sm_90 alone sets apart"):
            walk_tuning.where_of(kernels, "matvec.a.sm_90")

    def test_a_call_that_was_cut_goes_on(self):
        with mock.patch.object(run, "minutes", return_value=0.1), mock.patch.object(run, "LEAST_SECONDS", 0):
            code, _ = self.races("qwen3-8b", special={"matvec.a.sm_90": "hang"})
        self.assertEqual(code, 2)
        (problem,) = self.found()["1"].values()
        self.assertEqual(list(problem["candidates"]), ["matvec.b.sm_90"])  # the best by its prediction was the first
        code, said = self.races("qwen3-8b")
        self.assertEqual(code, 0, said)
        self.assertIn("qwen3-8b: 5 of 6 candidates are left", said)
        self.assertIn("qwen3-8b: 0 of 6 candidates are left", self.races("qwen3-8b")[1])

    def test_a_candidate_that_ends_the_program_keeps_none_from_being_raced(self):
        code, said = self.races("qwen3-8b", special={"matvec.a.sm_90": "abort", "matvec.c.sm_90": "unknown"})
        self.assertEqual((code, said.splitlines()[-1]), (0, "2 problems have no faster row, 4 candidates failed"))
        (problem,) = self.found()["1"].values()
        self.assertIn("llama_ab was ended by SIGABRT", problem["candidates"]["matvec.a.sm_90"]["why"])
        self.assertIn("does not have the row", problem["candidates"]["matvec.c.sm_90"]["why"])
        self.assertEqual(problem["candidates"]["matvec.b.sm_90"]["verdict"], "tied")

    def test_a_command_that_is_not_there(self):
        self.catena.unlink()
        with self.assertRaisesRegex(Problem, "name the catena command by --catena"):
            self.races("qwen3-8b")


class Shown(Bench):
    def test_speeds_and_ratios(self):
        self.call("qwen3-8b")
        self.assertIn("| qwen3-8b Q4_K_M | tg4 | 102.0 \u00b11.0 % | 153.0 \u00b11.0 % | 1.500 \u00b10.0 % |", self.table())
        self.assertIn('<td class=won>1.500', self.page())
        self.assertIn("Simulated: no GPU ever took these times.", self.page())
        self.assertIn("Simulated", self.table())
        self.assertEqual(self.page().count("http"), 0)  # it needs nothing else

    def test_a_share_of_the_copy_bandwidth(self):
        self.call("qwen3-8b")
        model = run.Model("qwen3-8b", small=True)
        share = 102.0 * model.bytes_read(1) / 1e6
        self.assertIn(f"| {100 * share:.0f} % |", self.table())

    def test_the_ten_slowest_steps(self):
        self.call("qwen3-8b")
        self.assertEqual(self.page().count("<td>node "), 20)  # of one and of four sequences
        self.assertIn("The slowest 10 of 12 steps, which take 300 us together", self.page())
        self.assertIn("<td>10.0 %</td>", self.page())

    def test_a_model_whose_logits_differ_counts_nothing(self):
        for special in "differ", "nan":
            code, said = self.call("qwen3-8b", special={"logits8": special}, gpu=special)
            self.assertEqual(code, 1)
            self.assertEqual(said.count("FAILED, logits differ: single, median NMSE"), 3)
            self.assertEqual(self.table().count("FAILED: logits differ"), 3)
            self.assertNotIn("1.500", self.table() + self.page())


class Refused(Bench):
    def test_what_is_asked(self):
        self.refused("qwen4", why=["no model qwen4", "choose from llama-3.1-8b"])
        self.refused("--nonsense", why=["--nonsense", "--help"])
        for minutes in "0", "nine", "-1":
            with mock.patch.dict(os.environ, {"CATENA_MINUTES": minutes}):
                self.refused("qwen3-8b", why=["CATENA_MINUTES", minutes])
        self.assertFalse(self.out.exists())

    def test_a_program_that_is_not_there(self):
        self.refused("qwen3-8b", program="/nowhere/llama_ab", why=["no such program", "scripts/llama-bench build"])

    def test_a_machine_without_a_gpu(self):
        self.refused("qwen3-8b", program=NO_GPU, why=["ggml finds no GPU", "nvidia-smi"])
        self.assertFalse((self.out / "record.json").exists())

    def test_a_machine_without_a_driver(self):
        program = Path(self.folder.name) / "llama_ab"
        program.write_text("#!/bin/sh\necho 'libcuda.so.1: cannot open shared object file' >&2\nexit 127\n")
        program.chmod(0o755)
        self.refused("qwen3-8b", program=program, why=["libcuda.so.1", "a machine with a GPU, its driver"])

    def test_records_that_are_broken(self):
        self.call("qwen3-8b")
        whole = self.record()
        entry = {k: v for k, v in whole["models"]["qwen3-8b"].items() if k != "stages"}
        for text, why in (("{", "cannot be read as JSON"), ("[]", "not a record"), ('{"format": "other"}', "'format'"),
                          (json.dumps({k: v for k, v in whole.items() if k != "provenance"}), "no 'provenance'"),
                          (json.dumps({**whole, "models": {"qwen3-8b": entry}}), "qwen3-8b has no 'stages'")):
            (self.out / "record.json").write_text(text)
            self.refused("qwen3-8b", why=["record.json", why, "away"])
            self.assertEqual((self.out / "record.json").read_text(), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
