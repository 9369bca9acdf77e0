#!/usr/bin/env python3
"""scripts/llama-bench run: makes models of random weights and measures them without Catena and with it.

A call takes nine minutes, or CATENA_MINUTES; the same call again goes on after the last stage that was measured. What
failed is tried again. OUT gets record.json, table.md, page.html and llama_ab.log; of walks steps.json, launches.json.gz
and timelines/; of phases phases.json and the folder phases; of races walk_tuning.json and walk_rows.txt. The file that
--slower names gets what got slower since the last records in bench/results/.
Exit code 0: everything is measured; 1: something failed; 2: nothing failed, but something is left for the next call.
"""
import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
import ab_page
import ab_record
import walk_tuning
import walks
from ab_record import Problem
from models import MODELS, Model
from program import BUILT, ROOT, Ended, Program, TimeIsUp, program_path, provenance

sys.path.insert(0, str(ROOT / "bench"))
import phases
import slower
import timeline

STAYS_FREE = 1 << 28  # bytes of the disk
LEAST_SECONDS = 20    # that a model needs to be made, loaded or measured at all
STAGE_SECONDS = 300   # after which a stage hangs


class Group(NamedTuple):
    """Stages that share a process."""
    stages: tuple
    environment: dict = {}
    has_timeline: bool = False  # of each stage, in a process of its own


class Plan(NamedTuple):
    """What is measured, and how much each stage does."""
    groups: tuple
    options: tuple = ()


def plans(speeds, logits, steps, walk, phased, options):
    """By what --what names. A number of tokens in front of x4 is that of each of four sequences."""
    without_graphs = {"GGML_CUDA_DISABLE_GRAPHS": "1"}
    return {"llama": Plan((Group((*speeds, logits)), Group((steps, f"{steps}x4"), without_graphs)), options),
            "walk": Plan(tuple(Group((stage,), has_timeline=True) for stage in (walk, f"{walk}x4"))),
            "phases": Plan((Group((phased, f"{phased}x4")),)),
            "races": Plan((), ("--turns", str(2 * int(options[1]) - 1)))}


MEASURED = plans(("pp512", "tg128", "tg128x4"), "logits64", "steps16", "walk32", "phases16", ("--turns", "5"))
RACED = "tg32"
REHEARSED = plans(("pp16", "tg4", "tg4x4"), "logits8", "steps2", "walk2", "phases2", ("--turns", "2", "--copy-mb", "4"))
REHEARSED_RACE, REHEARSED_ROWS = "tg2", 3


def opened(path, simulated, origin):
    """The record to go on with. One of another program, GPU or environment is kept beside it."""
    if path.exists():
        record = ab_record.read(path)
        if record["simulated"] == simulated and record["provenance"] == origin:
            return record
        before = path.with_suffix(".before.json")
        path.replace(before)
        print(f"{path.name} was of another program, GPU or environment: it is kept as {before.name}")
    return {"format": ab_record.FORMAT, "simulated": simulated, "provenance": origin, "models": {}}


