// A model of any architecture, without a file: libllama says which tensors it has, and they get
// random weights.
#pragma once

#include "shape.hpp"

#include "catena_test/catch.hpp"

#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace catena_test {

/// Does the name of a tensor have the part?
inline bool has(const std::string& name, const char* part) {
    return name.find(part) != std::string::npos;
}

/// The type of a tensor's weights in a file as llama-quantize makes it.
inline ggml_type type_of(const std::string& name, const ggml_tensor& t) {
    static constexpr std::array kept = {
        "norm",        "conv",          "ffn_gate_inp",         "position_embd", "token_types",
        "altup",       "laurel",        "per_layer_model_proj", "indexer",       "hc_",
        "ssm_f_",      "ssm_g_",        "attn_rel_b",           "sinks",         "time_mix_f",
        "time_mix_w0", "time_mix_w1",   "time_mix_w2",          "time_mix_v0",   "time_mix_v1",
        "time_mix_v2", "time_mix_a0",   "time_mix_a1",          "time_mix_a2",   "time_mix_g1",
        "time_mix_g2", "time_mix_lerp", "time_mix_decay_w"};
    const bool matrix = ggml_n_dims(&t) >= 2 && has(name, ".weight");
    const bool plain =
        std::any_of(kept.begin(), kept.end(), [&](const char* part) { return has(name, part); });
    if (!matrix || plain || t.ne[0] % 32 != 0) return GGML_TYPE_F32;
    if (t.ne[0] % 256 != 0 || has(name, "token_embd")) return GGML_TYPE_Q8_0;
    const bool wider = has(name, "ffn_down") || has(name, "attn_v") || name == "output.weight";
    return wider ? GGML_TYPE_Q6_K : GGML_TYPE_Q4_K;
}

/// Random weights, the same for a name in every model.
inline std::vector<float> weights_of(const std::string& name, const ggml_tensor& t) {
    std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>{}(name)));
    std::normal_distribution<float> normal;
    const bool factor = has(name, "norm") && !has(name, ".bias");
    const bool above_one = has(name, "scale") || has(name, "rope_f");
    const bool vector = ggml_n_dims(&t) < 2 || has(name, "norm");
    const float deviation =
        vector ? 0.1f : (has(name, "token_embd") ? 10.f : 1.f) / std::sqrt(float(t.ne[0]));
    std::vector<float> all(static_cast<std::size_t>(ggml_nelements(&t)));
    for (float& w : all) {
        w = normal(random);
        if (has(name, "ssm_a"))
            w = -std::exp(0.3f * w);
        else if (above_one)
            w = 1 + 0.1f * std::abs(w);
        else
            w = (factor ? 1 : 0) + deviation * w;
    }
    return all;
}

/// The tensors of a model whose weights have the types of a file, or are the same weights in f32.
struct model_maker {
    std::string arch;
    std::vector<ggml_tensor> tensors = {};  ///< name, type and shape; empty until they were noted

    std::shared_ptr<llama_model> quantized(const std::vector<ggml_backend_dev_t>& on) {
        if (tensors.empty()) make({}, note, this);
        return make(on, fill, nullptr);
    }
    std::shared_ptr<llama_model> exact() {
        tensors.clear();
        std::shared_ptr<llama_model> out = make({}, fill_exactly, nullptr);
        return out;
    }

  private:
    static void note(ggml_tensor* t, void* self) {
        auto& all = static_cast<model_maker*>(self)->tensors;
        all.push_back(*t);
        all.back().type = type_of(t->name, *t);
        all.back().nb[0] = ggml_type_size(all.back().type);
    }

    static std::vector<char> blocks_of(const ggml_tensor& t, ggml_type type,
                                       const std::vector<float>& all) {
        const std::int64_t rows = ggml_nelements(&t) / t.ne[0];
        std::vector<char> out(ggml_row_size(type, t.ne[0]) * static_cast<std::size_t>(rows));
        ggml_quantize_chunk(type, all.data(), out.data(), 0, rows, t.ne[0], nullptr);
        return out;
    }
    static void fill(ggml_tensor* t, void*) {
        if (t->type == GGML_TYPE_I32) return fill_with_ids(t);
        const std::vector<char> blocks = blocks_of(*t, t->type, weights_of(t->name, *t));
        ggml_backend_tensor_set(t, blocks.data(), 0, blocks.size());
    }
    static void fill_exactly(ggml_tensor* t, void*) {
        if (t->type == GGML_TYPE_I32) return fill_with_ids(t);
        std::vector<float> all = weights_of(t->name, *t);
        const ggml_type type = type_of(t->name, *t);
        if (type != GGML_TYPE_F32)
            ggml_get_type_traits(type)->to_float(blocks_of(*t, type, all).data(), all.data(),
                                                 ggml_nelements(t));
        ggml_backend_tensor_set(t, all.data(), 0, all.size() * sizeof(float));
    }
    static void fill_with_ids(ggml_tensor* t) {
        std::vector<std::int32_t> ids(static_cast<std::size_t>(ggml_nelements(t)));
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % 4);
        ggml_backend_tensor_set(t, ids.data(), 0, ids.size() * sizeof ids[0]);
    }

    std::shared_ptr<llama_model> make(std::vector<ggml_backend_dev_t> on,
                                      llama_model_set_tensor_data_t set, void* self) const {
        const shape s(arch);
        for (const ggml_tensor& t : tensors)  // a weight that serves twice was noted twice
            if (gguf_find_tensor(s.facts(), t.name) < 0) gguf_add_tensor(s.facts(), &t);
        llama_model_params p = llama_model_default_params();
        p.n_gpu_layers = on.empty() ? 0 : layers + 1;
        on.push_back(nullptr);
        p.devices = on.data();
        std::shared_ptr<llama_model> out(llama_model_init_from_user(s.facts(), set, self, p),
                                         llama_model_free);
        REQUIRE(out);
        return out;
    }
};

}  // namespace catena_test
