// libllama, as it is, decodes small models on a device that runs Catena's plans. The logits are
// held against those of the same weights in f32.
#include "device.hpp"

#include "catena_test/catch.hpp"

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace catena_test;

using row_of_logits = std::vector<float>;

struct situation {
    bool flash_attention = false;
    ggml_type kv = GGML_TYPE_F16;
    int layers = 99;              ///< on the device
    bool experts_on_cpu = false;  ///< their matrices stay in the host's memory
};

/// libllama prints warnings alone.
void log_warnings(ggml_log_level level, const char* text, void*) {
    if (level >= GGML_LOG_LEVEL_WARN) std::fputs(text, stderr);
}

/// A loaded model and a context; the whole is one conversation.
class conversation {
  public:
    conversation(const std::string& file, ggml_backend_dev_t device, const situation& s) {
        llama_log_set(log_warnings, nullptr);
        ggml_backend_dev_t devices[] = {device, nullptr};
        const llama_model_tensor_buft_override on_cpu[] = {
            {"ffn_.*_exps", ggml_backend_cpu_buffer_type()}, {nullptr, nullptr}};
        llama_model_params of_model = llama_model_default_params();
        of_model.devices = devices;
        of_model.n_gpu_layers = device == nullptr ? 0 : s.layers;
        if (s.experts_on_cpu) of_model.tensor_buft_overrides = on_cpu;
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

    const std::vector<row_of_logits>& logits() const { return logits_; }

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
    std::vector<row_of_logits> logits_;
    llama_pos position_ = 0;
    bool parted_ = false;
    std::uint32_t seed_ = 5;

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
            const float* row = llama_get_logits_ith(context_.get(), i);
            logits_.emplace_back(row, row + vocabulary());
        }
    }
};

/// A prompt of 20 tokens, 6 single tokens, 2 batches of 4 sequences.
std::vector<row_of_logits> decoded(const std::string& file, ggml_backend_dev_t device,
                                   const situation& s) {
    conversation c(std::string(CATENA_TEST_MODELS "/") + file, device, s);
    c.go_on(20);
    for (int i = 0; i < 6; ++i) c.go_on(1);
    for (int i = 0; i < 2; ++i) c.go_on_in_four();
    return c.logits();
}

/// The error of the worst row: its squares relative to those of the row.
double worst_error(const std::vector<row_of_logits>& rows,
                   const std::vector<row_of_logits>& exact) {
    REQUIRE(rows.size() == exact.size());
    double worst = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        double error = 0, all = 0;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const double want = exact[r][i], off = rows[r][i] - want;
            error += off * off;
            all += want * want;
        }
        REQUIRE(std::isfinite(error));
        worst = std::max(worst, error / all);
    }
    return worst;
}

void is_right(const std::string& family, const situation& s) {
    situation plain = s;
    plain.kv = GGML_TYPE_F16;
    const auto exact = decoded(family + ".f32.gguf", nullptr, plain);
    const double of_ggml = worst_error(decoded(family + ".gguf", nullptr, s), exact);
    reset_work();
    const double ours = worst_error(decoded(family + ".gguf", sm_90_device(), s), exact);
    INFO(family << ": NMSE " << ours << ", of ggml's CPU backend " << of_ggml << "; "
                << work().planned_matmuls << " of " << work().matmuls << " matmuls planned");
    CHECK(ours <= 3 * of_ggml);
    CHECK(work().launches > 0);
    if (s.layers > 1 && !s.experts_on_cpu) CHECK(work().planned_matmuls == work().matmuls);
    std::printf(
        "%-9s NMSE %.2e (ggml's CPU backend %.2e); %lld of %lld matmuls, %lld plans, "
        "%lld walks\n",
        family.c_str(), ours, of_ggml, static_cast<long long>(work().planned_matmuls),
        static_cast<long long>(work().matmuls), static_cast<long long>(work().plans),
        static_cast<long long>(work().walks));
}

}  // namespace

TEST_CASE("libllama decodes a llama", "[llama]") { is_right("llama", {}); }
TEST_CASE("libllama decodes a qwen3moe", "[qwen3moe]") { is_right("qwen3moe", {}); }
TEST_CASE("libllama decodes a gemma3", "[gemma3]") { is_right("gemma3", {}); }
TEST_CASE("libllama decodes a gpt-oss", "[gpt-oss]") { is_right("gpt-oss", {}); }
