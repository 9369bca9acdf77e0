"""Tuning in the walk: rows of the set raced inside the model's own decode step, one problem and one row at a time.

Times of a launch in a chain of copies do not order rows as a model's own walk does, where other kernels run before and
behind it. Here a walk with the rows as they are takes turns with a walk in which one problem has another row. A timeline
of both says where the time of a faster row went.
"""
import json
import math
import re
import statistics
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ab_record
import timeline
from program import said_by

FORMAT = "catena walk tuning 1"
SEQUENCES = (1, 4)
MOST_ROWS = 6          # of a problem, by their predicted times
LEAST_SHARE = 0.001    # of the walk: less is no difference
STANDARD_ERRORS = 4


class Candidate(NamedTuple):
    sequences: int
    problem: str  # in words
    launches: int
    key: str
    row: str
    predicted_us: float
    least_us: float  # of the problem's rows

    @property
    def name(self):
        return f"{self.key} {self.row}"

    def line(self):
        """Its median for the program: one that no prediction displaces."""
        return f"{self.row} {self.key} {self.least_us:.4f} 0\n"


def candidates(catena, model, sequences):
    """Those that `catena tune --list` names for the model's graph; problems with one row have nothing to choose."""
    listed = said_by(catena, "tune", "--list", "--arch", "sm_90", "--graphs", model.graph_file(sequences))
    problems, what, launches = {}, "", 0
    for line in listed.splitlines():
        if found := re.match(r"# (.*); (\d+) launches$", line):
            what, launches = found[1], int(found[2])
        elif not line.startswith("#"):
            row, key, predicted, _ = line.split()
            problems.setdefault(key, []).append(Candidate(sequences, what, launches, key, row, float(predicted), 0))
    for rows in problems.values():
        rows.sort(key=lambda c: c.predicted_us)
    return [c._replace(least_us=rows[0].predicted_us) for rows in problems.values() if len(rows) > 1 for c in rows[:MOST_ROWS]]


def opened(path, simulated, origin):
    """The record to go on with. One of another program, GPU or environment is kept beside it."""
    if path.exists():
        record = json.loads(path.read_text(encoding="utf-8"))
        if record.get("format") == FORMAT and record["provenance"] == origin:
            return record
        path.replace(path.with_suffix(".before.json"))
    return {"format": FORMAT, "source": "walk", "simulated": simulated, "provenance": origin, "models": {}}


def judged(result, sequences):
    """The difference to the walk as it is, in us, and whether it is one."""
    walks = [[1e6 * sequences / speed for speed in result[side]] for side in ("default", "candidate")]
    differences = [candidate - usual for usual, candidate in zip(*walks)]
    middle, usual = statistics.median(differences), statistics.median(walks[0])
    quartiles = statistics.quantiles(differences, n=4, method="inclusive") if len(differences) > 1 else [middle] * 3
    error = (quartiles[2] - quartiles[0]) / 2 / 0.6745 * 1.253 / math.sqrt(len(differences))
    least = max(STANDARD_ERRORS * error, LEAST_SHARE * usual)
    verdict = "slower" if middle > least else "faster" if middle < -least else "tied"
    return {"walk_us": usual, "median_us": statistics.median(walks[1]), "difference_us": middle, "error_us": error,
            "samples": len(differences), "verdict": verdict}


def came_of(result, candidate):
    """What the record keeps of one race."""
    said = " ".join(result.get("catena", []))
    if "failed" in result:
        return {"verdict": "failed", "why": result["failed"]}
    if "1 medians of" not in said or ", 0 are of no row" not in said:
        return {"verdict": "failed", "why": "the program does not have the row, or reads no medians"}
    return judged(result, candidate.sequences)


def where_of(kernels, row):
    """Where the time of a row went, by a timeline of both walks: us of the launches that have it, and of all else."""
    symbol = f"catena_{row.replace('.', '_')}"
    steps = timeline.steps_of(kernels)
    for usual, candidate in ((a, b) for a in steps for b in steps if len(a[0]) == len(b[0])):
        raced = {i: b.name for i, (a, b) in enumerate(zip(usual[0], candidate[0])) if a.name != b.name}
        if set(raced.values()) == {symbol}:
            return {"launches": len(raced), "default": parts_of(usual, raced), "candidate": parts_of(candidate, raced)}
    raise timeline.Bad(f"{len(kernels)} kernels were recorded, but no two walks that {row} alone sets apart")


