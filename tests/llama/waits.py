"""waits MODEL GGML_CUDA: the kernels behind which a step starts early, in the sources of ggml-cuda.

MODEL (catena/match/detail/ggml_cuda_waits.hpp) lists ops, and the kernels that compute each. Which kernels these are is read
from the calls in the sources; so are the kernels of ggml-cuda's fusions. A kernel that is launched programmatically
must wait, and returns before that only under the conditions of RETURNS. Libraries, whose kernels cannot be read, are
reached only where the model asks for more than the op."""
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
from cuda_sources import Sources

WAIT = "ggml_cuda_pdl_sync"
MODEL, GGML_CUDA = Path(sys.argv[1]), Path(sys.argv[2])

# Bounds of an index of a thread: the first thread's are 0, and ggml launches nothing for empty nodes.
RETURNS = {
    "k_bin_bcast": ["i0s >= ne0 || i1 >= ne1 || i2 >= ne2 || i3 >= ne3.z"],
    "k_bin_bcast_unravel": ["i0 >= ne0.z || i1 >= ne1.z || i2 >= ne2.z || i3 >= ne3"],
    "k_set_rows": ["i >= ne_total"],
    "k_set_rows_quant": ["i >= ne_total"],
    "cpy_scalar": ["i >= ne"],
    "cpy_scalar_contiguous": ["i >= ne"],
    "cpy_f32_q": ["i >= ne"],
    "cpy_q_f32": ["i >= ne"],
    "softcap_f32": ["i >= k"],
    "unary_op_kernel": ["i >= k"],
    "unary_gated_op_kernel": ["i >= k"],
    "rope_neox": ["i0 >= ne00"],
    "rope_multi": ["i0 >= ne00"],
    "rope_vision": ["i0 >= ne00"],
    "topk_moe_cuda": ["row >= n_rows"],
    "quantize_q8_1": ["i0 >= ne0"],
    "mul_mat_vec_q_moe": ["token_idx >= ncols_dst"],
    # The first block has the first token and head of a tile.
    "flash_attn_stream_k_fixup_uniform": ["jt*ncols1 + j >= ne01 || zt_gqa*ncols2 + c >= gqa_ratio"],
    # With two or more tiles of keys, a block begins within one and reaches its end. For one tile see the model.
    "flash_attn_stream_k_fixup_general": [
        "did_not_have_any_data || wrote_beginning_of_tile || did_not_write_last",
        "jt*ncols1 + j >= ne01 || zt_gqa*ncols2 + c >= gqa_ratio"],
    # Variants that ggml does not launch: they compute nothing.
    "flash_attn_ext_vec": ["use_logit_softcap && !(D == 128 || D == 256)"],
    "flash_attn_tile": ["(use_logit_softcap && !(DV == 128 || DV == 256 || DV == 512))"],
}

# What the model asks for, for some ops: they then reach no library.
WITHIN = {"ARGSORT": "argsort_f32_i32_cuda_bitonic", "MUL_MAT": "ggml_cuda_mul_mat_vec_q",
          "MUL_MAT_ID": "ggml_cuda_mul_mat_vec_q"}
LIBRARIES = re.compile(r"\bcublas\w+\s*\(|\bDevice[A-Z]\w+(?=::)|\bcudnn\w+\s*\(|\bthrust::|\bcutlass")

sources = Sources(GGML_CUDA)


def before_wait(body, waiting):
    """The conditions of what returns before the wait, or None: it does not wait."""
    wait = re.search(rf"^ {{4}}(?:[\w ]+ = )?(?:{'|'.join(waiting)})\(", body, flags=re.M)  # under no condition
    if wait is None:
        return None
    conditions = []
    for found in re.finditer(r"\breturn\b", body[:wait.start()]):
        start = [m.end() - 1 for m in re.finditer(r"\bif (constexpr )?\(", body[:found.start()])]
        conditions.append(" ".join(body[start[-1] + 1:sources.closing(body, start[-1]) - 1].split()) if start
                          else "always")
    return conditions


def kernels_of(functions):
    return {(f.file, f.name) for f in functions if f.kernel}


def case_of(op):
    """What ggml-cuda does for a node of the op that is in no fusion."""
    forward, = sources.called("ggml_cuda_compute_forward")
    labels = re.split(r"\n {8}(?:case GGML_OP_(\w+)|default):", forward.text)
    for label, text in zip(labels[labels.index(op)::2], labels[labels.index(op) + 1::2]):
        if text.strip():  # else the next label's
            return text
    raise ValueError(f"{op} does nothing")


