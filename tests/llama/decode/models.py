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

EMBEDDING, FEED_FORWARD, HEADS, KV_HEADS, HEAD, VOCABULARY = 256, 512, 4, 2, 64, 256
EXPERTS, EXPERTS_USED, EXPERT_FEED_FORWARD = 8, 2, 256
QUERY, KEY = HEADS * HEAD, KV_HEADS * HEAD

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
    """The two files of a family. Matrices have weights of a mean of 0, vectors of the mean that is given."""

    def __init__(self, folder, name, layers=2):
        self.rng = np.random.default_rng(3)
        family = name.split(".")[0]
        self.mixed = gguf.GGUFWriter(folder / f"{name}.gguf", family)
        self.exact = gguf.GGUFWriter(folder / f"{name}.f32.gguf", family)
        self.layers = layers
        self.says(context_length=512, embedding_length=EMBEDDING, block_count=layers, vocab_size=VOCABULARY)
        if name.endswith(".words"):
            self.has_words()
        else:
            self.says(tokenizer_model="no_vocab")
        self.matrix("token_embd", VOCABULARY, EMBEDDING, Type.Q8_0, gain=10)
        self.vector("output_norm.weight", EMBEDDING)

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

    def blocks(self):
        return [f"blk.{layer}." for layer in range(self.layers)]

    # What families share.

    def has_attention(self, norm="layer_norm_rms_eps", heads=HEADS, kv_heads=KV_HEADS):
        self.says(feed_forward_length=FEED_FORWARD, head_count=heads, head_count_kv=kv_heads, key_length=HEAD,
                  value_length=HEAD, rope_dimension_count=HEAD, rope_freq_base=10000.0, **{norm: 1e-6})

    def has_words(self):
        """A token for each byte, for programs that read text."""
        kinds = gguf.TokenType
        special = [b"<unk>", b"<s>", b"</s>"]
        bytes_ = [f"<0x{byte:02X}>".encode() for byte in range(VOCABULARY - len(special))]
        self.says(tokenizer_model="llama", token_list=special + bytes_, token_scores=[0.0] * VOCABULARY,
                  token_types=[kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * len(bytes_)])

    def has_output(self):
        self.matrix("output", VOCABULARY, EMBEDDING, Type.Q6_K)

    def has_experts(self):
        self.says(expert_count=EXPERTS, expert_used_count=EXPERTS_USED,
                  expert_feed_forward_length=EXPERT_FEED_FORWARD)

    def attention(self, at, kind=Type.Q4_K, value=Type.Q6_K, query=QUERY, key=KEY, output=QUERY):
        self.matrix(at + "attn_q", query, EMBEDDING, kind)
        self.matrix(at + "attn_k", key, EMBEDDING, kind)
        self.matrix(at + "attn_v", key, EMBEDDING, value)
        self.matrix(at + "attn_output", EMBEDDING, output, kind)

    def norms(self, at, **shapes):
        for name, shape in shapes.items():
            self.vector(f"{at}{name}.weight", shape)

    def feed_forward(self, at):
        self.matrix(at + "ffn_gate", FEED_FORWARD, EMBEDDING, Type.Q4_K)
        self.matrix(at + "ffn_up", FEED_FORWARD, EMBEDDING, Type.Q4_K)
        self.matrix(at + "ffn_down", EMBEDDING, FEED_FORWARD, Type.Q6_K)

    def experts(self, at, first=Type.Q4_K, last=Type.Q6_K):
        self.matrix(at + "ffn_gate_inp", EXPERTS, EMBEDDING, Type.F32)
        self.matrix(at + "ffn_gate_exps", EXPERT_FEED_FORWARD, EMBEDDING, first, EXPERTS)
        self.matrix(at + "ffn_up_exps", EXPERT_FEED_FORWARD, EMBEDDING, first, EXPERTS)
        self.matrix(at + "ffn_down_exps", EMBEDDING, EXPERT_FEED_FORWARD, last, EXPERTS)

    def shared_expert(self, at):
        self.matrix(at + "ffn_gate_shexp", EXPERT_FEED_FORWARD, EMBEDDING, Type.Q4_K)
        self.matrix(at + "ffn_up_shexp", EXPERT_FEED_FORWARD, EMBEDDING, Type.Q4_K)
        self.matrix(at + "ffn_down_shexp", EMBEDDING, EXPERT_FEED_FORWARD, Type.Q6_K)

    def feed_forward_or_experts(self, layer, at):
        """The first layer has no experts. The others have a bias where experts are chosen, and a shared expert."""
        if layer == 0:
            self.feed_forward(at)
            return
        self.experts(at)
        self.shared_expert(at)
        self.vector(at + "exp_probs_b.bias", EXPERTS, 0)


