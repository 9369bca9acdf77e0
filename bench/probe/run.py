#!/usr/bin/env python3
"""run.py WHAT OUT --build DIR --seconds N --sources HASH: measures on a GPU what the cost model assumes (measure), or
runs the tests of the kernels there (check). scripts/gpu-check calls it in its stage probe.

Each step has a limit. OUT/record.json keeps what it said, and the next call goes on after the last step that is done.
OUT/report.txt says which predictions fail. Exit code 0: all steps are done; 1: one failed; 2: some are left.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
import report

ROOT = Path(__file__).resolve().parents[2]
CASES = [f"{weights},4096,{k},{columns}" for k in (4096, 14336) for weights in ("q4_K", "mxfp4") for columns in (1, 2, 8)]
COUNTED = [case for case in CASES if ",4096,4096," in case]
PROBES = ("bandwidth", "latency", "issue", "stalls", "copies", "graph", "cluster", "wgmma", "capture")
STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "wait", "math_pipe_throttle", "mio_throttle", "lg_throttle",
          "not_selected")
COUNTERS = ("smsp__inst_executed.sum", "sm__warps_active.avg.per_cycle_active", "gpu__time_duration.sum",
            "dram__bytes_read.sum",
            *(f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in STALLS))


class Failed(Exception):
    """What a step that failed leaves for the record: one sentence."""


class TimeIsUp(Exception):
    pass


class Step(NamedTuple):
    name: str
    limit: float  # seconds
    measure: object  # of a Run, what the record keeps


class Run:
    def __init__(self, asked):
        self.out, self.bin = asked.out, asked.build.resolve() / "bin"
        self.build, self.end, self.step_end = asked.build, time.monotonic() + asked.seconds, 0

    def left(self):
        return min(self.step_end, self.end) - time.monotonic()

    def said(self, name, command, environment=None, passes=(0,)):
        """The output of a command, which is kept as OUT/NAME.out, whatever came of it. It ends with one of `passes`."""
        if self.left() <= 0:
            raise TimeIsUp
        with open(self.out / f"{name}.out", "w+", encoding="utf-8", errors="replace") as out, \
                open(self.out / f"{name}.err", "w+", encoding="utf-8", errors="replace") as err:
            try:
                code = subprocess.run([str(word) for word in command], stdout=out, stderr=err, timeout=self.left(),
                                      env={**os.environ, **(environment or {})}, check=False).returncode
            except subprocess.TimeoutExpired:
                raise TimeIsUp from None
            except OSError as error:
                raise Failed(f"{command[0]} cannot be run: {error.strerror}") from None
            for file in out, err:
                file.seek(0)
            text, errors = out.read(), err.read()
        if code not in passes:
            last = [line for line in (text + errors).splitlines() if line.strip()]
            raise Failed(f"{Path(command[0]).name} ended with {code}: {last[-1] if last else 'it said nothing'}")
        return text

    def lines(self, name):
        return [json.loads(line) for line in self.said(name, [self.bin / "probe", name]).splitlines()]

    def matmul(self, case):
        weights = case.split(",")[0]  # rows of sets of formats have no kernels in this build
        found = json.loads(self.said(f"matmul.{case}", [self.bin / "catena", "bench", "--matmul", case, "--json",
                                                        "--kernels", f"*.{weights}.*"], passes=(0, 1)))
        return {"case": case, "machine": found["machine"], "instances": [
            {key: of[key] for key in ("instance", "picked", "time", "us", "predicted_us", "attainable_us", "verdict")}
            for of in found["instances"]]}

    def counters(self, case):
        """Counts of the hardware for the launch of the instance that the planner picks, or of the fastest that this build
        has where that is a row of a set of formats."""
        listed = self.matmul(case)["instances"]
        picked = next((of for of in listed if of["picked"]), min(listed, key=lambda of: of["us"]))["instance"]
        text = self.said(f"counters.{case}", ["ncu", "--csv", "--metrics", ",".join(COUNTERS), "-k", "regex:mat(vec|mul)",
                                      "--launch-count", "1", self.bin / "catena", "bench", "--matmul", case, "--kernels",
                                      picked, "--json"])
        if "ERR_NVGPUCTRPERM" in text:
            raise Failed("ncu may not read the counters of this machine")
        table = [line for line in text.splitlines() if line.startswith('"')]
        found = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(table)}
        if not found:
            raise Failed("ncu counted no launch")
        return {"case": case, "instance": picked, **found}

    def race_check(self, family):
        """The first row of the family, under racecheck."""
        listed = self.said("rows", [self.bin / "catena", "instances", "--arch", "sm_90", "--json"])
        row = next(row["name"] for row in json.loads(listed)["rows"] if family_of(row["name"]) == family)
        said = self.said("race_check", ["compute-sanitizer", "--tool", "racecheck", "--error-exitcode", "1",
                                        self.bin / "test_device", "[sample]", "-c", family, "-c", row],
                         {"CATENA_NEEDS_DEVICE": "1"})
        if "All tests passed" not in said:  # a name that no section has runs nothing, and is no error
            raise Failed(f"test_device ran nothing of {row}: compare race_check.out with tests/device")
        return row

    def device_tests(self):
        self.said("device_tests", ["ctest", "--test-dir", self.build, "-L", "device", "-j", os.cpu_count(),
                                   "--no-tests=error", "--output-on-failure"], {"CATENA_NEEDS_DEVICE": "1"})


def family_of(row):
    """matvec.q4_K.POLICY.sm_90 is compiled in matvec_q4_K.cu, glu.engines.POLICY.sm_90 in row_glu.cu."""
    words = row.split(".")
    return "_".join(words[:2]) if words[0] in ("matvec", "matmul") else f"row_{words[0]}"


def probe(name):
    return Step(name, 15, lambda run: run.lines(name))


def steps_of(what, build):
    """The most telling ones first."""
    if what == "measure":
        return [Step("model", 15, lambda run: run.lines("model")),
                *(Step(f"matmul {case}", 10, lambda run, case=case: run.matmul(case)) for case in CASES),
                *map(probe, PROBES),
                *(Step(f"counters {case}", 15, lambda run, case=case: run.counters(case)) for case in COUNTED)]
    families = sorted(file.stem for file in build.glob("instances/sm_90/*.cu"))
    return [Step("device tests", 60, Run.device_tests),
            *(Step(f"race check {family}", 20, lambda run, family=family: run.race_check(family))
              for family in families)]


def provenance(sources):
    def said(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""
    gpu = said("nvidia-smi", "--id=0", "--format=csv,noheader",
               "--query-gpu=name,driver_version,clocks.max.sm,clocks.max.memory,clocks.sm,clocks.mem")
    cuda = [line for line in said("nvcc", "--version").splitlines() if "release" in line]
    return {"gpu, driver, highest and current clocks": gpu, "cuda": "".join(cuda).strip(), "sources": sources,
            "commit": said("git", "describe", "--always", "--dirty")}


def opened(path, origin):
    """The record to go on with: one of other sources is kept beside it."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] == report.FORMAT and record["provenance"]["sources"] == origin["sources"]:
            return record
        path.replace(path.with_suffix(".before.json"))
    except FileNotFoundError:
        pass
    except (ValueError, LookupError, TypeError):
        sys.exit(f"{path}: not a record of the probe: put it away")
    return {"format": report.FORMAT, "provenance": origin, "steps": {}}


