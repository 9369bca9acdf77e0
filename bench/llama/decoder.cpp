#include "decoder.hpp"

#include "ab_device.hpp"

#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <utility>

namespace catena::ab {
namespace {

/// What ggml and libllama logged: the lines of Catena, and the last error.
struct said {
    std::vector<std::string> catena;
    std::string error;
};

said& log_so_far() {
    static said one;
    return one;
}

void keep(ggml_log_level level, const char* text, void*) {
    std::string line = text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (level == GGML_LOG_LEVEL_ERROR && !line.empty()) log_so_far().error = line;
    const bool of_step = line.find(" attainable in ") != std::string::npos;
    if (line.rfind("catena", 0) == 0 || of_step) log_so_far().catena.push_back(line);
}

[[noreturn]] void fail(const std::string& what) {
    const std::string& why = log_so_far().error;
    throw std::runtime_error(what + (why.empty() ? "" : ": " + why));
}

llama_context* new_context(llama_model* model, const context_options& o) {
    llama_log_set(keep, nullptr);
    set_catena(o.who, o.times == timed_steps::yes ? "times" : "summary", o.rows);
    llama_context_params p = llama_context_default_params();  // those of llama-bench -fa 1
    p.n_ctx = static_cast<std::uint32_t>(o.tokens * o.sequences);
    p.n_batch = 2048;
    p.n_ubatch = 512;
    p.n_seq_max = static_cast<std::uint32_t>(o.sequences);
    p.kv_unified = false;
    p.swa_full = false;
    p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    p.op_offload = true;
    return llama_init_from_model(model, p);
}

/// A control vector of random numbers. The first layer takes none, so the others take its share.
void add_noise(llama_context* context, float of_a_layer) {
    const llama_model* model = llama_get_model(context);
    const int size = llama_model_n_embd(model), layers = llama_model_n_layer(model);
    const float deviation = of_a_layer * std::sqrt(float(layers) / float(layers - 1));
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> values(static_cast<std::size_t>(size) *
                              static_cast<std::size_t>(layers - 1));
    for (float& v : values) v = normal(random);
    if (llama_set_adapter_cvec(context, values.data(), values.size(), size, 1, layers - 1) != 0)
        fail("libllama takes no control vector");
}

}  // namespace

void set_catena(side who, const char* log_level, const std::string& rows) {
    setenv("CATENA_ENABLED", who == side::on ? "1" : "0", 1);
    setenv("CATENA_LOG", who == side::on ? log_level : "off", 1);
    setenv("GGML_CUDA_CATENA_ROWS", rows.c_str(), 1);
}

model_handle load(const std::string& file) {
    llama_log_set(keep, nullptr);
    set_catena(side::off, "off");
    ggml_backend_dev_t devices[] = {measured_device(), nullptr};
    llama_model_params p = llama_model_default_params();
    p.devices = devices;
    p.n_gpu_layers = 999;
    model_handle model(llama_model_load_from_file(file.c_str(), p), llama_model_free);
    if (!model) fail(file + ": libllama cannot load it");
    return model;
}

random_tokens::random_tokens(const llama_model* model, std::uint32_t seed)
    : state_(seed),
      count_(static_cast<std::uint32_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)))) {}

llama_token random_tokens::next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<llama_token>((state_ >> 8) % count_);
}

decoder::decoder(llama_model* model, const context_options& o)
    : context_(new_context(model, o), llama_free), sequences_(o.sequences) {
    if (!context_) fail("libllama makes no context of the model");
    if (o.noise > 0) add_noise(context_.get(), o.noise);
}

void decoder::clear() {
    llama_memory_clear(llama_get_memory(context_.get()), false);
    position_ = 0;
}

void decoder::prompt(const std::vector<llama_token>& tokens, answered which) {
    decode(tokens, 1, which);
    position_ += static_cast<llama_pos>(tokens.size());
}

void decoder::step(const std::vector<llama_token>& one_each) {
    decode(one_each, sequences_, answered::all);
    ++position_;
}

void decoder::wait() { llama_synchronize(context_.get()); }

const float* decoder::logits(int i) const {
    const float* row = llama_get_logits_ith(context_.get(), i);
    if (row == nullptr) fail("libllama gives no logits");
    return row;
}

int decoder::vocabulary() const {
    return llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context_.get())));
}

std::vector<std::string> decoder::catena_said() { return std::exchange(log_so_far().catena, {}); }

void decoder::decode(const std::vector<llama_token>& tokens, int sequences, answered which) {
    const auto count = static_cast<std::int32_t>(tokens.size());
    llama_batch batch = llama_batch_init(count, 0, 1);
    batch.n_tokens = count;
    for (std::int32_t i = 0; i < count; ++i) {
        batch.token[i] = tokens[static_cast<std::size_t>(i)];
        batch.pos[i] = position_ + i / sequences;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = i % sequences;
        batch.logits[i] = which == answered::all || i == count - 1;
    }
    const int failed = llama_decode(context_.get(), batch);
    llama_batch_free(batch);
    if (failed != 0) fail("libllama cannot decode a batch (" + std::to_string(failed) + ")");
}

}  // namespace catena::ab
