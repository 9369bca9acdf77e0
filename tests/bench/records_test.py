"""compare, engine and page on simulated test data (tests/data/bench): no number in it was ever measured."""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "tests", "data", "bench", "simulated.json")


def run(script, *arguments):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", script), *arguments], text=True,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Records(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        with open(SAMPLE, encoding="utf-8") as file:
            self.sample = json.load(file)

    def tearDown(self):
        self.folder.cleanup()

    def changed(self, change):
        """The sample, changed, as a file."""
        record = copy.deepcopy(self.sample)
        change(record)
        path = os.path.join(self.folder.name, "changed.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)
        return path

    def first_chain(self, record):
        return next(c for c in record["cases"] if c["kind"] == "chain")

    def scaled(self, factor):
        def change(record):
            self.first_chain(record)["times"]["catena"]["median_us"] *= factor
        return self.changed(change)

    def test_nothing_changed(self):
        code, out, _ = run("compare.py", SAMPLE, SAMPLE)
        self.assertEqual(code, 0)
        self.assertIn("slower: 0", out)

    def test_slower_beyond_the_spread_is_an_error_and_named(self):
        code, out, _ = run("compare.py", SAMPLE, self.scaled(1.05))
        self.assertEqual(code, 1)
        self.assertIn("slower: 1", out)
        self.assertIn("Qwen3-8B attention input q4_K 4096x4096,1024x4096 q6_K 1024x4096, columns 1", out)
        self.assertIn("+5.0 %", out)

    def test_faster_is_no_error(self):
        code, out, _ = run("compare.py", SAMPLE, self.scaled(0.9))
        self.assertEqual(code, 0)
        self.assertIn("faster: 1", out)

    def test_within_the_spread_is_the_same(self):
        code, out, _ = run("compare.py", SAMPLE, self.scaled(1.009))
        self.assertEqual(code, 0)
        self.assertIn("slower: 0", out)

    def test_a_case_that_lost_its_time_is_slower(self):
        def change(record):
            del self.first_chain(record)["times"]["catena"]
        code, out, _ = run("compare.py", SAMPLE, self.changed(change))
        self.assertEqual(code, 1)
        self.assertIn("has no time any more", out)

    def test_another_gpu_cannot_be_compared(self):
        def change(record):
            record["provenance"]["gpu"] = "another"
        code, _, error = run("compare.py", SAMPLE, self.changed(change))
        self.assertEqual(code, 2)
        self.assertIn("differ in gpu", error)

    def test_what_is_no_record_is_refused(self):
        def change(record):
            del record["format"]
        code, _, error = run("compare.py", SAMPLE, self.changed(change))
        self.assertEqual(code, 2)
        self.assertIn("not a record of bench_kernels", error)

    def test_what_a_record_lacks_is_named(self):
        for lacks, where in (("provenance", "the record"), ("gpu", "provenance"), ("times", "case 0")):
            def change(record, lacks=lacks):
                del {"gpu": record["provenance"], "times": record["cases"][0]}.get(lacks, record)[lacks]
            for script in ("compare.py", "engine.py"):
                path = self.changed(change)
                code, _, error = run(script, *[path] * (2 if script == "compare.py" else 1))
                self.assertEqual(code, 2)
                self.assertIn(f"{path}: {where} has no '{lacks}'", error)

    def test_chains_that_the_engine_does_faster_are_lines_for_the_planner(self):
        code, out, _ = run("engine.py", SAMPLE)
        self.assertEqual(code, 0)
        lost = [line for line in out.splitlines() if not line.startswith("#")]
        self.assertEqual(len(lost), 2)
        self.assertRegex(lost[0], r"^engine [0-9a-f]{16} \d+\.\d+ \d+\.\d+$")
        self.assertIn("Llama-3.1-8B ffn input q8_0", out)
        self.assertIn("SIMULATED", out)
        _, word, theirs, ours = lost[0].split()
        self.assertLess(float(theirs), float(ours))
        case = next(c for c in self.sample["cases"] if c["steps_key"] == word)
        self.assertEqual(case["times"]["ggml-cuda"]["median_us"], float(theirs))

    def test_an_engine_within_the_spread_is_not_faster(self):
        def change(record):
            for case in record["cases"]:
                if "ggml-cuda" in case["times"] and "catena, host clock" in case["times"]:
                    case["times"]["ggml-cuda"]["median_us"] = case["times"]["catena, host clock"]["median_us"] * 0.995
        code, out, _ = run("engine.py", self.changed(change))
        self.assertEqual(code, 0)
        self.assertNotIn("\nengine ", out)

    def test_an_engine_that_was_not_timed_is_refused(self):
        code, _, error = run("engine.py", SAMPLE, "another")
        self.assertEqual(code, 2)
        self.assertIn("no chain was timed with another", error)

    def page(self, *records):
        code, _, error = run("page.py", *records, self.folder.name)
        if "needs matplotlib" in error:
            self.skipTest(error)
        self.assertEqual((code, error), (0, ""))
        with open(os.path.join(self.folder.name, "index.html"), encoding="utf-8") as file:
            return file.read()

    def test_a_page_that_cannot_be_written_is_refused(self):
        code, _, error = run("page.py", SAMPLE, SAMPLE)
        if "needs matplotlib" in error:
            self.skipTest(error)
        self.assertEqual(code, 2)
        self.assertIn(f"{SAMPLE}: cannot be written", error)

    def test_the_page_says_that_its_data_are_simulated(self):
        self.assertIn("Simulated test data", self.page(SAMPLE))

        def change(record):
            del record["simulated"]
        self.assertNotIn("Simulated test data", self.page(self.changed(change)))

    def test_the_page_says_that_its_times_are_predicted(self):
        def change(record):
            del record["simulated"]
            record["predicted"] = True
        page = self.page(self.changed(change))
        self.assertIn("<title>Catena, predicted by the cost model</title>", page)
        self.assertIn("no GPU ever took these times", page)
        self.assertNotIn("measured in the same turns", page)

    def test_the_page_says_that_cases_failed(self):
        def change(record):
            case = self.first_chain(record)
            case.update(times={}, wrong=True, missing={"catena": "it did not end in 20 s"})
        page = self.page(self.changed(change))
        self.assertRegex(page, r"in no mean and target: 1 of \d+ cases")
        self.assertIn("it did not end in 20 s", page)
        self.assertNotIn("in no mean and target", self.page(SAMPLE))

    def test_the_page_needs_nothing_else(self):
        page = self.page(SAMPLE)
        self.assertEqual(re.findall(r"(?:<script|<link|<img|src=|url\(http)[^>]*", page), [])
        self.assertGreaterEqual(page.count("<svg"), 4)

    def test_the_page_shows_losses_left_overs_and_missing_peers(self):
        page = self.page(SAMPLE)
        self.assertIn('class="lost">0.96x', page)
        self.assertIn("leaves to the engine: ADD", page)
        self.assertIn("install the toolkit&#x27;s libcublas-dev", page)
        self.assertIn("in no side&#x27;s time: FLASH_ATTN_EXT", page.replace("'", "&#x27;"))

    def test_the_page_says_which_targets_are_missed_and_by_what(self):
        page = self.page(SAMPLE)
        row = re.search(r"<tr><td>ggml-cuda: every chain</td>.*?</tr>", page).group()
        self.assertIn("0.96x at least, of 8", row)
        self.assertIn("missed</span>: Llama-3.1-8B ffn input q8_0 14336x4096,14336x4096, columns 1: 0.96x", row)
        row = re.search(r"<tr><td>layers, 1 column.*?</tr>", page).group()
        self.assertIn('<td class="won">met</td>', row)
        row = re.search(r"<tr><td>ggml-cuda: inputs with three.*?</tr>", page).group()
        self.assertIn("1.79x, of 1", row)
        self.assertIn("missed", row)
        row = re.search(r"<tr><td>row computations.*?</tr>", page).group()
        self.assertIn("94 % at least, of 1", row)

    def test_peers_of_a_second_record_stand_beside(self):
        def change(record):
            for case in record["cases"]:
                if "ggml-cuda" in case["times"]:
                    case["times"]["ggml-cuda, GRAPH_OPT"] = case["times"].pop("ggml-cuda")
        page = self.page(SAMPLE, self.changed(change))
        self.assertIn("<th>ggml-cuda, GRAPH_OPT</th>", page)
        self.assertIn("<th>ggml-cuda</th>", page)


if __name__ == "__main__":
    unittest.main()
