#include "network.hpp"

#include "numbers.hpp"

#include <cmath>
#include <cstring>
#include <random>

namespace catena_test {
namespace {

constexpr std::size_t megabyte = 1 << 20;

ggml_context_ptr context_of(std::size_t tensors) {
    const std::size_t bytes = tensors * ggml_tensor_overhead() + ggml_graph_overhead();
    return ggml_context_ptr(ggml_init({bytes, nullptr, true}));
}

/// A seed of a name, the same on every machine.
unsigned seed_of(const std::string& name, unsigned variant) {
    unsigned seed = 2166136261u + variant;
    for (const char letter : name) seed = (seed ^ static_cast<unsigned char>(letter)) * 16777619u;
    return seed;
}

std::vector<float> random_numbers(unsigned seed, std::int64_t count, float mean, float spread) {
    std::mt19937 engine(seed);
    return numbers(engine, count, spread, mean);
}

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
    std::vector<std::uint8_t> out(values.size() * sizeof(T));
    std::memcpy(out.data(), values.data(), out.size());
    return out;
}

/// Half of a model's matrices have the format of its variant, the others any.
ggml_type drawn_format(const std::string& name, unsigned variant) {
    constexpr ggml_type all[] = {GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_Q8_0, GGML_TYPE_MXFP4,
                                 GGML_TYPE_F16,  GGML_TYPE_F32,  GGML_TYPE_Q4_0, GGML_TYPE_BF16};
    std::mt19937 engine(seed_of(name, variant));
    engine.discard(3);
    const bool usual = engine() % 2 == 0;
    return all[(usual ? variant : static_cast<unsigned>(engine() >> 4)) % std::size(all)];
}

}  // namespace

weight_store::weight_store(unsigned variant, ggml_type only)
    : variant_(variant),
      only_(only),
      context_(context_of(1024)),
      buffer_(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64 * megabyte)),
      place_(ggml_tallocr_new(buffer_.get())) {
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
}

ggml_tensor* weight_store::make(const std::string& name, ggml_type type,
                                const std::vector<std::int64_t>& shape, float mean, float spread) {
    ggml_tensor*& t = made_[name];
    if (t != nullptr) return t;
    t = ggml_new_tensor(context_.get(), type, static_cast<int>(shape.size()), shape.data());
    ggml_set_name(t, name.c_str());
    ggml_tallocr_alloc(&place_, t);
    const std::vector<std::uint8_t> bytes = encoded(
        type, random_numbers(seed_of(name, variant_), ggml_nelements(t), mean, spread), t->ne[0]);
    ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
    return t;
}

ggml_tensor* weight_store::matrix(const std::string& name, std::int64_t k, std::int64_t rows,
                                  std::int64_t experts) {
    ggml_type type = only_ == GGML_TYPE_COUNT ? drawn_format(name, variant_) : only_;
    if (k % ggml_blck_size(type) != 0) type = GGML_TYPE_Q8_0;
    return make(name, type, {k, rows, experts}, 0, std::sqrt(3.0f / static_cast<float>(k)));
}

ggml_tensor* weight_store::numbers(const std::string& name, std::vector<std::int64_t> shape,
                                   float mean, float spread) {
    return make(name, GGML_TYPE_F32, shape, mean, spread);
}

network::network(weight_store& w, family& draw, int tokens)
    : weights_of_(w), tokens_(tokens), place_() {
    state_ = context_of(64);
    nodes_ = context_of(2 * GGML_DEFAULT_GRAPH_SIZE);
    state_buffer_.reset(
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 2 * megabyte));
    ggml_backend_buffer_clear(state_buffer_.get(), 0);
    place_ = ggml_tallocr_new(state_buffer_.get());
    weights_ = w.buffer();
    graph_ = ggml_new_graph(c());
    draw(*this);
}

void network::write_inputs() {
    for (const auto& [name, bytes] : written_)
        if (inputs_.at(name)->buffer != nullptr)  // null: no node reads it
            ggml_backend_tensor_set(inputs_.at(name), bytes.data(), 0, bytes.size());
}

ggml_tensor* network::expand(ggml_tensor* t) {
    ggml_build_forward_expand(graph_, t);
    return t;
}

ggml_tensor* network::output(ggml_tensor* t) {
    ggml_set_output(t);
    return expand(t);
}

void network::logits(ggml_tensor* x) { output(matmul("output", rms_norm(x, "output_norm"), 96)); }

