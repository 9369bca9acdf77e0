"""Records of bench_kernels: read and checked, and the arithmetic that compare and page share."""
import json
import math
import re
import sys

FORMAT = "catena benchmark 1"
OURS, OURS_BY_HOST = "catena", "catena, host clock"
OF_PROVENANCE = ("gpu", "driver", "cuda", "method", "ggml", "clocks_mhz")
OF_CASE = ("kind", "model", "case", "columns", "bytes", "launches", "instances", "steps_key", "floor", "attainable_us",
           "times", "missing")


def fail(text):
    print(text, file=sys.stderr)
    raise SystemExit(2)


class Record:
    def __init__(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                self.json = json.load(file)
        except (OSError, ValueError) as error:
            fail(f"{path}: cannot be read as JSON: {error}")
        if not isinstance(self.json, dict) or self.json.get("format") != FORMAT:
            fail(f"{path}: not a record of bench_kernels: 'format' should be '{FORMAT}'")
        self.path = path
        self.wants("the record", self.json, ("provenance", "cases", "missing_peers"))
        self.provenance = self.json["provenance"]
        self.cases = self.json["cases"]
        self.missing = self.json["missing_peers"]
        self.wants("provenance", self.provenance, OF_PROVENANCE)
        for i, case in enumerate(self.cases):
            self.wants(f"case {i}", case, OF_CASE)
        self.not_measured = ("simulated test data" if self.json.get("simulated") else
                             "predicted by the cost model" if self.json.get("predicted") else "")

    def wants(self, where, found, fields):
        lacking = [field for field in fields if field not in found]
        if lacking:
            fail(f"{self.path}: {where} has no '{lacking[0]}': is it a whole record of bench_kernels?")


def key(case):
    return case["kind"], case["model"], case["case"], case["columns"]


def label(case):
    text = " ".join(part for part in (case["model"], case["case"]) if part)
    return f"{text}, columns {case['columns']}" if case["columns"] else text


def median_error(time):
    """The standard error of a median: of a bell curve the quartiles lie 0.6745 deviations away."""
    return time["spread"] * time["median_us"] / 0.6745 * 1.253 / math.sqrt(time["samples"])


def really_slower(slow, fast):
    """As catena tune decides it: beyond four standard errors, and one percent."""
    error = math.hypot(median_error(slow), median_error(fast))
    return slow["median_us"] - fast["median_us"] > max(4 * error, 0.01 * fast["median_us"])


def ours_beside(case, peer):
    """Catena's time by the clock that the peer was timed with, or None."""
    times = case["times"]
    return times.get(OURS_BY_HOST if peer.startswith("ggml") else OURS)


def ratios(case):
    """{peer: its time over Catena's}, of peers and of Catena's own unfused sequence."""
    out = {}
    for peer, time in case["times"].items():
        ours = ours_beside(case, peer)
        if peer not in (OURS, OURS_BY_HOST) and ours:
            out[peer] = time["median_us"] / ours["median_us"]
    return out


def share_of_attainable(case):
    ours = case["times"].get(OURS)
    return case["attainable_us"] / ours["median_us"] if ours else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def matrices_of(case):
    return len(re.findall(r"\b\d+x\d+", case["case"]))


def targets(cases):
    """What was aimed for: (what, wanted, found or None, the cases that miss it, worst first)."""
    out = []

    def all_of(what, wanted, chosen, value, text):
        known = [(value(c), c) for c in chosen if value(c) is not None]
        missed = sorted((v, label(c)) for v, c in known if v < wanted)
        found = f"{text(min(v for v, _ in known))} at least, of {len(known)}" if known else None
        out.append((what, text(wanted), found, [f"{name}: {text(v)}" for v, name in missed]))

    def mean_of(what, wanted, values):
        mean = geometric_mean(values)
        found = f"{mean:.2f}x, of {len(values)}" if values else None
        out.append((what, f"{wanted:.2f}x", found, [found] if values and mean < wanted else []))

    def percent(v):
        return f"{100 * v:.0f} %"

    chains = [c for c in cases if c["kind"] == "chain"]
    decode = [c for c in chains if c["columns"] == 1]
    for least, most, wanted in ((5e6, 28e6, 0.75), (28e6, 100e6, 0.85), (100e6, math.inf, 0.92)):
        size = f"{least / 1e6:.0f} to {most / 1e6:.0f} MB" if most < math.inf else f"{least / 1e6:.0f} MB and more"
        all_of(f"chains of {size}, 1 column, of attainable", wanted, [c for c in decode if least <= c["bytes"] < most],
               share_of_attainable, percent)
    all_of("layers, 1 column, of attainable with one launch", 0.68,
           [c for c in cases if c["kind"] == "layer" and c["columns"] == 1], share_of_attainable, percent)
    for peer in sorted({p for c in chains for p in c["ratios"] if p.startswith("ggml")}):
        def of(some, peer=peer):
            return [c["ratios"][peer] for c in some if peer in c["ratios"]]

        mean_of(f"{peer}: decode chains, geometric mean", 1.6, of(decode))
        mean_of(f"{peer}: inputs with three or more readers, 1 column, geometric mean", 2.0,
                of([c for c in decode if " input" in c["case"] and matrices_of(c) >= 3]))
        mean_of(f"{peer}: 2 to 8 columns, geometric mean", 1.5, of([c for c in chains if 2 <= c["columns"] <= 8]))
        all_of(f"{peer}: every chain", 1.0, chains, lambda c, peer=peer: c["ratios"].get(peer), lambda v: f"{v:.2f}x")
    rows = {}  # of one computation the policy that is fastest
    for c in cases:
        if c["kind"] == "instance" and c["bytes"] >= 128e6 and re.search(r" rows\d+$", c["case"]) and OURS in c["times"]:
            computation = c["instances"][0].rsplit(".", 2)[0], c["case"].rsplit(" ", 2)[1:]
            best = rows.setdefault(str(computation), c)
            if c["times"][OURS]["median_us"] < best["times"][OURS]["median_us"]:
                rows[str(computation)] = c
    all_of("row computations at 128 MB and more, of copy", 0.9, rows.values(),
           lambda c: c["bytes"] / c["times"][OURS]["median_us"] / c["floor"]["copy_bytes_per_us"], percent)
    return out
