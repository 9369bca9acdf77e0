"""probe_test ROOT PROBE CATENA: the probe of scripts/gpu-check, rehearsed without a GPU. The constants come from the real
program on the tests' CUDA runtime, and the matmuls from the real command on the host executor, whose predicted times
stand for measured ones. What probes in CUDA say is made up here; no number of it was ever measured."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT, PROBE, CATENA = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/probe"))
import run

FAKE_CATENA = f"""#!/bin/sh
[ "$1" = bench ] || exec {CATENA} "$@"
cat "$ANSWERS/$3$6"
"""


def as_measured(answer, times=1, pick_times=1, verdict=None):
    for one in answer["instances"]:
        one["time"] = "measured"
        one["us"] *= times * (pick_times if one["picked"] else 1)
        one["verdict"] = verdict or one["verdict"]
    return answer


def graph(node=1.2):
    return [{"what": "graph", "of": of, "programmatic": early, "carve_out": carve_out, "bytes": 0, "us": us}
            for carve_out in (-1, 100) for early in (False, True)
            for of, us in (("empty", node), ("matvec", 3.0), ("matvec and row step", 5.0))]


def lines():
    """As each probe would print them if the model were right: 3 TB/s, a node of 1.2 us, a first latency of 1 us."""
    def reads(size):
        return {"what": "read", "bytes": size, "us": 1.2 + 1 + size / 3e6}
    return {
        "bandwidth": [*map(reads, (1_000_000, 10_000_000, 200_000_000, 1_000_000_000)),
                      {"what": "read of L2", "bytes": 20_000_000, "us": 1.2 + 20 / 7.5}],
        "latency": [{"what": "latency", "of": "memory", "us": 0.6}, {"what": "latency", "of": "L2", "us": 0.15},
                    {"what": "latency", "of": "busy memory", "in_flight_per_sm": 16384, "us": 0.9, "bytes_per_us": 2e6},
                    {"what": "latency", "of": "busy memory", "in_flight_per_sm": 32768, "us": 1.0, "bytes_per_us": 3e6}],
        "issue": [{"what": "issue", "warps": 1, "per_cycle": 30.0}, {"what": "issue", "warps": 32, "per_cycle": 120.0}],
        "stalls": [{"what": "stall", "of": of, "cycles": cycles}
                   for of, cycles in (("shared memory, 4 bytes", 30.0), ("shared memory, 16 bytes", 40.0), ("mma", 33.0))],
        "copies": [{"what": "copies", "by": "16 lanes", "row_bytes": 288, "in_flight_per_sm": 8064, "bytes_per_us": 1e6,
                    "issue_cycles_of_row": 39.0}],
        "graph": graph(),
        "cluster": [{"what": "cluster", "blocks": blocks, "relaxed": relaxed, "us": us, "cycles_of_meeting": 200.0}
                    for blocks, relaxed, us in ((1, False, 2.0), (4, False, 2.5), (4, True, 2.3))],
        "wgmma": [{"what": "wgmma", "fence": True, "copies": True, "cycles_of_step": 300.0}],
        "capture": [{"what": "capture", "prepared": True, "launch": "cudaSuccess", "end": "cudaSuccess", "ran": True}],
    }


class Probe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.answers = {}
        for case in run.CASES:
            words = ["bench", "--matmul", case, "--json", "--kernels", f"*.{case.split(',')[0]}.*"]
            said = subprocess.run([CATENA, *words, "--host", "--rows", "0"], capture_output=True, check=True)
            cls.answers[f"{case}{words[-1]}"] = said.stdout

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.out, self.build, self.path = self.root / "out", self.root / "build", self.root / "path"
        for folder in self.root / "probes", self.build / "bin", self.build / "instances/sm_90", self.path:
            folder.mkdir(parents=True)
        for family in "matvec_q4_K", "matmul_q4_K", "row_glu":
            (self.build / f"instances/sm_90/{family}.cu").touch()
        self.program(self.build / "bin/probe", f'#!/bin/sh\n[ "$1" = model ] && exec {PROBE} "$@"\nexec {self.root}/probes/$1\n')
        self.program(self.build / "bin/catena", FAKE_CATENA)
        for name, said in lines().items():
            self.says(name, said)
        for tool in "ctest", "compute-sanitizer":
            self.program(self.path / tool, f'#!/bin/sh\necho "$@" >>{self.root}/calls\necho All tests passed\n')

    def tearDown(self):
        self.folder.cleanup()

    def program(self, path, text):
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def says(self, name, said):
        text = "\n".join(json.dumps(line) for line in said)
        self.program(self.root / f"probes/{name}", f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")

    def call(self, what="measure", sources="one", seconds=3600, cut=None, **matmuls):
        """The exit code, and what was printed. Only the step `cut` has little time, since this machine may be busy."""
        said = io.StringIO()
        words = ["run.py", what, str(self.out), "--build", str(self.build), "--seconds", str(seconds), "--sources", sources]
        changed = {"PATH": f"{self.path}:{os.environ['PATH']}", "ANSWERS": str(self.root)}
        for name, answer in self.answers.items():
            (self.root / name).write_text(json.dumps(as_measured(json.loads(answer), **matmuls)))
        steps = [step._replace(limit=1 if step.name == cut else 600) for step in run.steps_of(what, self.build)]
        with mock.patch.object(run, "steps_of", return_value=steps), mock.patch.dict(os.environ, changed), \
                contextlib.redirect_stdout(said), mock.patch.object(sys, "argv", words):
            return run.main(), said.getvalue()

    def record(self):
        return json.loads((self.out / "record.json").read_text())

    def done(self):
        return {step: result for step, result in self.record()["steps"].items() if "found" in result}

    def test_all_predictions_hold_if_the_gpu_is_as_the_model_has_it(self):
        code, said = self.call()
        self.assertEqual(code, 0, said)
        self.assertEqual((said.count("holds"), said.count("FAILS"), said.count("not measured")), (10 + 12, 0, 0), said)
        self.assertEqual((self.out / "report.txt").read_text(), said[said.index("== provenance"):-1])
        self.assertIn("by 16 lanes  row_bytes 288", said)
        self.assertIn("prepared True  launch cudaSuccess", said)
        self.assertIn("bandwidth.out", {file.name for file in self.out.iterdir()})  # as it was said
        before = self.done()
        self.assertEqual(set(self.record()["provenance"]), {"gpu, driver, highest and current clocks", "cuda", "sources", "commit"})
        code, said = self.call()
        self.assertEqual((code, said.count(": done"), self.done()), (0, 0, before))

    def test_a_constant_that_is_off(self):
        self.says("graph", graph(node=2.0))
        _, said = self.call()
        self.assertRegex(said, r"node_us +1\.2 +1\.08 +1\.32 +2  us: FAILS, \+52 % beyond its bound")
        self.says("stalls", [{"what": "stall", "of": "mma", "cycles": 13.2}])
        _, said = self.call(sources="two")
        self.assertRegex(said, r"mma_cycles .* 13\.2  cycles: FAILS, -50 % beyond its bound")
        self.assertIn("cycles: not measured", said)

    def test_a_cold_stream(self):
        self.says("bandwidth", [{**line, "us": line["us"] + (10e6 / 3e6 if line["bytes"] == 10_000_000 else 0)}
                                for line in lines()["bandwidth"]])
        self.assertRegex(self.call()[1], r"cold_share .* 0\.5  of the bandwidth: FAILS, -44 %")

    def test_times_that_are_off(self):
        _, said = self.call(times=1.5)
        self.assertRegex(said, r"mxfp4,4096,14336,8 .* \+50%  FAILS: matvec\.mxfp4")
        self.assertEqual((said.count("+50%  FAILS"), said.count("== 12 predictions fail")), (2 * 12, 1))
        _, said = self.call(sources="two", times=1.1)
        self.assertEqual((said.count("+10%  holds"), said.count("predictions fail")), (12, 0))
        self.assertNotIn("% faster", said)
        _, said = self.call(sources="three", pick_times=1.4)
        self.assertRegex(said, r"(\w+),4096,\d+,1 .* \+40%  FAILS: .*; matvec\.\1\.\S+ is \d+ % faster")

    def test_wrong_results_are_named(self):
        _, said = self.call(verdict="failed")
        self.assertEqual(said.count("WRONG RESULTS: mat"), 12)

    def test_a_step_that_hangs_is_cut_and_done_by_the_next_call(self):
        self.program(self.root / "probes/copies", "#!/bin/sh\nexec sleep 60\n")
        code, said = self.call(cut="copies")
        self.assertEqual((code, said.count("cut"), said.count("FAILS")), (2, 1, 0), said)
        self.assertRegex(said, r"copies: not done after \d+ s")
        self.says("copies", lines()["copies"])
        code, said = self.call()
        self.assertEqual((code, said.count(": done")), (0, 1), said)

    def test_a_call_without_time_begins_nothing(self):
        code, said = self.call(seconds=1)
        self.assertEqual((code, said.count(": done")), (2, 0))

    def test_a_step_that_fails_says_why(self):
        self.program(self.root / "probes/wgmma", "#!/bin/sh\necho 'probe wgmma: launching: broken' >&2\nexit 1\n")
        self.program(self.root / "probes/issue", "#!/bin/sh\necho '{'\n")
        code, said = self.call()
        self.assertEqual(code, 1)
        for why in ("wgmma: probe ended with 1: probe wgmma: launching: broken", "issue: what it said cannot be read"):
            self.assertIn(why, said)

    def test_a_program_that_is_not_there(self):
        (self.build / "bin/probe").unlink()
        code, said = self.call()
        self.assertEqual((code, said.count("bin/probe cannot be run: No such file")), (1, 2 * (1 + len(run.PROBES))), said)

    def test_counters_of_the_hardware(self):
        self.program(self.path / "ncu", '#!/bin/sh\necho "==ERROR== ERR_NVGPUCTRPERM"\n')
        code, said = self.call()
        self.assertEqual((code, said.count("ncu may not read the counters of this machine")), (0, 2 * len(run.COUNTED)))
        self.program(self.path / "ncu", "#!/bin/sh\ncat <<'END'\n==PROF== 1\n\"Metric Name\",\"Metric Value\"\n"
                     '"smsp__inst_executed.sum","1,234"\nEND\n')
        _, said = self.call()
        self.assertEqual(said.count("smsp__inst_executed.sum 1,234"), len(run.COUNTED))

    def test_a_record_of_other_sources_is_kept(self):
        self.call()
        before = self.record()
        self.call(sources="two", times=2)
        self.assertEqual(json.loads((self.out / "record.before.json").read_text()), before)
        self.assertEqual(self.record()["provenance"]["sources"], "two")

    def test_a_record_that_is_none(self):
        self.out.mkdir()
        (self.out / "record.json").write_text("[]")
        with self.assertRaisesRegex(SystemExit, "not a record of the probe: put it away"):
            self.call()

    def test_checks(self):
        code, said = self.call("check")
        self.assertEqual((code, said.count(": done")), (0, 4), said)
        calls = (self.root / "calls").read_text()
        self.assertIn("-L device", calls)
        self.assertRegex(calls, r"racecheck .*-c matvec_q4_K -c matvec\.q4_K\.\S+\.sm_90\n")
        self.assertRegex(calls, r"racecheck .*-c row_glu -c glu\.\S+\.sm_90\n")
        self.program(self.path / "compute-sanitizer", "#!/bin/sh\necho 'assertions: - none -'\n")
        code, said = self.call("check", sources="none")
        self.assertEqual((code, said.count("test_device ran nothing of ")), (1, 2 * 3), said)
        self.program(self.path / "compute-sanitizer", "#!/bin/sh\necho '1 hazard'\nexit 1\n")
        code, said = self.call("check", sources="two")
        self.assertEqual((code, said.count("1 hazard")), (1, 2 * 3))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