def write(path, record):
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def measure(run, steps, record, path):
    for step in steps:
        if "found" in record["steps"].get(step.name, {}):
            continue
        if run.end - time.monotonic() < 2:
            break
        began = time.monotonic()
        run.step_end = began + step.limit
        try:
            result = {"found": step.measure(run)}
        except TimeIsUp:
            result = {"cut": f"not done after {time.monotonic() - began:.0f} s"}
        except Failed as why:
            result = {"failed": str(why)}
        except (ValueError, LookupError, StopIteration) as why:
            result = {"failed": f"what it said cannot be read: {why!r}"}
        result["when"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        result["seconds"] = round(time.monotonic() - began, 1)
        record["steps"][step.name] = result
        write(path, record)
        print(f"{step.name}: {result.get('failed') or result.get('cut') or 'done'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "check"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--sources", required=True)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "record.json"
    record = opened(path, provenance(asked.sources))
    steps = steps_of(asked.what, asked.build)
    measure(Run(asked), steps, record, path)
    text = report.text(record)
    (asked.out / "report.txt").write_text(text, encoding="utf-8")
    print(text)
    results = [record["steps"].get(step.name, {}) for step in steps if not step.name.startswith("counters")]
    return 1 if any("failed" in r for r in results) else 0 if all("found" in r for r in results) else 2


if __name__ == "__main__":
    sys.exit(main())
