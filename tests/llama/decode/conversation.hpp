// A model that libllama has loaded, and what it answers to random tokens.
#pragma once

#include "catena_test/catch.hpp"

#include <llama.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace catena_test {

using answer = std::vector<float>;

struct situation {
    bool flash_attention = false;
    ggml_type kv = GGML_TYPE_F16;
    int layers = 99;              ///< on the devices
    bool by_tensor = false;       ///< each matrix is split over the devices
    bool experts_on_cpu = false;  ///< their matrices stay in the host's memory
    int experts_used = 0;         ///< by each token; 0: as the file says
    bool embeddings = false;      ///< the answers are the last hidden states, not logits
    ggml_backend_sched_eval_callback look = nullptr;  ///< at each node, as llama-imatrix does
    void* looker = nullptr;
};

/// What Catena said since the string was emptied: it warns if it leaves everything to the engine.
inline std::string& warnings() {
    static std::string all;
    return all;
}

/// And what it told without a warning.
inline std::string& notes() {
    static std::string all;
    return all;
}

/// libllama prints errors alone.
inline void log_errors(ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
    const bool of_plan = std::strncmp(text, "  node ", 7) == 0;
    if (std::strncmp(text, "catena", 6) != 0 && !of_plan) return;
    (level == GGML_LOG_LEVEL_WARN ? warnings() : notes()) += text;
}

using devices = std::vector<ggml_backend_dev_t>;  ///< none: ggml's CPU backend

/// A context of a model; its tokens are one conversation.
class conversation {
  public:
    conversation(const std::string& file, devices on, const situation& s)
        : conversation(load(file, std::move(on), s), s) {}

    /// A context of a model that another conversation has loaded too.
    conversation(std::shared_ptr<llama_model> model, const situation& s)
        : model_(std::move(model)), embeddings_(s.embeddings) {
        llama_context_params p = llama_context_default_params();
        p.n_ctx = 128;
        p.n_batch = p.n_ubatch = 64;
        p.n_threads = p.n_threads_batch = 1;
        p.n_seq_max = 4;
        p.kv_unified = true;
        p.flash_attn_type =
            s.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
        p.type_k = p.type_v = s.kv;
        p.embeddings = s.embeddings;
        p.cb_eval = s.look;
        p.cb_eval_user_data = s.looker;
        context_.reset(llama_init_from_model(model_.get(), p));
        REQUIRE(context_);
    }

    /// `tokens` more of the first sequence; the logits of the last.
    void go_on(int tokens) {
        std::vector<place> places;
        for (int i = 0; i < tokens; ++i) places.push_back({0, position_++, i == tokens - 1});
        decode(places);
    }

    /// One more token of each of four sequences.
    void go_on_in_four() {
        if (!parted_)
            for (llama_seq_id s = 1; s < 4; ++s)
                llama_memory_seq_cp(llama_get_memory(context_.get()), 0, s, -1, -1);
        parted_ = true;
        decode({{0, position_, true},
                {1, position_, true},
                {2, position_, true},
                {3, position_, true}});
        ++position_;
    }

    /// A row for each token that was asked for an answer.
    const std::vector<answer>& answers() const { return answers_; }

    /// One token with all experts, which is forgotten then.
    void warm_up() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // llama.cpp's programs call it
        llama_set_warmup(context_.get(), true);
        decode({{0, 0, false}});
        llama_set_warmup(context_.get(), false);
#pragma GCC diagnostic pop
        llama_memory_clear(llama_get_memory(context_.get()), true);
    }

    const std::shared_ptr<llama_model>& model() const { return model_; }
    llama_context* context() const { return context_.get(); }

  private:
    struct place {
        llama_seq_id sequence;
        llama_pos position;
        bool answers;
    };
    struct freed {
        void operator()(llama_context* c) const { llama_free(c); }
    };

    std::shared_ptr<llama_model> model_;
    std::unique_ptr<llama_context, freed> context_;
    std::vector<answer> answers_;
    llama_pos position_ = 0;
    bool parted_ = false, embeddings_ = false;
    std::uint32_t seed_ = 5;

    static std::shared_ptr<llama_model> load(const std::string& file, devices on,
                                             const situation& s) {
        llama_log_set(log_errors, nullptr);
        warnings().clear();
        const llama_model_tensor_buft_override on_cpu[] = {
            {"ffn_.*_exps", ggml_backend_cpu_buffer_type()}, {nullptr, nullptr}};
        llama_model_params of_model = llama_model_default_params();
        of_model.n_gpu_layers = on.empty() ? 0 : s.layers;
        if (s.by_tensor && !on.empty()) of_model.split_mode = LLAMA_SPLIT_MODE_TENSOR;
        on.push_back(nullptr);
        of_model.devices = on.data();
        if (s.experts_on_cpu) of_model.tensor_buft_overrides = on_cpu;
        const llama_model_kv_override experts[] = {experts_used(file, s.experts_used), {}};
        if (s.experts_used > 0) of_model.kv_overrides = experts;
        std::shared_ptr<llama_model> model(llama_model_load_from_file(file.c_str(), of_model),
                                           llama_model_free);
        REQUIRE(model);
        return model;
    }

    static llama_model_kv_override experts_used(const std::string& file, int count) {
        const std::string name = file.substr(file.find_last_of('/') + 1);
        llama_model_kv_override o{};
        o.tag = LLAMA_KV_OVERRIDE_TYPE_INT;
        std::snprintf(o.key, sizeof o.key, "%s.expert_used_count",
                      name.substr(0, name.find('.')).c_str());
        o.val_i64 = count;
        return o;
    }

    int vocabulary() const { return llama_vocab_n_tokens(llama_model_get_vocab(model_.get())); }

    llama_token any_token() {
        seed_ = seed_ * 1664525u + 1013904223u;
        return static_cast<llama_token>((seed_ >> 8) % static_cast<unsigned>(vocabulary()));
    }

    void decode(const std::vector<place>& places) {
        const auto count = static_cast<std::int32_t>(places.size());
        llama_batch batch = llama_batch_init(count, 0, 1);
        batch.n_tokens = count;
        for (std::size_t i = 0; i < places.size(); ++i) {
            batch.token[i] = any_token();
            batch.pos[i] = places[i].position;
            batch.n_seq_id[i] = 1;
            batch.seq_id[i][0] = places[i].sequence;
            batch.logits[i] = places[i].answers;
        }
        const int failed = llama_decode(context_.get(), batch);
        llama_batch_free(batch);
        INFO(warnings());
        REQUIRE(failed == 0);
        for (std::int32_t i = 0; i < count; ++i) {
            if (!places[static_cast<std::size_t>(i)].answers) continue;
            const float* row = embeddings_ ? llama_get_embeddings_ith(context_.get(), i)
                                           : llama_get_logits_ith(context_.get(), i);
            REQUIRE(row != nullptr);
            answers_.emplace_back(
                row, row + (embeddings_ ? llama_model_n_embd(model_.get()) : vocabulary()));
        }
    }
};

}  // namespace catena_test
