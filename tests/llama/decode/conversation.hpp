// A model that libllama has loaded, and what it answers to random tokens.
#pragma once

#include "device.hpp"

#include "catena_test/catch.hpp"

#include <llama.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace catena_test {

using answer = std::vector<float>;

struct situation {
    bool flash_attention = false;
    ggml_type kv = GGML_TYPE_F16;
    int layers = 99;              ///< on the device
    bool experts_on_cpu = false;  ///< their matrices stay in the host's memory
    int experts_used = 0;         ///< by each token; 0: as the file says
    bool embeddings = false;      ///< the answers are the last hidden states, not logits
    ggml_backend_sched_eval_callback look = nullptr;  ///< at each node, as llama-imatrix does
    void* looker = nullptr;
};

/// libllama prints errors alone.
inline void log_errors(ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

/// A loaded model and a context; the whole is one conversation.
class conversation {
  public:
    conversation(const std::string& file, ggml_backend_dev_t device, const situation& s) {
        llama_log_set(log_errors, nullptr);
        ggml_backend_dev_t devices[] = {device, nullptr};
        const llama_model_tensor_buft_override on_cpu[] = {
            {"ffn_.*_exps", ggml_backend_cpu_buffer_type()}, {nullptr, nullptr}};
        llama_model_params of_model = llama_model_default_params();
        of_model.devices = devices;
        of_model.n_gpu_layers = device == nullptr ? 0 : s.layers;
        if (s.experts_on_cpu) of_model.tensor_buft_overrides = on_cpu;
        const llama_model_kv_override experts[] = {experts_used(file, s.experts_used), {}};
        if (s.experts_used > 0) of_model.kv_overrides = experts;
        model_.reset(llama_model_load_from_file(file.c_str(), of_model));
        REQUIRE(model_);

        llama_context_params p = llama_context_default_params();
        p.n_ctx = 128;
        p.n_batch = p.n_ubatch = 64;
        p.n_threads = p.n_threads_batch = 1;
        p.n_seq_max = 4;
        p.kv_unified = true;
        p.flash_attn_type =
            s.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
        p.type_k = p.type_v = s.kv;
        p.embeddings = embeddings_ = s.embeddings;
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

    llama_model* model() const { return model_.get(); }
    llama_context* context() const { return context_.get(); }

  private:
    struct place {
        llama_seq_id sequence;
        llama_pos position;
        bool answers;
    };
    struct freed {
        void operator()(llama_model* m) const { llama_model_free(m); }
        void operator()(llama_context* c) const { llama_free(c); }
    };

    std::unique_ptr<llama_model, freed> model_;
    std::unique_ptr<llama_context, freed> context_;
    std::vector<answer> answers_;
    llama_pos position_ = 0;
    bool parted_ = false, embeddings_ = false;
    std::uint32_t seed_ = 5;

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
        INFO(work().error);
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
