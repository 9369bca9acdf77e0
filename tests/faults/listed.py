"""The lists of small faults in this folder, and the copy of a source that has them all, each behind a switch.

A list is a text file. A line without indentation is the path of a source, or `tests` and the programs that cover the
sources behind it, the first to run first: `exec` is catena_test_exec, `plan_verify:faults,excuses` only what stands in
those two files. An indented line is a fault of the source: its kind, and the text that the fault changes, which occurs
once in the source, as

    off by one: if («row < a.rows => row <= a.rows») work(

A changed part that ends with a semicolon is a statement, any other an expression. Spaces stand for any white space. A
line indented twice says why no test catches the fault above it.
"""
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(r"^(.*)«(.*) => (.*)»(.*)$")
SWITCH = "catena_fault_switch.hpp"


class WrongList(Exception):
    pass


@dataclass
class Fault:
    source: str  # from the root
    tests: list  # of programs
    kind: str
    before: str
    was: str
    becomes: str
    behind: str
    equivalent: str = ""

    @property
    def text(self):
        return self.before + self.was + self.behind

    @property
    def number(self):
        """The same in every run as long as the fault stays as it is."""
        return zlib.crc32("\0".join([self.source, self.before, self.was, self.becomes, self.behind]).encode()) or 1

    def folder(self):
        """The line of the figures that counts it: plan/detail/verify is the proof, the rest of plan the planner."""
        parts = Path(self.source).relative_to("include/catena").parts
        return "plan/verify" if parts[:3] == ("plan", "detail", "verify") else parts[0]

    def __str__(self):
        return f"{self.source}: {self.kind}: {self.before}«{self.was} => {self.becomes}»{self.behind}"


def faults_of(file):
    """The faults of a list, in its order."""
    source, tests, out = None, [], []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        indented = len(line) - len(line.lstrip())
        if indented == 0 and text.startswith("tests "):
            tests = text.split()[1:]
        elif indented == 0:
            source = text
        elif indented > 2 and out:
            out[-1].equivalent = text
        else:
            kind, _, rest = text.partition(": ")
            marked = MARKED.match(rest)
            if not marked or not source or not tests:
                raise WrongList(f"{file.name}:{number}: expected `kind: text with «is => becomes»`, behind a source "
                                "and its tests")
            out.append(Fault(source, tests, kind, *(part if part.strip() else "" for part in marked.groups())))
    return out


def all_faults():
    return [fault for file in sorted(Path(__file__).parent.glob("*.txt")) for fault in faults_of(file)]


def pattern(text):
    return r"\s*".join(re.escape(word) for word in text.split())


def place_of(fault, text):
    """Where the changed part stands in the text of its source, as (begin, end)."""
    found = list(re.finditer(pattern(fault.before) + r"\s*(" + pattern(fault.was) + r")\s*" + pattern(fault.behind), text))
    if len(found) != 1:
        raise WrongList(f"{fault.source} has this text {len(found)} times, expected once: {fault.text}")
    return found[0].span(1)


def switched(fault):
    """The changed part with both its forms. No constant expression has the fault."""
    on = f"catena_fault_on({fault.number}u)"
    if fault.was.rstrip().endswith(";"):
        return f"{{ if ({on}) {{ {fault.becomes} }} else {{ {fault.was} }} }}"
    return f"({on} ? ({fault.becomes}) : ({fault.was}))"


def with_switches(text, faults):
    """The text of a source with all its faults. Their changed parts must lie apart."""
    places = sorted(((place_of(fault, text), fault) for fault in faults), key=lambda place: place[0], reverse=True)
    for ((begin, _), fault), ((_, end), before) in zip(places, places[1:]):
        if end > begin:
            raise WrongList(f"two faults change the same text: {before}\n{fault}")
    for (begin, end), fault in places:
        text = text[:begin] + switched(fault) + text[end:]
    if text.count("#pragma once\n") != 1:
        raise WrongList(f"{faults[0].source} is no header")
    return text.replace("#pragma once\n", f'#pragma once\n#include "{SWITCH}"\n')


SWITCH_TEXT = """// Which fault is on: the number in the environment variable CATENA_FAULT.
#pragma once
#include <cstdlib>

inline const unsigned long catena_active_fault = [] {
    const char* const number = std::getenv("CATENA_FAULT");
    return number == nullptr ? 0ul : std::strtoul(number, nullptr, 10);
}();

/// In a constant expression none is.
constexpr bool catena_fault_on(unsigned number) {
    return !__builtin_is_constant_evaluated() && catena_active_fault == number;
}
"""


def by_source(faults):
    out = {}
    for fault in faults:
        out.setdefault(fault.source, []).append(fault)
    return out
