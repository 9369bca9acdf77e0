#include "by_ggml.hpp"

#include <ggml-cpp.h>
#include <ggml-cpu.h>

#include <cstdint>
#include <cstring>
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

}  // namespace

std::vector<float> product_by_ggml(catena::format weights, const bytes& weight, int k, int rows,
                                   const std::vector<float>& x) {
    const ggml_type type = type_of(weights);
    if (type == GGML_TYPE_COUNT) return {};
    const ggml_context_ptr in = context();
    ggml_tensor* const w = filled(ggml_new_tensor_2d(in.get(), type, k, rows), weight);
    ggml_tensor* const columns = filled(
        ggml_new_tensor_2d(in.get(), GGML_TYPE_F32, k, static_cast<std::int64_t>(x.size()) / k), x);
    return computed(in.get(), ggml_mul_mat(in.get(), w, columns));
}

std::vector<float> norm_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                float eps) {
    const ggml_context_ptr in = context();
    const auto k = static_cast<std::int64_t>(weight.size());
    ggml_tensor* const rows = filled(
        ggml_new_tensor_2d(in.get(), GGML_TYPE_F32, k, static_cast<std::int64_t>(x.size()) / k), x);
    ggml_tensor* const w = filled(ggml_new_tensor_1d(in.get(), GGML_TYPE_F32, k), weight);
    return computed(in.get(), ggml_mul(in.get(), ggml_rms_norm(in.get(), rows, eps), w));
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
