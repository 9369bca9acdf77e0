// What a file says of a small model of any architecture of libllama. Most facts stand in every
// file: an architecture reads those that it knows.
#pragma once

#include <gguf.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace catena_test {

constexpr int layers = 4, vocabulary = 256;

/// Facts of a model, for libllama.
class shape {
  public:
    explicit shape(const std::string& arch) : arch_(arch) {
        gguf_set_val_str(facts_, "general.architecture", arch.c_str());
        gguf_set_val_str(facts_, "tokenizer.ggml.model", "no_vocab");
        gguf_set_val_u32(facts_, "tokenizer.ggml.token_type_count", 2);
        common();
        of_experts();
        of_recurrent_layers();
        of_attention();
        of_single_architectures();
    }
    ~shape() { gguf_free(facts_); }
    shape(const shape&) = delete;
    shape& operator=(const shape&) = delete;

    gguf_context* facts() const { return facts_; }

  private:
    const std::string arch_;
    gguf_context* const facts_ = gguf_init_empty();

    bool is(std::initializer_list<const char*> archs) const {
        return std::find(archs.begin(), archs.end(), arch_) != archs.end();
    }
    std::string key(const char* name) const { return arch_ + "." + name; }
    void count(const char* name, std::uint32_t v) {
        gguf_set_val_u32(facts_, key(name).c_str(), v);
    }
    void number(const char* name, float v) { gguf_set_val_f32(facts_, key(name).c_str(), v); }
    void truth(const char* name, bool v) { gguf_set_val_bool(facts_, key(name).c_str(), v); }
    void counts(const char* name, const std::vector<std::int32_t>& v) {
        gguf_set_arr_data(facts_, key(name).c_str(), GGUF_TYPE_INT32, v.data(), v.size());
    }
    void numbers(const char* name, const std::vector<float>& v) {
        gguf_set_arr_data(facts_, key(name).c_str(), GGUF_TYPE_FLOAT32, v.data(), v.size());
    }
    void truths(const char* name, const std::vector<char>& v) {
        gguf_set_arr_data(facts_, key(name).c_str(), GGUF_TYPE_BOOL, v.data(), v.size());
    }

    void common() {
        count("vocab_size", vocabulary), count("context_length", 512);
        count("embedding_length", 256), count("block_count", layers);
        count("feed_forward_length", 512), count("leading_dense_block_count", 1);
        number("attention.layer_norm_rms_epsilon", 1e-6f);
        number("attention.layer_norm_epsilon", 1e-6f);
        number("logit_scale", 0.25f), number("final_logit_softcapping", 30);
        number("residual_scale", 0.22f), number("embedding_scale", 12);
        truth("use_parallel_residual", true), truth("attention.causal", true);
        count("embedding_length_per_layer_input", 256);
        numbers("swiglu_clamp_exp", std::vector<float>(layers, 7));
        for (const char* name : {"alpha_n", "alpha_p", "beta"})
            gguf_set_val_f32(facts_, (std::string("xielu.") + name).c_str(), 0.8f);
        gguf_set_val_f32(facts_, "xielu.eps", -1e-6f);
        count("num_loops", 1);
        count("hrm.layers_per_stack", 2), count("hrm.h_cycles", 1), count("hrm.l_cycles", 1);
        count("hyper_connection.count", 4), count("hyper_connection.sinkhorn_iterations", 5);
        count("hyper_connection.low_rank", 32), number("hyper_connection.epsilon", 1e-6f);
        number("hyper_connection.magnitude", 1);
        count("attn_res.block_size", 2), number("activation.situ_beta", 1);
        number("activation.situ_linear_beta", 1);
    }

    /// Each token has all experts: where two are nearly equal any rounding may choose the other
    /// one.
    void of_experts() {
        const std::uint32_t experts = is({"llama4"}) ? 1 : 8;  // llama4 sums up no experts
        count("expert_count", experts), count("expert_used_count", experts);
        count("expert_feed_forward_length", 256), count("expert_shared_feed_forward_length", 256);
        count("expert_shared_count", 1), count("expert_gating_func", 2);
        number("expert_weights_scale", 1.5f), truth("expert_weights_norm", true);
        number("router_logit_softcapping", 30);
        count("moe_every_n_layers", 2), count("interleave_moe_layer_step", 2);
    }

