#!/usr/bin/env python3
"""models.py FOLDER: small models with random weights, for libllama.

Each family of models is written twice: NAME.gguf has weights in the formats that real files mix, and NAME.f32.gguf has
the same weights as f32. The `gguf` package defines the formats and turns the weights into f32.
"""
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

LAYERS, EMBEDDING, FEED_FORWARD, HEADS, KV_HEADS, HEAD, VOCABULARY = 2, 256, 512, 4, 2, 64, 256
EXPERTS, EXPERTS_USED, EXPERT_FEED_FORWARD = 8, 2, 256

# Where a block has its f16 scales, and what they are beside each other. The minimum of q4_K and q5_K is the mean of what
# is scaled, so weights have no mean.
SCALES = {Type.Q8_0: {0: 1}, Type.Q4_K: {0: 1, 2: 7.5}, Type.Q5_K: {0: 1, 2: 15.5}, Type.Q6_K: {208: 1}}


def random_weights(rng, kind, shape, deviation):
    """Random weights of a standard deviation: bytes of the format, and the same weights in f32."""
    if kind == Type.F32:
        exact = rng.normal(0, deviation, shape).astype(np.float32)
        return exact, exact
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (int(np.prod(shape)) // elements, size), dtype=np.uint8)

    def scaled(by):
        if kind == Type.MXFP4:
            blocks[:, 0] = 127 + round(np.log2(by))
        for offset, part in SCALES.get(kind, {}).items():
            blocks[:, offset:offset + 2] = np.frombuffer(np.float16(by * part).tobytes(), np.uint8)
        return gguf.quants.dequantize(blocks.reshape(-1), kind)

    exact = scaled(deviation / scaled(1.0).std())
    return blocks.reshape(*shape[:-1], -1), exact.reshape(shape).astype(np.float32)


class Model:
    """The two files of a family."""

    def __init__(self, folder, family):
        self.rng = np.random.default_rng(3)
        self.mixed = gguf.GGUFWriter(folder / f"{family}.gguf", family)
        self.exact = gguf.GGUFWriter(folder / f"{family}.f32.gguf", family)
        self.family = family

    def says(self, **facts):
        for file in self.mixed, self.exact:
            for name, value in facts.items():
                getattr(file, "add_" + name)(value)

    def matrix(self, name, rows, k, kind, experts=0, gain=1.0):
        shape = (experts, rows, k) if experts else (rows, k)
        blocks, exact = random_weights(self.rng, kind, shape, gain / np.sqrt(k))
        self.mixed.add_tensor(name + ".weight", blocks, raw_dtype=kind)
        self.exact.add_tensor(name + ".weight", exact)

    def vector(self, name, shape, mean=1.0):
        values = self.rng.normal(mean, 0.1, shape).astype(np.float32)
        for file in self.mixed, self.exact:
            file.add_tensor(name, values)

    def close(self):
        for file in self.mixed, self.exact:
            file.write_header_to_file()
            file.write_kv_data_to_file()
            file.write_tensors_to_file()
            file.close()


def write(folder, family):
    model = Model(folder, family)
    gpt_oss, gemma, experts = family == "gpt-oss", family == "gemma3", family in ("gpt-oss", "qwen3moe")
    model.says(context_length=512, embedding_length=EMBEDDING, block_count=LAYERS, feed_forward_length=FEED_FORWARD,
               head_count=HEADS, head_count_kv=KV_HEADS, key_length=HEAD, value_length=HEAD, rope_dimension_count=HEAD,
               vocab_size=VOCABULARY, tokenizer_model="no_vocab", layer_norm_rms_eps=1e-6, rope_freq_base=10000.0)
    if gemma or gpt_oss:
        model.says(sliding_window=16)
    if experts:
        model.says(expert_count=EXPERTS, expert_used_count=EXPERTS_USED,
                   expert_feed_forward_length=EXPERT_FEED_FORWARD)
    model.matrix("token_embd", VOCABULARY, EMBEDDING, Type.Q8_0, gain=10)
    model.vector("output_norm.weight", EMBEDDING)
    if not gemma:  # whose output multiplies with the embedding
        model.matrix("output", VOCABULARY, EMBEDDING, Type.Q6_K)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        attention = Type.Q8_0 if gpt_oss else Type.Q4_K
        model.vector(at + "attn_norm.weight", EMBEDDING)
        model.matrix(at + "attn_q", HEADS * HEAD, EMBEDDING, attention)
        model.matrix(at + "attn_k", KV_HEADS * HEAD, EMBEDDING, attention)
        model.matrix(at + "attn_v", KV_HEADS * HEAD, EMBEDDING, Type.Q8_0 if gpt_oss else Type.Q6_K)
        model.matrix(at + "attn_output", EMBEDDING, HEADS * HEAD, attention)
        if gpt_oss:
            model.vector(at + "attn_sinks.weight", HEADS, 0)
            for name, rows in (("attn_q", HEADS * HEAD), ("attn_k", KV_HEADS * HEAD), ("attn_v", KV_HEADS * HEAD),
                               ("attn_output", EMBEDDING), ("ffn_gate_inp", EXPERTS)):
                model.vector(at + name + ".bias", rows, 0)
        elif family != "llama":
            model.vector(at + "attn_q_norm.weight", HEAD)
            model.vector(at + "attn_k_norm.weight", HEAD)
        if gemma or gpt_oss:
            model.vector(at + "post_attention_norm.weight", EMBEDDING)
        if gemma:
            model.vector(at + "post_ffw_norm.weight", EMBEDDING)
        if not gpt_oss:
            model.vector(at + "ffn_norm.weight", EMBEDDING)
        if not experts:
            model.matrix(at + "ffn_gate", FEED_FORWARD, EMBEDDING, Type.Q4_K)
            model.matrix(at + "ffn_up", FEED_FORWARD, EMBEDDING, Type.Q4_K)
            model.matrix(at + "ffn_down", EMBEDDING, FEED_FORWARD, Type.Q6_K)
            continue
        # Far apart, so that rounding seldom picks other experts.
        model.matrix(at + "ffn_gate_inp", EXPERTS, EMBEDDING, Type.F32, gain=8)
        first, last = (Type.MXFP4, Type.MXFP4) if gpt_oss else (Type.Q4_K, Type.Q6_K)
        model.matrix(at + "ffn_gate_exps", EXPERT_FEED_FORWARD, EMBEDDING, first, EXPERTS)
        model.matrix(at + "ffn_up_exps", EXPERT_FEED_FORWARD, EMBEDDING, first, EXPERTS)
        model.matrix(at + "ffn_down_exps", EMBEDDING, EXPERT_FEED_FORWARD, last, EXPERTS)
        if gpt_oss:
            for name, rows in (("gate", EXPERT_FEED_FORWARD), ("up", EXPERT_FEED_FORWARD), ("down", EMBEDDING)):
                model.vector(f"{at}ffn_{name}_exps.bias", (EXPERTS, rows), 0)
    model.close()


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name in "llama", "qwen3moe", "gemma3", "gpt-oss":
    write(folder, name)
