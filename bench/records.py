"""Records of bench_kernels: read and checked, and the arithmetic that compare and page share."""
import json
import math
import sys

FORMAT = "catena benchmark 1"
OURS, OURS_BY_HOST = "catena", "catena, host clock"


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
        self.provenance = self.json["provenance"]
        self.cases = self.json["cases"]
        self.missing = self.json["missing_peers"]
        self.simulated = self.json.get("simulated", False)


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
    """{peer: its time over Catena's}, of peers and of Catena's own matmuls alone."""
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