def llama(m):
    m.has_attention()
    m.has_output()
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING, ffn_norm=EMBEDDING)
        m.attention(at)
        m.feed_forward(at)


def llama_of_eight_heads(m):  # half of its heads are one block of q4_K, so two devices can share each matrix
    heads, kv_heads = 8, 4
    m.has_attention(heads=heads, kv_heads=kv_heads)
    m.has_output()
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING, ffn_norm=EMBEDDING)
        m.attention(at, query=heads * HEAD, key=kv_heads * HEAD, output=heads * HEAD)
        m.feed_forward(at)


def qwen3(m):
    llama(m)
    for at in m.blocks():
        m.norms(at, attn_q_norm=HEAD, attn_k_norm=HEAD)


def qwen3moe(m):
    m.has_attention()
    m.has_experts()
    m.has_output()
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING, attn_q_norm=HEAD, attn_k_norm=HEAD, ffn_norm=EMBEDDING)
        m.attention(at)
        m.experts(at)


def gemma3(m):  # its output multiplies with the embedding
    m.has_attention()
    m.says(sliding_window=16)
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING, attn_q_norm=HEAD, attn_k_norm=HEAD, post_attention_norm=EMBEDDING,
                ffn_norm=EMBEDDING, post_ffw_norm=EMBEDDING)
        m.attention(at)
        m.feed_forward(at)


def gpt_oss(m):
    m.has_attention()
    m.has_experts()
    m.has_output()
    m.says(sliding_window=16)
    biases = {"attn_q": QUERY, "attn_k": KEY, "attn_v": KEY, "attn_output": EMBEDDING, "ffn_gate_inp": EXPERTS,
              "ffn_gate_exps": (EXPERTS, EXPERT_FEED_FORWARD), "ffn_up_exps": (EXPERTS, EXPERT_FEED_FORWARD),
              "ffn_down_exps": (EXPERTS, EMBEDDING)}
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING, post_attention_norm=EMBEDDING)
        m.attention(at, Type.Q8_0, Type.Q8_0)
        m.experts(at, Type.MXFP4, Type.MXFP4)
        m.vector(at + "attn_sinks.weight", HEADS, 0)
        for name, shape in biases.items():
            m.vector(f"{at}{name}.bias", shape, 0)


def falcon(m):  # attention and feed forward read the same norm
    m.has_attention("layer_norm_eps")
    m.has_output()
    m.vector("output_norm.bias", EMBEDDING, 0)
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING)
        m.vector(at + "attn_norm.bias", EMBEDDING, 0)
        m.matrix(at + "attn_qkv", QUERY + 2 * KEY, EMBEDDING, Type.Q4_K)
        m.matrix(at + "attn_output", EMBEDDING, QUERY, Type.Q4_K)
        m.matrix(at + "ffn_up", FEED_FORWARD, EMBEDDING, Type.Q4_K)
        m.matrix(at + "ffn_down", EMBEDDING, FEED_FORWARD, Type.Q6_K)


def command_r(m):
    m.has_attention("layer_norm_eps")
    m.says(logit_scale=0.25)
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING)
        m.attention(at)
        m.feed_forward(at)


def phi3(m):  # one matrix has gate and up
    m.has_attention()
    m.has_output()
    for at in m.blocks():
        m.norms(at, attn_norm=EMBEDDING, ffn_norm=EMBEDDING)
        m.matrix(at + "attn_qkv", QUERY + 2 * KEY, EMBEDDING, Type.Q4_K)
        m.matrix(at + "attn_output", EMBEDDING, QUERY, Type.Q4_K)
        m.matrix(at + "ffn_up", 2 * FEED_FORWARD, EMBEDDING, Type.Q4_K)
        m.matrix(at + "ffn_down", EMBEDDING, FEED_FORWARD, Type.Q6_K)


