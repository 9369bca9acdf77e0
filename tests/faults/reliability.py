"""docs/reliability.md: how many of the faults in this folder the tests caught, by folder of include/catena."""
import subprocess
from collections import Counter
from datetime import date

from listed import ROOT
from pages import filled, table, written

PAGE = "docs/reliability.md"
PROGRAM = "scripts/mutate"
LEAST = 95  # percent
FOLDERS = {
    "kernel": "kernel bodies", "exec": "checks of the host executor", "format": "formats", "match": "matcher",
    "pick": "picking", "plan": "planner", "plan/verify": "proof of plans", "launch": "launches",
}
HEAD = ["folder", "what it has", "faults", "caught", "survived"]


def rows(faults, survived):
    """Of each folder and of all: faults, and those that are caught and that are not."""
    count, left = (Counter(fault.folder() for fault in some) for some in (faults, survived))
    out = [[f"`{folder}`", what, count[folder], count[folder] - left[folder], left[folder]]
           for folder, what in FOLDERS.items()]
    return out + [["all", "", len(faults), len(faults) - len(survived), len(survived)]]


def figures(faults, survived):
    return table(HEAD, [[str(cell) for cell in row] for row in rows(faults, survived)])


def survivors(survived):
    if not survived:
        return "No fault survived."
    cells = [[f"`{fault.source.removeprefix('include/catena/')}`", fault.kind, f"`{fault.was}`",
              f"`{fault.becomes}`" if fault.becomes else "nothing", fault.equivalent] for fault in survived]
    return table(["source", "kind", "is", "becomes", "why no test fails"],
                 [[cell.replace("|", "\\|") for cell in row] for row in cells])


def run_of_today(ends):
    def git(*command):
        return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "include", "tests", "instances")
    at = git("rev-parse", "--short=10", "HEAD") + (", with changes that were not committed" if changed else "")
    return (f"Run on {date.today()}, at commit {at}. A check failed for {ends['failed']} of the faults that were caught, and a "
            f"test crashed\nfor {ends['crashed']}. For {ends['hung']} a test was ended, since it took ten seconds of a processor "
            "more than four times what it usually takes.")


def write(faults, results):
    """Writes the page, unless a fault survived without a reason. The exit code."""
    survived = [fault for fault, one in zip(faults, results) if one["ended"] == "survived"]
    wrong = [f"no test catches this fault: add one, or say in the list why none does\n  {fault}"
             for fault in survived if not fault.equivalent]
    wrong += [f"a test catches this fault, so the list should not say why none does\n  {fault}"
              for fault in faults if fault.equivalent and fault not in survived]
    caught = 100 * (len(faults) - len(survived)) / len(faults)
    if caught < LEAST:
        wrong.append(f"only {caught:.1f} % of the faults are caught, expected {LEAST} % at least")
    print("\n".join(wrong) or f"{caught:.1f} % of {len(faults)} faults are caught")
    if wrong:
        return 1
    ends = Counter(one["ended"] for one in results)
    blocks = {"run": run_of_today(ends), "figures": figures(faults, survived), "survivors": survivors(survived)}
    return written({PAGE: filled(PROGRAM, PAGE, blocks)}, PROGRAM, False)