    void of_recurrent_layers() {
        count("ssm.conv_kernel", 4), count("ssm.inner_size", 512), count("ssm.state_size", 64);
        count("ssm.time_step_rank", 8), count("ssm.group_count", 1);
        count("kda.head_dim", 64), truth("kda.safe_gate", true);
        number("kda.gate_lower_bound", -5), count("shortconv.l_cache", 3);
        count("wkv.head_size", 64), count("attention.decay_lora_rank", 64);
        count("attention.iclr_lora_rank", 64), count("attention.gate_lora_rank", 64);
        count("attention.value_residual_mix_lora_rank", 32);
        count("time_mix_extra_dim", 32), count("time_decay_extra_dim", 64);
        count("full_attention_interval", 4);
        if (!is({"qwen3next", "qwen35", "qwen35moe", "qwen4exp"})) return;
        count("ssm.inner_size", 256), count("ssm.time_step_rank", 4), count("ssm.group_count", 2);
    }

    void of_attention() {
        const bool alike = is({"gptneox", "bloom",          "mpt",          "gpt2",  "starcoder",
                               "refact",  "phi2",           "openelm",      "qwen",  "minimax-01",
                               "mamba",   "rwkv6",          "rwkv7",        "plamo", "codeshell",
                               "bert",    "nomic-bert",     "jina-bert-v2", "jais",  "jina-bert-v3",
                               "plm",     "nomic-bert-moe", "minicpm3",     "olmoe", "dots1"});
        std::vector<std::int32_t> kv_heads(layers, alike ? 4 : 2);
        const bool half_recurrent = is({"jamba", "granitehybrid", "plamo2", "lfm2", "lfm2moe",
                                        "kimi-linear", "kimi-k3", "bailingmoe3"});
        if (half_recurrent) kv_heads[0] = kv_heads[2] = 0;
        count("attention.head_count", 4), counts("attention.head_count_kv", kv_heads);
        for (const char* name :
             {"attention.key_length", "attention.value_length", "rope.dimension_count",
              "attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"})
            count(name, 64);
        number("rope.freq_base", 10000), number("rope.freq_base_swa", 10000);
        counts("rope.dimension_sections", {11, 11, 10, 0});
        count("attention.sliding_window", 16);
        truths("attention.sliding_window_pattern", {1, 1, 1, 0});
        number("attention.scale", 0.1f), number("attention.output_scale", 0.1f);
        number("attention.clamp_kqv", 8), number("attention.max_alibi_bias", 8);
        number("attn_logit_softcapping", 50);
        count("attention.q_lora_rank", 256), count("attention.kv_lora_rank", 256);
        count("attention.indexer.head_count", 4), count("attention.indexer.key_length", 128);
        count("attention.indexer.top_k", 16), count("attention.indexer.block_size", 16);
        count("attention.indexer.local_blocks", 1);
        count("attention.relative_buckets_count", 32);
        if (is({"deepseek2", "deepseek32", "glm-dsa", "mistral4", "hy_v4", "kimi-linear", "kimi-k3",
                "bailingmoe3"}))
            latent(kv_heads);
    }

    /// Attention that keeps one vector for all heads.
    void latent(std::vector<std::int32_t> kv_heads) {
        const std::uint32_t rank = 256, turned = 64, plain = 64;
        for (std::int32_t& heads : kv_heads) heads = std::min(heads, 1);
        counts("attention.head_count_kv", kv_heads);
        count("attention.key_length", rank + turned), count("attention.value_length", rank);
        count("attention.key_length_mla", plain + turned);
        count("attention.value_length_mla", plain);
    }

    void of_single_architectures() {
        if (is({"grovemoe"})) {
            count("expert_chunk_feed_forward_length", 256), count("experts_per_group", 1);
            number("expert_group_scale", 0.05f);
        }
        if (is({"plamo2"})) count("ssm.group_count", 0);
        if (is({"nemotron_h", "nemotron_h_moe"})) {
            counts("feed_forward_length", {0, 512, 0, 512});
            counts("attention.head_count_kv", {0, 0, 2, 0});
        }
        if (is({"arwkv7", "rwkv6qwen2"})) count("token_shift_count", 1);
    }
};

}  // namespace catena_test