ggml_tensor* network::input(const std::string& name, ggml_type type, std::int64_t ne0,
                            std::int64_t ne1, std::vector<std::uint8_t> bytes) {
    ggml_tensor*& t = inputs_[name];
    if (t != nullptr) return t;
    t = ggml_new_tensor_2d(c(), type, ne0, ne1);
    ggml_set_name(t, name.c_str());
    ggml_set_input(t);
    written_[name] = std::move(bytes);
    return t;
}

ggml_tensor* network::values(const std::string& name, std::int64_t ne0, std::int64_t ne1) {
    return numbers(name, GGML_TYPE_F32, random_numbers(seed_of(name, 0), ne0 * ne1, 0, 1), ne0);
}

ggml_tensor* network::numbers(const std::string& name, ggml_type type,
                              const std::vector<float>& values, std::int64_t ne0) {
    return input(name, type, ne0, static_cast<std::int64_t>(values.size()) / ne0,
                 encoded(type, values, ne0));
}

ggml_tensor* network::ids(const std::string& name, const std::vector<std::int32_t>& values) {
    return input(name, GGML_TYPE_I32, static_cast<std::int64_t>(values.size()), 1,
                 bytes_of(values));
}

ggml_tensor* network::positions() {
    std::vector<std::int32_t> at;
    for (int i = 0; i < tokens_; ++i) at.push_back(past + i);
    return ids("positions", at);
}

ggml_tensor* network::mask() {
    std::vector<float> seen;
    for (int i = 0; i < tokens_; ++i)
        for (int j = 0; j < context_length; ++j) seen.push_back(j <= past + i ? 0.0f : -INFINITY);
    return numbers("mask", flash ? GGML_TYPE_F16 : GGML_TYPE_F32, seen, context_length);
}

ggml_tensor* network::asked_for() {
    std::vector<std::int32_t> which;
    for (int i = 0; i + 1 < tokens_; i += 2) which.push_back(i);
    which.push_back(tokens_ - 1);
    return ids("asked_for", which);
}

ggml_tensor* network::cache(const std::string& name, ggml_type type, std::int64_t k,
                            std::int64_t rows) {
    ggml_tensor*& t = caches_[name];
    if (t != nullptr) return t;
    t = ggml_new_tensor_2d(state_.get(), type, k, rows);
    ggml_set_name(t, name.c_str());
    ggml_tallocr_alloc(&place_, t);
    const auto bytes = encoded(type, random_numbers(seed_of(name, 0), k * rows, 0, 1), k);
    ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
    return t;
}

ggml_tensor* network::rms_norm(ggml_tensor* x, const std::string& name) {
    return ggml_mul(c(), ggml_rms_norm(c(), x, 1e-6f), of().numbers(name, {x->ne[0]}, 1, 0.5f));
}

ggml_tensor* network::layer_norm(ggml_tensor* x, const std::string& name) {
    ggml_tensor* y =
        ggml_mul(c(), ggml_norm(c(), x, 1e-5f), of().numbers(name, {x->ne[0]}, 1, 0.5f));
    return ggml_add(c(), y, of().numbers(name + ".bias", {x->ne[0]}, 0, 0.5f));
}

ggml_tensor* network::matmul(const std::string& name, ggml_tensor* x, std::int64_t rows) {
    ggml_tensor* y = ggml_mul_mat(c(), of().matrix(name, x->ne[0], rows), x);
    for (int i = 0; i < adapters; ++i) {
        const std::string low = name + ".lora_" + std::to_string(i);
        const int rank = 8 << i;
        ggml_tensor* a = of().numbers(low + "a", {x->ne[0], rank}, 0, 0.1f);
        ggml_tensor* b = of().numbers(low + "b", {rank, rows}, 0, 0.2f);
        ggml_tensor* delta = ggml_mul_mat(c(), b, ggml_mul_mat(c(), a, x));
        y = ggml_add(c(), y, ggml_scale(c(), delta, 0.5f));
    }
    return y;
}

ggml_tensor* network::biased(const std::string& name, ggml_tensor* x, std::int64_t rows) {
    return ggml_add(c(), matmul(name, x, rows), of().numbers(name + ".bias", {rows}, 0, 0.5f));
}

ggml_tensor* network::rope(ggml_tensor* x, int turned, int kind) {
    return ggml_rope_ext(c(), x, positions(), nullptr, turned, kind, 4096, 10000.0f, 1, 0, 1, 32,
                         1);
}