def olmo2(m):  # norms stand behind what they belong to
    m.has_attention()
    m.has_output()
    for at in m.blocks():
        m.norms(at, attn_q_norm=QUERY, attn_k_norm=KEY, post_attention_norm=EMBEDDING, post_ffw_norm=EMBEDDING)
        m.attention(at)
        m.feed_forward(at)


def glm4moe(m):  # the first layer has no experts
    m.has_attention()
    m.has_experts()
    m.has_output()
    m.says(expert_shared_count=1, leading_dense_block_count=1, expert_weights_scale=1.5, expert_weights_norm=True)
    for layer, at in enumerate(m.blocks()):
        m.norms(at, attn_norm=EMBEDDING, post_attention_norm=EMBEDDING)
        m.attention(at)
        m.feed_forward_or_experts(layer, at)


def deepseek2(m):  # its attention keeps one vector for all heads, and has matrices for each head
    rank, rope, plain, value = 256, HEAD, HEAD, HEAD
    m.says(feed_forward_length=FEED_FORWARD, head_count=HEADS, head_count_kv=1, key_length=rank + rope,
           value_length=rank, key_length_mla=plain + rope, value_length_mla=value, rope_dimension_count=rope,
           rope_freq_base=10000.0, layer_norm_rms_eps=1e-6, q_lora_rank=rank, kv_lora_rank=rank, expert_shared_count=1,
           leading_dense_block_count=1, expert_weights_scale=1.5, expert_weights_norm=True,
           expert_gating_func=gguf.ExpertGatingFuncType.SIGMOID)
    m.has_experts()
    m.has_output()
    for layer, at in enumerate(m.blocks()):
        m.norms(at, attn_norm=EMBEDDING, attn_q_a_norm=rank, attn_kv_a_norm=rank, ffn_norm=EMBEDDING)
        m.matrix(at + "attn_q_a", rank, EMBEDDING, Type.Q4_K)
        m.matrix(at + "attn_q_b", HEADS * (plain + rope), rank, Type.Q4_K)
        m.matrix(at + "attn_kv_a_mqa", rank + rope, EMBEDDING, Type.Q4_K)
        m.matrix(at + "attn_k_b", rank, plain, Type.Q8_0, HEADS)
        m.matrix(at + "attn_v_b", value, rank, Type.Q8_0, HEADS)
        m.matrix(at + "attn_output", EMBEDDING, HEADS * value, Type.Q4_K)
        m.feed_forward_or_experts(layer, at)


def state_space(m, inner, state, heads, groups):
    m.says(ssm_conv_kernel=4, ssm_inner_size=inner, ssm_state_size=state, ssm_time_step_rank=heads,
           ssm_group_count=groups)


MAMBA_INNER, MAMBA_STATE, MAMBA_HEADS = 2 * EMBEDDING, 64, 8


def mamba_layer(m, at):
    convolved = MAMBA_INNER + 2 * MAMBA_STATE
    m.norms(at, attn_norm=EMBEDDING, ssm_norm=(1, MAMBA_INNER))
    m.matrix(at + "ssm_in", MAMBA_INNER + convolved + MAMBA_HEADS, EMBEDDING, Type.Q4_K)
    m.matrix(at + "ssm_out", EMBEDDING, MAMBA_INNER, Type.Q6_K)
    m.vector(at + "ssm_conv1d.weight", (convolved, 4), 0.25)
    m.vector(at + "ssm_conv1d.bias", convolved, 0)
    m.vector(at + "ssm_dt.bias", MAMBA_HEADS, 0)
    m.vector(at + "ssm_a", (MAMBA_HEADS, 1), -1)
    m.vector(at + "ssm_d", (MAMBA_HEADS, 1))


def mamba2(m):
    state_space(m, MAMBA_INNER, MAMBA_STATE, MAMBA_HEADS, 1)
    m.says(layer_norm_rms_eps=1e-6, head_count=0, feed_forward_length=0)
    m.has_output()
    for at in m.blocks():
        mamba_layer(m, at)


