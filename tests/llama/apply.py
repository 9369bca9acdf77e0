"""apply INTEGRATION [LLAMA_DIR...]: the script that puts Catena into ggml-cuda, on a stand-in of its files and on
copies of real trees."""
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

INTEGRATION, REAL = Path(sys.argv[1]), [Path(p) for p in sys.argv[2:]]
APPLY = INTEGRATION / "apply"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("apply", str(APPLY))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("apply", loader))
loader.exec_module(script)

TOUCHED = ["CMakeLists.txt", "src/ggml-cuda/CMakeLists.txt", "src/ggml-cuda/common.cuh", "src/ggml-cuda/ggml-cuda.cu"]


def stand_in(root, newline="\n", end="", optimize=script.KEEPING):
    """Files that hold the anchors, indented and with other lines between them."""
    for file in TOUCHED:
        path = root / "ggml" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"first line of {file}, gr\u00fcn\x0c"]
        for what in [*script.INSERTIONS, optimize]:
            if what.file == file:
                lines += ["    " + line for line in what.anchor] + ["    other line", ""]
        text = newline.join(lines) + end
        path.write_bytes(text.encode() + b"\xff")  # not UTF-8, and no newline at the end


def contents(root):
    return {p.relative_to(root): (p.read_bytes(), p.stat().st_mode) for p in sorted(root.rglob("*")) if p.is_file()}


def run(root, *options):
    return subprocess.run([sys.executable, str(APPLY), *options, str(root)], capture_output=True, text=True)


class Apply(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name) / "llama"
        self.root.mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def applied(self, *options, root=None):
        done = run(root or self.root, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *parts):
        before = contents(self.root)
        done = run(self.root)
        self.assertNotEqual(done.returncode, 0)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(contents(self.root), before)

    def there_and_back(self, root):
        before = contents(root)
        self.applied(root=root)
        after = contents(root)
        self.assertEqual(len(after), len(before) + len(script.ADDED))
        for file in TOUCHED:
            self.assertNotEqual(after[Path("ggml") / file], before[Path("ggml") / file])
        self.assertIn("nothing to do", self.applied(root=root))
        self.assertEqual(contents(root), after)
        self.applied("--revert", root=root)
        self.assertEqual(contents(root), before)
        self.assertIn("nothing to do", self.applied("--revert", root=root))
        return {file: after[Path("ggml") / file][0] for file in TOUCHED}

    def test_in_again_and_out(self):
        stand_in(self.root)
        after = self.there_and_back(self.root)
        for what in [*script.INSERTIONS, script.KEEPING]:
            self.assertIn(what.text.encode(), after[what.file])
        self.assertIn(b"params->add_alloc_dep", after[script.CUDA])

    def test_a_ggml_that_keeps_nothing_alive(self):
        stand_in(self.root, optimize=script.NOT_KEEPING)
        self.assertNotIn(b"add_alloc_dep", self.there_and_back(self.root)[script.CUDA])

    def test_lines_that_end_as_on_windows(self):
        stand_in(self.root, newline="\r\n")
        for text in self.there_and_back(self.root).values():
            self.assertEqual(text.count(b"\n"), text.count(b"\r\n"))

    def test_a_checkout_of_ggml_alone(self):
        stand_in(self.root)
        before = contents(self.root)
        self.applied(root=self.root / "ggml")
        self.assertIn("nothing to do", self.applied())
        self.applied("--revert")
        self.assertEqual(contents(self.root), before)

    def test_an_older_integration_is_renewed(self):
        stand_in(self.root)
        before = contents(self.root)
        self.applied()
        new = contents(self.root)
        cuda = self.root / "ggml" / script.CUDA
        cuda.write_bytes(cuda.read_bytes().replace(b"ggml_cuda_catena_did(", b"ggml_cuda_catena_older("))
        (cuda.parent / "catena.cu").write_text("older")
        self.assertIn("2 files changed", self.applied())
        self.assertEqual(contents(self.root), new)
        self.applied("--revert")
        self.assertEqual(contents(self.root), before)

    def test_each_anchor_that_is_missing_is_named(self):
        for what in [*script.INSERTIONS, script.KEEPING]:
            with self.subTest(what.anchor):
                stand_in(self.root)
                path = self.root / "ggml" / what.file
                first = what.anchor[0].encode()
                path.write_bytes(path.read_bytes().replace(b"    " + first, b"    // " + first))
                self.refused(what.file, what.anchor[0], "is missing", "nothing was changed")

    def test_an_anchor_that_stands_twice_is_named(self):
        stand_in(self.root)
        path = self.root / "ggml" / script.CUDA
        path.write_bytes(b"prev_i = i;\n" + path.read_bytes())
        self.refused(script.CUDA, "prev_i = i;", "stands there 2 times")

    def test_a_block_of_which_half_is_gone(self):
        stand_in(self.root)
        self.applied()
        path = self.root / "ggml" / script.CUDA
        path.write_bytes(path.read_bytes().replace(script.END.encode(), b"", 1))
        self.refused(script.CUDA, "restore the file by hand")

    def test_a_folder_that_is_no_llama(self):
        self.refused("there is no such file")

    def test_real_trees(self):
        for number, real in enumerate(REAL):
            with self.subTest(str(real)):
                copy = Path(self.folder.name) / str(number)
                for file in TOUCHED:
                    (copy / "ggml" / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(real / "ggml" / file, copy / "ggml" / file)
                self.applied("--revert", root=copy)  # it may have been applied where it came from
                self.there_and_back(copy)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
