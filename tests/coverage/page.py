#!/usr/bin/env python3
"""page.py SUMMARY: how many lines of the headers, of evidence and of the generator the tests run, as docs/reliability.md has it.

SUMMARY is gcovr's summary in JSON. A source of which less than 95 % of the lines ran has a reason in reasons.txt. The exit
code is 1 if it has none, or if less than 95 % of all lines ran.
"""
import json
import subprocess
import sys
from collections import defaultdict
from datetime import date
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
from pages import ROOT, filled, table, written

PAGE = "docs/reliability.md"
PROGRAM = "scripts/coverage"
REASONS = Path(__file__).with_name("reasons.txt")
LEAST = 95  # percent


def percent(of, lines):
    return f"{100 * of / lines:.1f} %"


def folder(source):
    """include/catena/plan/detail/find/finder.hpp is of include/catena/plan."""
    return "/".join(source.split("/")[:-1][:3])


def figures(sources):
    lines, ran = defaultdict(int), defaultdict(int)
    for one in sources:
        for name in folder(one["filename"]), "all":
            lines[name] += one["line_total"]
            ran[name] += one["line_covered"]
    names = [f"`{name}`" if name != "all" else name for name in lines]
    rows = sorted(zip(names, lines), key=lambda row: (row[1] == "all", row[1]))
    return table(["folder", "lines", "run", "share"],
                 [[shown, str(lines[name]), str(ran[name]), percent(ran[name], lines[name])] for shown, name in rows])


def told_reasons():
    told = {}
    for line in REASONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            source, _, reason = line.partition(": ")
            told[source] = reason
    return told


def left_out(sources, told):
    """The sources with a reason, those with most lines first."""
    some = sorted((one for one in sources if one["filename"] in told),
                  key=lambda one: (one["line_covered"] - one["line_total"], one["filename"]))
    return table(["source", "lines", "not run", "why"],
                 [[f"`{one['filename'].removeprefix('include/catena/')}`", str(one["line_total"]),
                   str(one["line_total"] - one["line_covered"]), told[one["filename"]]] for one in some])


def run_of_today():
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.strip()
    return f"Run on {date.today()}, at commit {commit}."


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sources = [one for one in json.loads(Path(sys.argv[1]).read_text())["files"] if one["line_total"]]
    told = told_reasons()
    lines, ran = (sum(one[what] for one in sources) for what in ("line_total", "line_covered"))
    blocks = {"run": run_of_today(), "lines": figures(sources), "left out": left_out(sources, told)}
    print(blocks["lines"])
    wrong = [f"{one['filename']}: {percent(one['line_covered'], one['line_total'])} of its lines ran, and "
             f"{REASONS.relative_to(ROOT)} does not say why" for one in sources
             if 100 * one["line_covered"] < LEAST * one["line_total"] and one["filename"] not in told]
    names = {one["filename"]: one for one in sources}
    wrong += [f"{source}: every line ran, so {REASONS.relative_to(ROOT)} should not have it" for source in told
              if source not in names or names[source]["line_covered"] == names[source]["line_total"]]
    if 100 * ran < LEAST * lines:
        wrong.append(f"only {percent(ran, lines)} of the lines ran, expected {LEAST} % at least")
    print("\n".join(wrong))
    return written({PAGE: filled(PROGRAM, PAGE, blocks)}, PROGRAM, False) or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