ggml_tensor* network::swiglu(const std::string& layer, ggml_tensor* x, int ffn) {
    ggml_tensor* up = matmul(layer + "up", x, ffn);
    ggml_tensor* gate = matmul(layer + "gate", x, ffn);
    return matmul(layer + "down", ggml_swiglu_split(c(), gate, up), hidden);
}

ggml_tensor* network::attention(const std::string& layer, ggml_tensor* x) {
    ggml_tensor* q = matmul(layer + "q", x, heads * head_size);
    ggml_tensor* k = matmul(layer + "k", x, kv_heads * head_size);
    ggml_tensor* v = matmul(layer + "v", x, kv_heads * head_size);
    q = rope(ggml_reshape_3d(c(), q, head_size, heads, tokens_));
    k = rope(ggml_reshape_3d(c(), k, head_size, kv_heads, tokens_));
    v = ggml_reshape_3d(c(), v, head_size, kv_heads, tokens_);
    ggml_tensor* y = attend_cached(layer, q, k, v, 0.125f);
    return matmul(layer + "o", y, hidden);
}

ggml_tensor* network::stored(ggml_tensor* all, ggml_tensor* t) {
    std::vector<std::int64_t> at;
    for (int i = 0; i < tokens_; ++i) at.push_back(past + i);
    ggml_tensor* cells = input("cells", GGML_TYPE_I64, tokens_, 1, bytes_of(at));
    ggml_tensor* rows = ggml_view_2d(c(), t, all->ne[0], tokens_, t->nb[2], 0);
    expand(ggml_set_rows(c(), all, rows, cells));
    return ggml_reshape_3d(c(), all, t->ne[0], t->ne[1], context_length);
}

ggml_tensor* network::attend_cached(const std::string& layer, ggml_tensor* q, ggml_tensor* k,
                                    ggml_tensor* v, float scale) {
    for (ggml_tensor* t : {q, v, k}) expand(t);
    const auto cache_of = [&](const char* which, const ggml_tensor* t) {
        return cache(layer + which, GGML_TYPE_F16, t->ne[0] * t->ne[1], context_length);
    };
    ggml_tensor* keys = stored(cache_of("keys", k), k);
    ggml_tensor* all_values = stored(cache_of("values", v), v);
    return attend(q, keys, all_values, mask(), scale);
}

ggml_tensor* network::attend(ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, ggml_tensor* seen,
                             float scale, ggml_tensor* of_heads, ggml_tensor* bias) {
    q = ggml_permute(c(), q, 0, 2, 1, 3);
    k = ggml_permute(c(), k, 0, 2, 1, 3);
    v = ggml_permute(c(), v, 0, 2, 1, 3);
    ggml_tensor* y = nullptr;
    if (flash) {
        y = ggml_flash_attn_ext(c(), q, k, v, seen, scale, 0, softcap);
        ggml_prec_set_acc(y, GGML_PREC_F32);
        if (sinks) ggml_flash_attn_ext_add_sinks(y, of().numbers("sinks", {q->ne[2]}, 0, 1));
        if (of_heads != nullptr) {
            y = ggml_permute(c(), ggml_mul_mat(c(), of_heads, ggml_permute(c(), y, 0, 2, 1, 3)), 0,
                             2, 1, 3);
            y = ggml_cont(c(), y);
        }
        return expand(ggml_reshape_2d(c(), y, y->ne[0] * y->ne[1], y->ne[2]));
    }
    ggml_tensor* odds = ggml_mul_mat(c(), k, q);
    ggml_prec_set_acc(odds, GGML_PREC_F32);
    if (softcap > 0) {
        odds = ggml_tanh(c(), ggml_scale(c(), odds, 1 / softcap));
        odds = ggml_scale(c(), odds, softcap);
    }
    if (bias != nullptr) odds = ggml_add(c(), odds, bias);
    odds = ggml_soft_max_ext(c(), odds, seen, scale, 0);
    if (sinks) ggml_soft_max_add_sinks(odds, of().numbers("sinks", {q->ne[2]}, 0, 1));
    v = ggml_cont(c(), ggml_transpose(c(), v));
    y = ggml_mul_mat(c(), v, odds);
    if (of_heads != nullptr) y = ggml_mul_mat(c(), of_heads, y);
    y = ggml_permute(c(), y, 0, 2, 1, 3);
    return expand(ggml_cont_2d(c(), y, y->ne[0] * y->ne[1], y->ne[2]));
}

}  // namespace catena_test