class Waits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = MODEL.read_text()
        cls.listed = {}
        for op, text in re.findall(r'\{op::(\w+),\s*((?:"[^"]*"\s*)+)\}', cls.model):
            of_files = [f.split(": ") for f in "".join(re.findall(r'"([^"]*)"', text)).split(", ")]
            cls.listed[op.upper()] = {(file, kernel) for file, kernels in of_files for kernel in kernels.split()}
        everything = "\n".join(sources.texts.values())
        cls.programmatic = set(re.findall(r"ggml_cuda_kernel_launch\(\(*(\w+)", everything))
        for variable, kernels in re.findall(r"\bauto (\w+) *= ([^;]*);", everything):
            if variable in cls.programmatic:  # a kernel that is picked
                cls.programmatic |= set(re.findall(r"\w+", kernels))
        arguments = r"(?:<[^<>;{}]*(?:<[^<>;{}]*>[^<>;{}]*)*>)?"
        cls.plain = set(re.findall(rf"(\w+){arguments}\s*<<<", everything))
        cls.plain |= set(re.findall(r"cudaLaunchCooperativeKernel\(\(void \*\) (\w+)", everything))

    def number(self, name):
        return int(re.search(rf"{name} = (\d+);", self.model).group(1))

    def test_version(self):
        version = re.search(r'ggml_cuda_version = "([\d.]+)"', self.model).group(1)
        cmake = (GGML_CUDA.parent.parent / "CMakeLists.txt").read_text()
        parts = [re.search(rf"GGML_VERSION_{part} (\d+)", cmake).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(version, ".".join(parts))

    def test_every_kernel_is_found(self):
        for file, text in sources.texts.items():
            with self.subTest(file):
                found = [f for f in sources.functions if f.kernel and f.file == file]
                self.assertEqual(len(found), len(re.findall(r"\b__global__\b", text)))

    def test_ops(self):
        """The kernels of an op are those that its case in ggml-cuda reaches, and no library is."""
        self.assertGreater(len(self.listed), 20)
        fused = kernels_of(sources.reached("ggml_cuda_try_fuse"))
        for op, kernels in self.listed.items():
            with self.subTest(op):
                text = case_of(op)
                reached = sources.reached(text)
                if op in WITHIN:
                    self.assertIn(WITHIN[op], {f.name for f in reached})
                    reached = sources.reached(WITHIN[op])
                if op == "ARGSORT":  # behind CUB's
                    kernels = kernels - {("argsort.cu", "init_indices"), ("argsort.cu", "init_offsets")}
                self.assertTrue(kernels_of(reached))
                self.assertLessEqual(kernels_of(reached), kernels)
                self.assertLessEqual(kernels - kernels_of(reached), fused)
                self.assertEqual([(f.file, f.name) for f in reached if LIBRARIES.search(f.text)], [])

    def test_fusions(self):
        """Whatever is fused, its kernels are those of listed ops, or begin with a matmul of floats, which is not."""
        reached = sources.reached("ggml_cuda_try_fuse")
        listed = set().union(*self.listed.values()) | {("mmvf.cu", "mul_mat_vec_f")}
        self.assertLessEqual(kernels_of(reached), listed)
        self.assertEqual([(f.file, f.name) for f in reached if LIBRARIES.search(f.text)], [])

    def test_waits(self):
        for file, name in sorted(set().union(*self.listed.values())):
            with self.subTest(file, kernel=name):
                bodies = [f.body for f in sources.called(name) if f.kernel and f.file == file]
                self.assertTrue(bodies)
                for body in bodies:
                    conditions = before_wait(body, self.waiting(file))
                    if conditions is None:
                        self.assertIn(name, self.plain)
                        self.assertNotIn(name, self.programmatic)
                    else:
                        self.assertEqual(conditions, RETURNS.get(name, []))

    def waiting(self, file):
        """The wait, and functions of the file that begin with it."""
        return [WAIT] + [f.name for f in sources.functions
                         if f.file == file and not f.kernel and "__device__" in f.head
                         and before_wait(f.body, [WAIT]) == []]

    def test_one_way_to_launch(self):
        """Whatever starts early is launched through ggml_cuda_kernel_launch, by a name that was found."""
        where = [f for f, text in sources.texts.items() if "ProgrammaticStreamSerialization" in text]
        self.assertEqual(where, ["common.cuh"])
        text = sources.texts["common.cuh"]
        self.assertEqual(len(re.findall(r"\bggml_cuda_pdl_config pdl_cfg|= ggml_cuda_pdl_config\(", text)), 1)
        kernels = {f.name for f in sources.functions if f.kernel}
        picked = {"kernel", "Kernel", "fattn_kernel"}  # parameters, and variables whose values were found
        self.assertLessEqual({n for n in re.findall(r"ggml_cuda_kernel_launch\(\(*(\w+)",
                                                    "\n".join(sources.texts.values()))}, kernels | picked)

    def test_empty_nodes(self):
        """Nothing is launched for them: the first thread of a kernel is within bounds."""
        self.assertIn("ggml_is_empty(t)", sources.called("ggml_cuda_is_view_or_noop")[0].body)
        walk, = sources.called("ggml_cuda_graph_evaluate_and_capture")
        self.assertLess(walk.body.index("if (ggml_cuda_is_view_or_noop(node))"), walk.body.index("ggml_cuda_try_fuse("))

    def test_tiles_of_keys(self):
        """Flash attention by mma: tiles of keys are no longer than the model says."""
        longest = self.number("longest_key_tile")
        configs = re.findall(r"MMA_CONFIG_CASE\(([\d, ]+),", sources.texts["fattn-mma-f16.cuh"])
        self.assertTrue(configs)
        for numbers in configs:
            self.assertLessEqual(int(numbers.split(",")[5]), longest)

    def test_fixups(self):
        """With two or more tiles of keys some block of the general fixup gets to its wait, by its own arithmetic."""
        body = " ".join(sources.called("flash_attn_stream_k_fixup_general")[0].body.split())
        for line in ("kbc0 = int64_t(bidx0 + 0)*total_work / gridDim.x;",
                     "kbc0_stop = int64_t(bidx0 + 1)*total_work / gridDim.x;",
                     "did_not_have_any_data = kbc0 == kbc0_stop;",
                     "wrote_beginning_of_tile = fastmodulo(kbc0, fd_iter_k) == 0;",
                     "did_not_write_last = fastdiv(kbc0, fd_iter_k) == fastdiv(kbc0_stop, fd_iter_k) && "
                     "fastmodulo(kbc0_stop, fd_iter_k) != 0;"):
            self.assertIn(line, body)

        def some_waits(tiles_of_keys, results, blocks):
            ends = [b * tiles_of_keys * results // blocks for b in range(blocks + 1)]
            return any(a != b and a % tiles_of_keys != 0 and
                       (a // tiles_of_keys != b // tiles_of_keys or b % tiles_of_keys == 0)
                       for a, b in zip(ends, ends[1:]))

        def shapes(tiles_of_keys):
            return [(tiles_of_keys, results, blocks) for results in range(1, 40)
                    for blocks in range(1, min(tiles_of_keys * results, 300) + 1)
                    if results % blocks != 0 and (blocks % results != 0 or blocks <= results)]
        for tiles_of_keys in (2, 3, 4, 5, 7, 8, 16, 33):
            for shape in shapes(tiles_of_keys):
                self.assertTrue(some_waits(*shape), shape)
        self.assertFalse(any(some_waits(*shape) for shape in shapes(1)))

    def test_sorting(self):
        """ARGSORT of longer rows is CUB's."""
        self.assertIn(f"ncols <= {self.number('longest_sorted_row')}", sources.called("ggml_cuda_op_argsort")[0].body)

    def test_columns(self):
        """Matrices of quantized weights and few columns are mul_mat_vec_q's where launches are programmatic."""
        columns = self.number("most_columns_of_vectors")
        most = int(re.search(r"define MMVQ_MAX_BATCH_SIZE (\d+)",
                             (GGML_CUDA / "mmvq.cuh").read_text()).group(1))
        self.assertLessEqual(columns, most)
        limits = sources.called("ggml_cuda_should_use_mmvq")[0].body
        self.assertRegex(limits, r"^\s*\{\s*if \(!ggml_is_quantized\(type\)\) \{\s*return false;\s*\}")
        for gpu, text in re.findall(r"cc == GGML_CUDA_CC_(\w+)\) \{(.*?)\n    \}", limits, flags=re.S):
            if gpu not in ("ORIN", "VOLTA", "ADA_LOVELACE"):  # which launch nothing programmatically
                self.assertTrue(all(int(n) >= columns for n in re.findall(r"<= (\d+)", text)), gpu)
        for function in sources.functions:
            if function.name.startswith("get_mmvq_mmid_max_batch_"):
                self.assertTrue(all(int(n) >= columns for n in re.findall(r"return (\d+)", function.body)))
        # Nothing else takes them before: cuBLAS is for views in buffers of results, the others for floats.
        body = sources.called("ggml_cuda_mul_mat")[0].body
        self.assertEqual(re.findall(r"\n    if \((.*?)[ )]", body[:body.index("ggml_cuda_mul_mat_vec_q(")]),
                         ["ggml_cuda_op_mul_mat_use_fwht(dst", "bad_padding_clear",
                          "ggml_cuda_should_use_mmvf(src0->type,", "ne01", "ggml_cuda_should_use_mmf(src0->type,",
                          "ggml_cuda_should_use_mmvq(src0->type,"])
        body = sources.called("ggml_cuda_mul_mat_id")[0].body
        before = body[:body.index("ggml_cuda_mul_mat_vec_q(")]
        self.assertEqual(re.findall(r"\n +if \((.*)\) \{", before),
                         ["src1->type == GGML_TYPE_F32 && dst->type == GGML_TYPE_F32", "ne2 <= MMVQ_MAX_BATCH_SIZE",
                          "ggml_is_quantized(src0->type)", "ne2 <= mmvq_mmid_max"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