def granitehybrid(m):  # the first layer is recurrent, the second has attention; four scales
    m.says(feed_forward_length=FEED_FORWARD, head_count=HEADS, head_count_kv=[0, KV_HEADS], key_length=HEAD,
           value_length=HEAD, rope_dimension_count=HEAD, rope_freq_base=10000.0, layer_norm_rms_eps=1e-6,
           embedding_scale=12.0, residual_scale=0.22, attention_scale=0.0156, logit_scale=8.0)
    state_space(m, MAMBA_INNER, MAMBA_STATE, MAMBA_HEADS, 1)
    m.has_output()
    recurrent, attending = m.blocks()
    mamba_layer(m, recurrent)
    m.norms(attending, attn_norm=EMBEDDING)
    m.attention(attending)
    for at in m.blocks():
        m.norms(at, ffn_norm=EMBEDDING)
        m.feed_forward(at)


def qwen35moe(m):  # of four layers one has attention, the others a gated delta net
    key_heads, value_heads, state = 2, 4, 64
    keys, values = key_heads * state, value_heads * state
    m.has_attention()
    m.has_experts()
    m.has_output()
    state_space(m, values, state, value_heads, key_heads)
    m.says(rope_dimension_sections=[11, 11, 10, 0], expert_shared_feed_forward_length=EXPERT_FEED_FORWARD)
    for layer, at in enumerate(m.blocks()):
        m.norms(at, attn_norm=EMBEDDING, post_attention_norm=EMBEDDING)
        m.experts(at)
        m.shared_expert(at)
        m.vector(at + "ffn_gate_inp_shexp.weight", EMBEDDING, 0)
        if layer % 4 == 3:
            m.norms(at, attn_q_norm=HEAD, attn_k_norm=HEAD)
            m.attention(at, query=2 * QUERY)
            continue
        m.norms(at, ssm_norm=state)
        m.matrix(at + "attn_qkv", 2 * keys + values, EMBEDDING, Type.Q4_K)
        m.matrix(at + "attn_gate", values, EMBEDDING, Type.Q4_K)
        m.matrix(at + "ssm_out", EMBEDDING, values, Type.Q6_K)
        m.matrix(at + "ssm_beta", value_heads, EMBEDDING, Type.Q8_0)
        m.matrix(at + "ssm_alpha", value_heads, EMBEDDING, Type.Q8_0)
        m.vector(at + "ssm_conv1d.weight", (2 * keys + values, 4), 0.25)
        m.vector(at + "ssm_dt.bias", value_heads, 0)
        m.vector(at + "ssm_a", value_heads, -1)


def write_lora(file):
    """An adapter of the llama: what it adds to two matrices of each layer is of rank 8."""
    rng = np.random.default_rng(4)
    adapter = gguf.GGUFWriter(file, "llama")
    adapter.add_type("adapter")
    adapter.add_string("adapter.type", "lora")
    adapter.add_float32("adapter.lora.alpha", 8.0)
    for at in "blk.0.", "blk.1.":
        for name, rows, k in ("attn_q", QUERY, EMBEDDING), ("ffn_down", EMBEDDING, FEED_FORWARD):
            adapter.add_tensor(f"{at}{name}.weight.lora_a", rng.normal(0, 0.05, (8, k)).astype(np.float32))
            adapter.add_tensor(f"{at}{name}.weight.lora_b", rng.normal(0, 0.05, (rows, 8)).astype(np.float32))
    adapter.write_header_to_file()
    adapter.write_kv_data_to_file()
    adapter.write_tensors_to_file()
    adapter.close()


FAMILIES = {"llama": llama, "qwen3": qwen3, "qwen3moe": qwen3moe, "gemma3": gemma3, "gpt-oss": gpt_oss,
            "falcon": falcon, "command-r": command_r, "phi3": phi3, "olmo2": olmo2, "glm4moe": glm4moe,
            "mamba2": mamba2, "granitehybrid": granitehybrid, "deepseek2": deepseek2, "qwen35moe": qwen35moe,
            "llama.eight_heads": llama_of_eight_heads, "llama.words": llama}

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, describe in FAMILIES.items():
    model = Model(folder, name, layers=4 if name == "qwen35moe" else 2)
    describe(model)
    model.close()
write_lora(folder / "llama.lora.gguf")
