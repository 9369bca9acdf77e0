"""waits MODEL GGML_CUDA: the kernels behind which a step starts early, in the sources of ggml-cuda.

MODEL (catena/match/ggml_cuda_waits.hpp) lists, for each op, the files and kernels that compute it. Of these files every
kernel must be listed. A kernel that is launched programmatically must wait, and returns before that only under the
conditions of RETURNS."""
import re
import sys
import unittest
from pathlib import Path

WAIT = "ggml_cuda_pdl_sync"
MODEL, SOURCES = Path(sys.argv[1]), Path(sys.argv[2])

# Bounds of an index of a thread: the first thread's are 0, and ggml launches nothing for empty nodes.
RETURNS = {
    "k_bin_bcast": ["i0s >= ne0 || i1 >= ne1 || i2 >= ne2 || i3 >= ne3.z"],
    "k_bin_bcast_unravel": ["i0 >= ne0.z || i1 >= ne1.z || i2 >= ne2.z || i3 >= ne3"],
    "k_repeat_back": ["tid0 >= ne0"],
    "k_get_rows_back_float": ["col >= ncols"],
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


def uncommented(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def closing(text, at):
    """Behind the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    raise ValueError("a parenthesis is not closed")


def functions_of(text, marked):
    """Names and bodies of the functions of a file that are marked so."""
    for found in re.finditer(rf"\b{marked}\b", text):
        at = text.index("(", found.end())
        while text[:at].rstrip().endswith("__launch_bounds__"):
            at = text.index("(", closing(text, at))
        name = re.search(r"(\w+)\s*$", text[:at])
        begin = closing(text, at)
        if name and text[begin:].lstrip().startswith("{"):
            yield name.group(1), text[begin:text.index("\n}", begin)]


def before_wait(body, waiting):
    """The conditions of what returns before the wait, or None: it does not wait."""
    wait = re.search(rf"^ {{4}}(?:[\w ]+ = )?(?:{'|'.join(waiting)})\(", body, flags=re.M)  # under no condition
    if wait is None:
        return None
    conditions = []
    for found in re.finditer(r"\breturn\b", body[:wait.start()]):
        start = [m.end() - 1 for m in re.finditer(r"\bif (constexpr )?\(", body[:found.start()])]
        conditions.append(" ".join(body[start[-1] + 1:closing(body, start[-1]) - 1].split()) if start else "always")
    return conditions


class Waits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.listed = {}
        for file, kernels in re.findall(r'\{"([\w.-]+\.cuh?)",\s*((?:"[\w ]*"\s*)+)\}', MODEL.read_text()):
            cls.listed[file] = set("".join(re.findall(r'"([\w ]*)"', kernels)).split())
        cls.texts = {p.name: uncommented(p.read_text())
                     for p in sorted(SOURCES.glob("*.cu*")) if p.suffix in (".cu", ".cuh")}
        everything = "\n".join(cls.texts.values())
        cls.programmatic = set(re.findall(r"ggml_cuda_kernel_launch\(\(*(\w+)", everything))
        arguments = r"(?:<[^<>;{}]*(?:<[^<>;{}]*>[^<>;{}]*)*>)?"
        cls.plain = set(re.findall(rf"(\w+){arguments}\s*<<<", everything))
        cls.plain |= set(re.findall(r"cudaLaunchCooperativeKernel\(\(void \*\) (\w+)", everything))

    def test_list(self):
        self.assertTrue(self.listed)
        for file, kernels in self.listed.items():
            with self.subTest(file):
                self.assertIn(file, self.texts)
                self.assertEqual({name for name, _ in functions_of(self.texts[file], "__global__")}, kernels)

    def test_version(self):
        version = re.search(r'ggml_cuda_version = "([\d.]+)"', MODEL.read_text()).group(1)
        cmake = (SOURCES.parent.parent / "CMakeLists.txt").read_text()
        parts = [re.search(rf"GGML_VERSION_{part} (\d+)", cmake).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(version, ".".join(parts))

    def test_waits(self):
        for file in self.listed:
            text = self.texts[file]
            waiting = [WAIT]
            waiting += [name for name, body in functions_of(text, "__device__") if before_wait(body, [WAIT]) == []]
            for name, body in functions_of(text, "__global__"):
                with self.subTest(file, kernel=name):
                    conditions = before_wait(body, waiting)
                    if conditions is None:
                        self.assertIn(name, self.plain)
                        self.assertFalse(name in self.programmatic)
                    else:
                        self.assertEqual(conditions, RETURNS.get(name, []))

    def test_one_way_to_launch(self):
        """Whatever starts early is launched through ggml_cuda_kernel_launch."""
        where = [f for f, text in self.texts.items() if "ProgrammaticStreamSerialization" in text]
        self.assertEqual(where, ["common.cuh"])
        text = self.texts["common.cuh"]
        self.assertEqual(len(re.findall(r"\bggml_cuda_pdl_config pdl_cfg|= ggml_cuda_pdl_config\(", text)), 1)

    def test_tiles_of_keys(self):
        """Flash attention by mma: tiles of keys are no longer than the model says."""
        longest = int(re.search(r"longest_key_tile = (\d+)", MODEL.read_text()).group(1))
        text = self.texts["fattn-mma-f16.cuh"]
        for numbers in re.findall(r"MMA_CONFIG_CASE\(([\d, ]+),", text):
            self.assertLessEqual(int(numbers.split(",")[5]), longest)

    def test_sorting(self):
        """ARGSORT of longer rows is CUB's."""
        longest = re.search(r"longest_sorted_row = (\d+)", MODEL.read_text()).group(1)
        self.assertIn(f"ncols <= {longest}", self.texts["argsort.cu"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
