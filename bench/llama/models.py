"""The models of the A/B: real graphs say which tensors a model has, of which shapes and formats. What graphs do not say
stands in MODELS."""
import gzip
import json
import math
import re
import struct
from pathlib import Path
from typing import NamedTuple

GRAPHS = Path(__file__).resolve().parents[2] / "tests/data/graphs"

# The sizes of each tensor, innermost first, by the letters of SMALL. A number stands for itself.
SIZES = {
    "token_embd": "E V", "output": "E V", "output_norm": "E", "rope_freqs": "R",
    "attn_norm": "E", "ffn_norm": "E", "post_attention_norm": "E", "attn_q_norm": "D", "attn_k_norm": "D",
    "attn_q": "E Q", "attn_k": "E K", "attn_v": "E K", "attn_output": "Q E", "attn_sinks": "H",
    "ffn_gate": "E F", "ffn_up": "E F", "ffn_down": "F E",
    "ffn_gate_inp": "E X", "ffn_gate_exps": "E XF X", "ffn_up_exps": "E XF X", "ffn_down_exps": "XF E X",
    "ffn_gate_shexp": "E SF", "ffn_up_shexp": "E SF", "ffn_down_shexp": "SF E", "ffn_gate_inp_shexp": "E",
    "attn_qkv": "E C", "attn_gate": "E I", "ssm_out": "I E", "ssm_conv1d": "4 C", "ssm_norm": "N",
    "ssm_alpha": "E T", "ssm_beta": "E T", "ssm_dt": "T", "ssm_a": "T",
}
GATED_QUERY = {"attn_q": "E QG"}  # a gate beside each query

# What the letters are in a model that is small enough for a CPU.
SMALL = {"E": 256, "V": 512, "R": 32, "D": 64, "Q": 256, "QG": 512, "K": 128, "H": 4, "F": 512, "X": 8, "XF": 256,
         "SF": 256, "C": 512, "I": 256, "N": 64, "T": 4}
SMALL_EXPERTS_USED = 2


class Family(NamedTuple):
    graph: str
    head: int            # values of an attention's head
    layers_in_turn: int  # after so many layers their kinds come again
    other: dict = {}     # facts that no graph has
    sizes: dict = {}     # where they are not those of SIZES


MODELS = {
    "llama-3.1-8b": Family("llama-3.1-8b-q8_0", 128, 1),
    "qwen3-8b": Family("qwen3-8b-q4km", 128, 1),
    "qwen3-30b-a3b": Family("qwen3-30b-a3b-q4km", 128, 1),
    "gpt-oss-20b": Family("gpt-oss-20b-mxfp4", 64, 2, {"attention.sliding_window": 128}),
    "qwen3.6-35b-a3b": Family("qwen3.6-35b-a3b-q4km", 256, 4, sizes=GATED_QUERY),
}


class Tensor(NamedTuple):
    name: str
    type: str
    sizes: tuple
    bytes: int

    @property
    def is_matrix(self):
        return len(self.sizes) > 1 and self.name.endswith(".weight") and "conv1d" not in self.name


def as_float(word):
    return struct.unpack("f", struct.pack("i", word))[0]


