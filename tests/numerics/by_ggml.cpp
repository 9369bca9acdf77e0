#include "by_ggml.hpp"

#include <ggml-cpp.h>
#include <ggml-cpu.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace catena_test {
namespace {

ggml_type type_of(catena::format f) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const char* known = ggml_type_name(static_cast<ggml_type>(i));
        if (known != nullptr && std::string(known) == catena::name(f))
            return static_cast<ggml_type>(i);
    }
    return GGML_TYPE_COUNT;
}

ggml_context_ptr context() {
    constexpr std::size_t room = std::size_t{1} << 24;
    return ggml_context_ptr(ggml_init({room, nullptr, false}));
}

template <class T>
ggml_tensor* filled(ggml_tensor* t, const std::vector<T>& with) {
    std::memcpy(t->data, with.data(), with.size() * sizeof(T));
    return t;
}

std::vector<float> computed(ggml_context* in, ggml_tensor* result) {
    ggml_cgraph* graph = ggml_new_graph(in);
    ggml_build_forward_expand(graph, result);
    ggml_graph_compute_with_ctx(in, graph, 1);
    const auto* first = static_cast<const float*>(result->data);
    return {first, first + ggml_nelements(result)};
}

/// Rows of k values.
ggml_tensor* rows_of(ggml_context* in, const std::vector<float>& x, std::int64_t k) {
    return filled(ggml_new_tensor_2d(in, GGML_TYPE_F32, k, static_cast<std::int64_t>(x.size()) / k),
                  x);
}

ggml_tensor* row_of(ggml_context* in, const std::vector<float>& x) {
    return filled(ggml_new_tensor_1d(in, GGML_TYPE_F32, static_cast<std::int64_t>(x.size())), x);
}

}  // namespace

std::vector<float> product_by_ggml(const ggml_product& p, const std::vector<float>& x) {
    const ggml_type type = type_of(p.weights);
    if (type == GGML_TYPE_COUNT) return {};
    const ggml_context_ptr in = context();
    ggml_tensor* columns = rows_of(in.get(), x, p.k);
    if (!p.norm_weight.empty())
        columns = ggml_mul(in.get(), ggml_rms_norm(in.get(), columns, p.eps),
                           row_of(in.get(), p.norm_weight));
    const auto times = [&](const bytes& weight) {
        ggml_tensor* const w = filled(ggml_new_tensor_2d(in.get(), type, p.k, p.rows), weight);
        return ggml_mul_mat(in.get(), w, columns);
    };
    ggml_tensor* const gate = times(p.weight);
    return computed(in.get(), p.up.empty() ? gate : ggml_swiglu_split(in.get(), gate, times(p.up)));
}

std::vector<float> norm_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                float eps) {
    const ggml_context_ptr in = context();
    ggml_tensor* const rows = rows_of(in.get(), x, static_cast<std::int64_t>(weight.size()));
    return computed(
        in.get(), ggml_mul(in.get(), ggml_rms_norm(in.get(), rows, eps), row_of(in.get(), weight)));
}

std::vector<float> layer_norm_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                      const std::vector<float>& bias, float eps) {
    const ggml_context_ptr in = context();
    ggml_tensor* const rows = rows_of(in.get(), x, static_cast<std::int64_t>(weight.size()));
    ggml_tensor* const scaled =
        ggml_mul(in.get(), ggml_norm(in.get(), rows, eps), row_of(in.get(), weight));
    return computed(in.get(), ggml_add(in.get(), scaled, row_of(in.get(), bias)));
}

std::vector<float> l2_norm_by_ggml(const std::vector<float>& x, int k, float eps) {
    const ggml_context_ptr in = context();
    return computed(in.get(), ggml_l2_norm(in.get(), rows_of(in.get(), x, k), eps));
}

std::vector<float> heads_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                 int heads, const std::vector<std::int32_t>& positions,
                                 const catena::rope_numbers& turn) {
    constexpr float eps = 1e-6f;
    const ggml_context_ptr in = context();
    const auto k = static_cast<std::int64_t>(weight.size());
    const auto tokens = static_cast<std::int64_t>(positions.size());
    ggml_tensor* const rows = ggml_reshape_3d(in.get(), rows_of(in.get(), x, k), k, heads, tokens);
    ggml_tensor* const normed =
        ggml_mul(in.get(), ggml_rms_norm(in.get(), rows, eps), row_of(in.get(), weight));
    ggml_tensor* const at = filled(ggml_new_tensor_1d(in.get(), GGML_TYPE_I32, tokens), positions);
    return computed(
        in.get(),
        ggml_rope_ext(in.get(), normed, at, nullptr, turn.dims, GGML_ROPE_TYPE_NEOX, turn.context,
                      turn.base, turn.scale, turn.mix, turn.magnitude, turn.fast, turn.slow));
}

std::vector<float> routing_by_ggml(const std::vector<float>& x, int experts,
                                   const std::vector<float>& bias,
                                   const catena::routing_numbers& numbers) {
    const ggml_context_ptr in = context();
    ggml_tensor* const logits = rows_of(in.get(), x, experts);
    const std::int64_t tokens = logits->ne[1];
    const auto scored = [&] {
        switch (numbers.score) {
            case catena::scoring::sigmoid:
                return ggml_sigmoid(in.get(), logits);
            case catena::scoring::sqrt_softplus:
                return ggml_sqrt(in.get(), ggml_softplus(in.get(), logits));
            default:
                return ggml_soft_max(in.get(), logits);
        }
    };
    ggml_tensor* const scores = scored();
    ggml_tensor* const choice =
        bias.empty() ? scores : ggml_add(in.get(), scores, row_of(in.get(), bias));
    ggml_tensor* const chosen = ggml_argsort_top_k(in.get(), choice, numbers.chosen);
    ggml_tensor* const weights = ggml_reshape_2d(
        in.get(),
        ggml_get_rows(in.get(), ggml_reshape_3d(in.get(), scores, 1, experts, tokens), chosen),
        numbers.chosen, tokens);
    ggml_tensor* const sum = ggml_clamp(in.get(), ggml_sum_rows(in.get(), weights), numbers.least,
                                        std::numeric_limits<float>::infinity());
    return computed(in.get(),
                    ggml_scale(in.get(), ggml_div(in.get(), weights, sum), numbers.scale));
}

std::vector<float> quantized_by_ggml(const std::vector<float>& x, int k) {
    struct block {  // the sum of the values is not read
        std::uint16_t scale, sum;
        std::int8_t values[32];
    };
    std::vector<block> row(static_cast<std::size_t>(k) / 32);
    std::vector<float> out;
    for (std::size_t at = 0; at < x.size(); at += static_cast<std::size_t>(k)) {
        ggml_get_type_traits_cpu(GGML_TYPE_Q8_1)->from_float(x.data() + at, row.data(), k);
        for (const block& b : row)
            for (const std::int8_t v : b.values)
                out.push_back(ggml_fp16_to_fp32(b.scale) * static_cast<float>(v));
    }
    return out;
}

}  // namespace catena_test
