"""models_test ROOT LLAMA_AB ACCEPTS: the models of the A/B are those of real files, and llama_ab writes what a recipe
says."""
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import gguf
import numpy as np

ROOT, LLAMA_AB, ACCEPTS = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/llama"))
from models import MODELS, SMALL, Family, Model

import models

RECIPE = """str general.architecture llama
str general.name two words
u32 llama.block_count 3
f32 llama.rope.freq_base 500000.5
i32s llama.rope.dimension_sections 11 -1 10 0
tensor first.weight q4_K 0 0.5 512 300
tensor bias f32 1 0.1 7
tensor second.weight q6_K 0 0.25 768 64
tensor third.weight q8_0 0 2 288 65
tensor experts.weight mxfp4 0 1 288 33 4
"""


def type_of(name):
    return gguf.GGMLQuantizationType[name.upper()]


def described(recipe, file):
    """The file that a recipe asks for, by the gguf package, with holes for weights."""
    lines = [line.split(maxsplit=2) for line in recipe.splitlines()]
    writer = gguf.GGUFWriter(file, next(value for _, key, value in lines if key == "general.architecture"))
    add = {"str": writer.add_string, "u32": lambda k, v: writer.add_uint32(k, int(v)),
           "f32": lambda k, v: writer.add_float32(k, float(v)),
           "i32s": lambda k, v: writer.add_array(k, [int(i) for i in v.split()])}
    size = 0
    for kind, key, value in lines:
        if kind == "tensor":
            type_name, _, _, *sizes = value.split()
            sizes, kind = [int(n) for n in sizes], type_of(type_name)
            block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
            count = int(np.prod(sizes)) // block * block_bytes
            writer.add_tensor_info(key, sizes[::-1], np.dtype(np.float32), count, raw_dtype=kind)
            size += -(-count // 32) * 32
        elif key != "general.architecture":
            add[kind](key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with open(file, "r+b") as to:
        to.truncate(-(-file.stat().st_size // 32) * 32 + size)


def make(recipe, file, **more):
    return subprocess.run([LLAMA_AB, "make", str(file)], input=recipe, text=True, capture_output=True, **more)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "model.gguf"

    def tearDown(self):
        self.folder.cleanup()


class Models(Folder):
    def test_libllama_accepts_the_models_at_full_size(self):
        for name in MODELS:
            with self.subTest(name):
                model = Model(name)
                described(model.recipe(), self.file)
                done = subprocess.run([ACCEPTS, str(self.file)], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(int(done.stdout), model.bytes)

    def test_a_model_with_a_wrong_fact_is_not_accepted(self):
        described(Model("qwen3-8b").recipe().replace("head_count_kv 8", "head_count_kv 4"), self.file)
        self.assertNotEqual(subprocess.run([ACCEPTS, str(self.file)], capture_output=True).returncode, 0)

    def test_small_models_have_the_tensors_of_the_first_layers(self):
        for name in MODELS:
            with self.subTest(name):
                large, small = Model(name), Model(name, small=True)
                kept = [(t.name, t.type) for t in large.tensors if large.is_kept(t.name) and small.is_kept(t.name)]
                self.assertEqual([(t.name, t.type) for t in small.tensors], kept)
                self.assertLess(small.bytes, 1e7)

    def test_a_graph_whose_sizes_do_not_fit_is_named(self):
        MODELS["odd"] = Family("qwen3.6-35b-a3b-q4km", 256, 4)  # whose queries have gates
        try:
            with self.assertRaisesRegex(ValueError, "attn_output.weight is .* which is not Q E"):
                Model("odd")
        finally:
            del MODELS["odd"]

    def test_bytes_that_a_step_reads(self):
        model = Model("qwen3-30b-a3b", small=True)
        experts = sum(t.bytes for t in model.tensors if "_exps." in t.name)
        rest = model.bytes - experts - next(t.bytes for t in model.tensors if t.name == "token_embd.weight")
        used = models.SMALL_EXPERTS_USED / SMALL["X"]
        self.assertAlmostEqual(model.bytes_read(1), rest + experts * used)
        self.assertAlmostEqual(model.bytes_read(2), rest + experts * (1 - (1 - used) ** 2))


class Make(Folder):
    def test_facts_and_weights_are_those_of_the_recipe(self):
        self.assertEqual(make(RECIPE, self.file).returncode, 0)
        reader = gguf.GGUFReader(self.file)
        facts = {key: field.contents() for key, field in reader.fields.items()}
        self.assertEqual(facts["general.name"], "two words")
        self.assertEqual(facts["llama.block_count"], 3)
        self.assertEqual(facts["llama.rope.freq_base"], 500000.5)
        self.assertEqual(facts["llama.rope.dimension_sections"], [11, -1, 10, 0])
        wanted = [line.split()[1:] for line in RECIPE.splitlines() if line.startswith("tensor")]
        self.assertEqual(len(reader.tensors), len(wanted))
        for tensor, (name, kind, mean, deviation, *sizes) in zip(reader.tensors, wanted):
            self.assertEqual((tensor.name, tensor.tensor_type, list(tensor.shape)),
                             (name, type_of(kind), [int(n) for n in sizes]))
            if name != "bias":
                weights = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                self.assertAlmostEqual(weights.mean(), float(mean), delta=0.05 * float(deviation))
                self.assertAlmostEqual(weights.std() / float(deviation), 1, delta=0.1)
                rows = weights.reshape(-1, int(sizes[0]))
                self.assertEqual(len(np.unique(rows, axis=0)), len(rows))  # no two are alike

    def test_a_line_that_is_wrong_is_named(self):
        for line, why in (("tensor x q4_K 0 1 100 4", "sizes that a tensor of q4_K cannot have"),
                          ("tensor x q4_K 0 1", "sizes"), ("tensor x q4_Z 0 1 256", "no type 'q4_Z'"),
                          ("u32 key", "a value is missing"), ("u64 key 1", "'u64' is no kind of line")):
            done = make(f"str general.architecture llama\n{line}\n", self.file)
            self.assertEqual(done.returncode, 1)
            self.assertIn("line 2 of the recipe", done.stderr)
            self.assertIn(why, done.stderr)
        self.assertIn("no tensors", make("str general.architecture llama\n", self.file).stderr)
        self.assertEqual(list(self.file.parent.iterdir()), [])

    def test_a_full_disk_leaves_no_file(self):
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))
        done = make(RECIPE, self.file, preexec_fn=small, restore_signals=False)  # SIGXFSZ is ignored
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("model.gguf: cannot be written: File too large", done.stderr)
        self.assertEqual(list(self.file.parent.iterdir()), [])

    def test_a_folder_that_is_not_there(self):
        done = make(RECIPE, self.file.parent / "none" / "model.gguf")
        self.assertIn("cannot be made: No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