class Model:
    """A model of MODELS, as large as it is or small."""

    def __init__(self, name, small=False):
        self.name, self.family, self.small = name, MODELS[name], small
        with gzip.open(GRAPHS / f"{self.family.graph}.tg1.json.gz", "rt", encoding="utf-8") as file:
            self.graph = json.load(file)
        self.arch, self.quant = self.graph["arch"], self.graph["quant"]
        weights = [t for t in self.graph["tensors"] if t["op"] == "NONE" and t["weight"]]
        self.letters = self.read_letters(weights)
        self.layers = 1 + max(int(t["name"].split(".")[1]) for t in weights if t["name"].startswith("blk."))
        if small:
            self.letters = {letter: SMALL[letter] for letter in self.letters}
            self.layers = max(2, self.family.layers_in_turn)
        self.tensors = [self.tensor(t) for t in weights if self.is_kept(t["name"])]

    def letters_of(self, name):
        """Of blk.3.attn_q.weight those of attn_q; of a bias those of what it is added to."""
        kind = re.sub(r"^blk\.\d+\.", "", name)
        base = kind.split(".")[0]
        letters = {**SIZES, **self.family.sizes}[base].split()
        return letters[1:] if kind.endswith(".bias") and len(letters) > 1 else letters

    def read_letters(self, weights):
        """The sizes that the graph's tensors have; each letter has one size in a model."""
        found = {}
        for t in weights:
            letters, sizes = self.letters_of(t["name"]), t["ne"]
            for letter, size in zip(letters + ["1"] * (4 - len(letters)), sizes):
                if (int(letter) if letter.isdigit() else found.setdefault(letter, size)) != size:
                    raise ValueError(f"{self.family.graph}: {t['name']} is {sizes}, which is not {' '.join(letters)}")
        return found

    def is_kept(self, name):
        return not name.startswith("blk.") or int(name.split(".")[1]) < self.layers

    def tensor(self, t):
        letters = self.letters_of(t["name"])
        sizes = tuple(int(l) if l.isdigit() else self.letters[l] for l in letters)
        blocks = t["ne"][0] * t["nb"][0] // t["nb"][1]  # elements of a block
        return Tensor(t["name"], t["type"], sizes, math.prod(sizes) // blocks * t["nb"][0])

    @property
    def bytes(self):
        return sum(t.bytes for t in self.tensors)

    def graph_file(self, sequences):
        """The graph of a decode step with one token of each of 1 or 4 sequences."""
        return GRAPHS / f"{self.family.graph}.{'tg1' if sequences == 1 else f'b{sequences}'}.json.gz"

    def node(self, op):
        return next((t for t in self.graph["tensors"] if t["op"] == op), None)

    def experts_used(self):
        chosen = self.node("MUL_MAT_ID")
        if chosen is None:
            return 0
        return SMALL_EXPERTS_USED if self.small else self.graph["tensors"][chosen["src"][2]]["ne"][0]

    def bytes_read(self, sequences):
        """Bytes of weights that a decode step reads, if each token's experts are drawn at random."""
        experts, used = self.letters.get("X", 1), self.experts_used()
        share = 1 - (1 - used / experts) ** sequences
        has_output = any(t.name == "output.weight" for t in self.tensors)
        read = [t for t in self.tensors if t.name != "token_embd.weight" or not has_output]
        return sum(t.bytes * (share if "_exps." in t.name else 1) for t in read)

    def facts(self):
        """What a GGUF file says of a model: {key: (kind, value)}."""
        l, head = self.letters, self.family.head if not self.small else SMALL["D"]
        rope = self.node("ROPE")["params"] + [0] * 15
        rotated = rope[1] * head // self.family.head
        u32 = {"context_length": 32768, "embedding_length": l["E"], "block_count": self.layers,
               "feed_forward_length": l.get("F", l.get("XF")), "attention.head_count": l["Q"] // head,
               "attention.head_count_kv": l["K"] // head, "attention.key_length": head,
               "attention.value_length": head, "rope.dimension_count": rotated, "vocab_size": l["V"],
               **self.family.other}
        f32 = {"rope.freq_base": as_float(rope[5]), "attention.layer_norm_rms_epsilon": self.norm_epsilon()}
        out = {"general.architecture": ("str", self.arch), "general.name": ("str", f"random-{self.name}"),
               "tokenizer.ggml.model": ("str", "no_vocab")}
        if "X" in l:
            u32.update({"expert_count": l["X"], "expert_used_count": self.experts_used(),
                        "expert_feed_forward_length": l["XF"]})
        if "SF" in l:
            u32["expert_shared_feed_forward_length"] = l["SF"]
        if "C" in l:
            keys = (l["C"] - l["I"]) // 2
            u32.update({"ssm.conv_kernel": 4, "ssm.inner_size": l["I"], "ssm.state_size": l["N"],
                        "ssm.time_step_rank": l["T"], "ssm.group_count": keys // l["N"]})
        if any(rope[11:15]):
            out[f"{self.arch}.rope.dimension_sections"] = ("i32s", " ".join(map(str, rope[11:15])))
        if (scale := as_float(rope[6])) != 1:
            f32["rope.scaling.factor"] = 1 / scale
            u32["rope.scaling.original_context_length"] = rope[4]
            out[f"{self.arch}.rope.scaling.type"] = ("str", "yarn")
        out.update({f"{self.arch}.{key}": ("u32", value) for key, value in u32.items()})
        out.update({f"{self.arch}.{key}": ("f32", repr(value)) for key, value in f32.items()})
        return out

    def norm_epsilon(self):
        """That of norms which multiply with a weight; the others are of a delta net."""
        return max(as_float(t["params"][0]) for t in self.graph["tensors"] if t["op"] == "RMS_NORM")

    def weights_of(self, t):
        """Mean and deviation of a tensor's weights. Activations keep their size from layer to layer."""
        if t.name == "token_embd.weight":
            return 0, 1
        if t.is_matrix:
            return 0, 1 / math.sqrt(t.sizes[0])
        if "conv1d" in t.name:
            return 0.25, 0.1
        if t.name.endswith("ssm_a"):
            return -1, 0.1
        around_one = t.name.endswith("norm.weight") or t.name == "rope_freqs.weight"
        return (1 if around_one else 0), 0.1

    def recipe(self):
        """For llama_ab make."""
        lines = [f"{kind} {key} {value}" for key, (kind, value) in self.facts().items()]
        for t in self.tensors:
            mean, deviation = self.weights_of(t)
            lines.append(f"tensor {t.name} {t.type} {mean} {deviation!r} {' '.join(map(str, t.sizes))}")
        return "\n".join(lines) + "\n"
