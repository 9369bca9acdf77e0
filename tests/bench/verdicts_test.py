#!/usr/bin/env python3
"""The verdicts in instances/<arch>/engine.txt say of whole models what the records in bench/results say, and all of it."""
import statistics
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/llama"))
import ab_record


def told():
    """Record and ratio of every verdict."""
    lines = [line.split() for path in sorted(ROOT.glob("instances/*/engine.txt")) for line in path.read_text().splitlines()]
    return {(words[5], words[4]) for words in lines if words and words[0] == "models"}


def measured():
    """The same of each load of a model that was slower with Catena than without it."""
    slower = set()
    for path in sorted((ROOT / "bench/results").glob("llama.*.json")):
        for model in ab_record.read(path)["models"].values():
            for load, samples in model["stages"].items():
                if not ab_record.is_speed(load):
                    continue
                ratio = statistics.median(samples["on"]) / statistics.median(samples["off"])
                if round(ratio, 2) < 1:
                    slower.add((str(path.relative_to(ROOT)), f"{ratio:.2f}"))
    return slower


class Verdicts(unittest.TestCase):
    def test_are_those_of_the_records(self):
        self.assertEqual(told(), measured())

    def test_there_are_records(self):
        self.assertTrue(list((ROOT / "bench/results").glob("llama.*.json")))


if __name__ == "__main__":
    unittest.main()