class Run:
    def __init__(self, asked, program, record):
        self.asked, self.program, self.record = asked, program, record
        self.plan = (REHEARSED if asked.rehearse else MEASURED)[asked.what]
        self.path = asked.out / "record.json"

    def entry(self, model):
        return self.record["models"].setdefault(model.name, {
            "quant": model.quant, "bytes": model.bytes, "experts": model.experts_used(),
            "bytes_read": {str(s): model.bytes_read(s) for s in (1, 4)}, "stages": {}})

    def put(self, model, stage, result):
        if "failed" not in result and ab_record.served(result) is None:
            result["failed"] = "Catena took no matmul: " + "; ".join(result.get("catena", []) or ["it logged no plan"])
        result["when"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.entry(model)["stages"][stage] = result
        ab_record.write(self.path, self.record)
        print(f"{model.name} {stage}: {result.get('failed', 'measured')}", flush=True)

    def missing(self, model, group):
        stages = self.entry(model)["stages"]
        return [stage for stage in group.stages if "failed" in stages.get(stage, {"failed": ""})]

    def make(self, model, file):
        file.with_name(f"{file.name}.part").unlink(missing_ok=True)  # of a call that was cut
        free = shutil.disk_usage(self.asked.files).free
        if free < model.bytes + STAYS_FREE:
            raise Problem(f"{self.asked.files}: {model.name} needs {model.bytes / 1e9:.1f} GB and {free / 1e9:.1f} GB are "
                          "free: name a folder with more room by --files")
        print(f"{model.name}: making {model.bytes / 1e9:.1f} GB", flush=True)
        list(self.program.lines(["make", str(file)], text=model.recipe()))

    def measure(self, model, file, stages, environment):
        """Each of the stages gets a result. One that ends the program does not keep the next from being measured."""
        todo = list(stages)
        while todo:
            try:
                for line in self.program.lines(["measure", str(file), *todo, *self.plan.options],
                                               environment=environment, patience=STAGE_SECONDS):
                    result = json.loads(line)
                    todo.remove(stage := result.pop("stage"))
                    self.put(model, stage, self.kept(model, stage, result))
                if todo:
                    raise Problem("llama_ab ended without a result")
            except Problem as problem:
                failed = todo[:1] if isinstance(problem, Ended) else todo
                for stage in failed:
                    self.put(model, stage, {"failed": str(problem)})
                todo = todo[len(failed):]

    def told_by(self, model, stage):
        """The provenance of a file of one stage."""
        return {**self.record["provenance"], "model": model.name, "stage": stage, "simulated": self.record["simulated"]}

    def kept(self, model, stage, result):
        """The result, whose blocks go to a file of their own."""
        if "blocks" in result:
            lines = result.pop("blocks")
            (self.asked.out / "phases").mkdir(exist_ok=True)
            phases.write(self.asked.out / f"phases/{model.name}.{stage}.json.gz", lines, self.told_by(model, stage))
            try:
                launches = phases.launches_of(lines)
                result["kinds"], result["phases"] = phases.kinds_text(launches), phases.walk_of(launches)
            except phases.Bad as bad:
                result["failed"] = str(bad)
        return result

    def traced(self, arguments):
        """What the program prints under CUPTI, and the file of its timeline, which may not be there."""
        lines, library = self.asked.out / "timeline.tsv", self.asked.timeline
        lines.unlink(missing_ok=True)
        if not library.exists():
            raise Problem(f"{library}: there is no such library: scripts/llama-bench build makes it")
        environment = {"CUDA_INJECTION64_PATH": str(library.resolve()), "CATENA_TIMELINE": str(lines)}
        found = [json.loads(line) for line in self.program.lines(arguments, environment=environment, patience=STAGE_SECONDS)]
        if not found:
            raise Problem("llama_ab ended without a result")
        return found[0], lines

    def walk(self, model, file, stage):
        """Decode steps under CUPTI, as a timeline and where it goes."""
        try:
            result, lines = self.traced(["measure", str(file), stage])
            result.pop("stage")
            if "failed" not in result:
                result["steps"] = walks.accounts(lines, self.asked.out / f"timelines/{model.name}.{stage}.json.gz",
                                                 self.told_by(model, stage))
        except Problem as problem:
            result = {"failed": str(problem)}
        self.put(model, stage, result)

    def racing(self, file, candidates):
        """The program's words for races of candidates, which have as many sequences; each has a file of its own."""
        stage = REHEARSED_RACE if self.asked.rehearse else RACED
        (folder := self.asked.out / "rows").mkdir(exist_ok=True)
        files = [folder / f"{c.name.replace(' ', '.')}.txt" for c in candidates]
        for path, candidate in zip(files, candidates):
            path.write_text(candidate.line(), encoding="utf-8")
        sequences = candidates[0].sequences
        return ["race", str(file), stage if sequences == 1 else f"{stage}x{sequences}", *map(str, files)]

    def race(self, model, file, todo, record):
        """Each candidate takes turns with the walk as it is. One that ends the program has failed."""
        for sequences in walk_tuning.SEQUENCES:
            left = [c for c in todo if c.sequences == sequences]
            while left:
                words = self.racing(file, left)
                try:
                    for line in self.program.lines([*words, *self.plan.options], patience=STAGE_SECONDS):
                        walk_tuning.put(record, model, left[0], walk_tuning.came_of(json.loads(line), left[0]))
                        left.pop(0)
                        walk_tuning.write(self.asked.out, record)
                    if left:
                        raise Problem("llama_ab ended without a result")
                except Problem as problem:
                    for candidate in left[:1] if isinstance(problem, Ended) else left:
                        walk_tuning.put(record, model, candidate, {"verdict": "failed", "why": str(problem)})
                    left = left[1:] if isinstance(problem, Ended) else []
                    walk_tuning.write(self.asked.out, record)

    def explain(self, file, faster, record):
        """Where the time of each faster row went, by a timeline of one more turn."""
        for candidate, found in faster:
            try:
                _, lines = self.traced([*self.racing(file, [candidate]), "--turns", "1"])
                if not lines.exists():
                    raise Problem("no timeline was written: llama_ab.log says why")
                found["where"] = walk_tuning.where_of(timeline.lines_of(lines), candidate.row)
                lines.unlink()
            except (Problem, timeline.Bad) as problem:
                found["where"] = {"failed": str(problem)}
            walk_tuning.write(self.asked.out, record)

    def race_all(self, models, record):
        for model in models:
            known = [c for n in walk_tuning.SEQUENCES
                     for c in walk_tuning.candidates(self.asked.catena, model, n)[:REHEARSED_ROWS if model.small else None]]
            todo = [c for c in known if not walk_tuning.is_known(record, model, c)]
            print(f"{model.name}: {len(todo)} of {len(known)} candidates are left", flush=True)
            if not todo and not walk_tuning.unexplained(record, model, known):
                continue
            if self.program.left() < LEAST_SECONDS:
                raise TimeIsUp
            with self.made(model) as file:
                self.race(model, file, todo, record)
                self.explain(file, walk_tuning.unexplained(record, model, known), record)
                shutil.rmtree(self.asked.out / "rows", ignore_errors=True)

    @contextlib.contextmanager
    def made(self, model):
        """The model's file, which stays if the time is up; the next model needs the room."""
        digest = hashlib.sha256(model.recipe().encode()).hexdigest()[:8]
        file = self.asked.files / f"{model.name}.{digest}.gguf"
        if not file.exists():
            self.make(model, file)
        yield file
        file.unlink()

    def run(self, model):
        groups = [self.missing(model, group) for group in self.plan.groups]
        if not any(groups):
            print(f"{model.name}: measured before")
            return
        if self.program.left() < LEAST_SECONDS:
            raise TimeIsUp
        try:
            with self.made(model) as file:
                for stages, group in zip(groups, self.plan.groups):
                    if group.has_timeline:
                        for stage in stages:
                            self.walk(model, file, stage)
                    else:
                        self.measure(model, file, stages, group.environment)
        except Problem as problem:  # no file could be made
            for stage in sum(groups, []):
                self.put(model, stage, {"failed": str(problem)})


def came_of(run, models):
    """The exit code: the rows of every model count, or why not."""
    code = 0
    for name in models:
        model = run.record["models"].get(name, {"stages": {}})
        for stage in (stage for group in run.plan.groups for stage in group.stages):
            result = model["stages"].get(stage)
            why = ab_record.why_no_row(model, stage) if ab_record.is_speed(stage) else (result or {}).get("failed")
            if result is None or why in ("not measured yet", "logits are not compared yet"):
                code = code or 2
            elif why:
                print(f"{name} {stage}: FAILED, {why}")
                code = 1
    return code


def raced(asked, program, origin):
    """Tuning in the walk; the exit code."""
    record = walk_tuning.opened(asked.out / "walk_tuning.json", asked.rehearse, origin)
    run, code = Run(asked, program, {"models": {}}), 0
    try:
        run.race_all([Model(name, small=asked.rehearse) for name in asked.models or MODELS], record)
    except TimeIsUp:
        print("the time is up: the same call goes on")
        code = 2
    walk_tuning.write(asked.out, record)
    write_slower(asked)
    print("\n".join(walk_tuning.text(record)))
    return code


def write_phases(path, record):
    """The phases of all models in the form of bench/results."""
    walks = [{"model": name, "sequences": ab_record.sequences_of(stage), **result["phases"]}
             for name, model in record["models"].items() for stage, result in model["stages"].items() if "phases" in result]
    phases.write_kinds(path, walks, record["simulated"], record["provenance"])


def write_slower(asked):
    if asked.slower:
        asked.slower.write_text("\n".join(slower.report(asked.out)[0]) + "\n", encoding="utf-8")


def print_accounts(record):
    for name, model in record["models"].items():
        for stage, result in model["stages"].items():
            for found in result.get("steps", []) if stage.startswith("walk") else []:
                side = "with Catena" if found["catena"] else "llama.cpp alone"
                print(f"{name} {stage}, {side}: {timeline.account_text(found)}")
            for kind in result.get("kinds", []):
                print(f"{name} {stage}: {kind}")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Problem(f"{message}: see scripts/llama-bench run --help")


def arguments():
    parser = Parser(prog="llama-bench run", usage="%(prog)s [options] OUT [MODEL...]", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="OUT", help="a folder for the record, the page and the table; behind "
                        f"it models, some of {', '.join(MODELS)}; all by default")
    parser.add_argument("--files", type=Path, help="folder for the model's file while it is measured: up to 22 GB")
    parser.add_argument("--what", choices=list(MEASURED), default="llama", help="llama: speeds, logits and the slowest "
                        "steps; walk: a timeline of every kernel of a decode step; phases: where the time of matvec launches "
                        "goes, by llama_ab_phases; races: rows of the set, raced in a walk one problem at a time")
    parser.add_argument("--catena", type=Path, default="catena", help="the command that lists the rows, for races, and "
                        "the plans, for walks")
    parser.add_argument("--minutes", type=float, help="of this call; nine, or CATENA_MINUTES, by default")
    parser.add_argument("--timeline", type=Path, help="libcatena_timeline.so, if scripts/llama-bench build has not made it "
                        "here")
    parser.add_argument("--slower", type=Path, metavar="FILE", help="what bench/slower.py OUT prints")
    parser.add_argument("--program", help="llama_ab, if scripts/llama-bench build has not made it here")
    parser.add_argument("--rehearse", action="store_true",
                        help="small models and few tokens, for a program without a GPU")
    asked = parser.parse_intermixed_args()
    asked.out, asked.models = Path(asked.words[0]), asked.words[1:]
    return asked


def minutes():
    text = os.environ.get("CATENA_MINUTES", "9")
    if not text.isdigit() or int(text) == 0:
        raise Problem(f"CATENA_MINUTES is a whole number of minutes, not '{text}'")
    return int(text)


def main():
    asked = arguments()
    if unknown := [name for name in asked.models if name not in MODELS]:
        raise Problem(f"no model {unknown[0]}: choose from {', '.join(MODELS)}")
    seconds = 60 * (asked.minutes or minutes())
    path = program_path(asked.program, "llama_ab_phases" if asked.what == "phases" else "llama_ab")
    asked.files = asked.files or BUILT
    asked.timeline = asked.timeline or BUILT / "libcatena_timeline.so"
    for folder in asked.out, asked.files:
        folder.mkdir(parents=True, exist_ok=True)
    with open(asked.out / "llama_ab.log", "w", encoding="utf-8") as log:
        program = Program(path, log)
        origin = provenance(program, asked.rehearse)
        program.end = time.monotonic() + seconds
        if asked.what == "races":
            return raced(asked, program, origin)
        record = opened(asked.out / "record.json", asked.rehearse, origin)
        run = Run(asked, program, record)
        models = asked.models or list(MODELS)
        try:
            for name in models:
                run.run(Model(name, small=asked.rehearse))
        except TimeIsUp:
            print("the time is up: the same call goes on")
    ab_record.write(run.path, record)
    ab_page.write(record, asked.out)
    walks.write_steps(asked.out / "steps.json", record)
    write_phases(asked.out / "phases.json", record)
    if asked.what == "walk":
        for sentence in walks.write_launches(asked.out, record, [Model(name) for name in models], asked.catena):
            print(sentence)
    write_slower(asked)
    print_accounts(record)
    return came_of(run, models)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except (Problem, OSError) as problem:
        sys.exit(f"llama-bench: {problem}")
    except KeyboardInterrupt:
        sys.exit("llama-bench: interrupted: the same call goes on")