def parts_of(repeats, raced):
    """Medians of the repeats of a step, in us that no earlier kernel hides: of the raced launches, of the others, and in
    which no kernel ran."""
    sums = []
    for step in repeats:
        found = list(timeline.exposed(step))
        own = [sum(us for i, (_, _, us) in enumerate(found) if (i in raced) == wanted) for wanted in (True, False)]
        sums.append((*own, sum(gap for _, gap, _ in found)))
    return {name: round(statistics.median(us), 3) for name, us in zip(("launches_us", "others_us", "gaps_us"), zip(*sums))}


def unexplained(record, model, known):
    """The candidates that make a walk faster, and their results, of which nobody has looked where the time went."""
    out = []
    for c in known:
        problem = record["models"].get(model.name, {}).get(str(c.sequences), {}).get(c.key)
        best = problem and fastest(problem)
        if best and best[1] == c.row and "where" not in problem["candidates"][c.row]:
            out.append((c, problem["candidates"][c.row]))
    return out


def where_text(found):
    if "failed" in found:
        return f"where the time went is not known: {found['failed']}"
    before, now = found["default"], found["candidate"]
    each = [side["launches_us"] / found["launches"] for side in (before, now)]
    return (f"its {found['launches']} launches {now['launches_us'] - before['launches_us']:+.1f} us, {each[0]:.2f} to "
            f"{each[1]:.2f} each; others {now['others_us'] - before['others_us']:+.1f}, gaps "
            f"{now['gaps_us'] - before['gaps_us']:+.1f}")


def put(record, model, candidate, result):
    of_model = record["models"].setdefault(model.name, {})
    problem = of_model.setdefault(str(candidate.sequences), {}).setdefault(candidate.key, {
        "problem": candidate.problem, "launches": candidate.launches, "candidates": {}})
    problem["candidates"][candidate.row] = {"predicted_us": candidate.predicted_us, **result,
                                            "when": datetime.now(timezone.utc).isoformat(timespec="seconds")}


def is_known(record, model, candidate):
    problems = record["models"].get(model.name, {}).get(str(candidate.sequences), {})
    return candidate.row in problems.get(candidate.key, {"candidates": {}})["candidates"]


def fastest(problem):
    """The row that makes the walk faster than it is, and by how much; None if none does."""
    faster = [(found["difference_us"], row) for row, found in problem["candidates"].items() if found["verdict"] == "faster"]
    return min(faster, default=None)


def problems_of(record):
    for model, by_sequences in record["models"].items():
        for sequences, problems in by_sequences.items():
            for key, problem in problems.items():
                yield model, int(sequences), key, problem


def text(record):
    """A line for each problem that has a faster row, the largest gain first; then how many have none."""
    gains, rest, failed = [], 0, 0
    for model, sequences, _, problem in problems_of(record):
        failed += sum(found["verdict"] == "failed" for found in problem["candidates"].values())
        best = fastest(problem)
        rest += best is None
        if best is not None:
            us, row = best
            gains.append((us, f"{us:8.1f} us a walk of {problem['candidates'][row]['walk_us']:.0f}: {model}, {sequences} a "
                              f"step, {problem['problem']}, {problem['launches']} launches: {row}"
                              + (f"; {where_text(found)}" if (found := problem["candidates"][row].get("where")) else "")))
    return [line for _, line in sorted(gains)] + [f"{rest} problems have no faster row, {failed} candidates failed"]


def rows_text(record):
    """The faster rows for GGML_CUDA_CATENA_ROWS."""
    lines = ["# Rows that make a walk faster, by races in the walk. Their times are predicted; the walk has chosen them.\n"]
    best = {}
    for _, _, key, problem in problems_of(record):
        found = fastest(problem)
        if found is not None and found < best.get(key, (0, ""))[:2]:
            best[key] = (*found, problem["candidates"][found[1]]["predicted_us"])
    lines += [f"{row} {key} {predicted:.4f} 0\n" for key, (_, row, predicted) in best.items()]
    return "".join(lines)


def write(out, record):
    ab_record.write(out / "walk_tuning.json", record)
    (out / "walk_rows.txt").write_text(rows_text(record), encoding="utf-8")
