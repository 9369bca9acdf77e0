#include "exact.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace catena_test {
namespace {

bool is_gelu(const ggml_tensor* t) {
    return (t->op == GGML_OP_UNARY && ggml_get_unary_op(t) == GGML_UNARY_OP_GELU) ||
           (t->op == GGML_OP_GLU && ggml_get_glu_op(t) == GGML_GLU_OP_GEGLU);
}

std::vector<float> exact_gelu(const ggml_tensor* t) {
    const bool halves = t->op == GGML_OP_GLU && t->src[1] == nullptr;
    std::vector<float> out;
    const auto at = [](const ggml_tensor* of, std::int64_t row, std::int64_t i) {
        const std::int64_t last = of->ne[1], middle = of->ne[2];
        const auto offset = static_cast<std::size_t>(row % last) * of->nb[1] +
                            static_cast<std::size_t>(row / last % middle) * of->nb[2] +
                            static_cast<std::size_t>(row / last / middle) * of->nb[3];
        return double{
            reinterpret_cast<const float*>(static_cast<const char*>(of->data) + offset)[i]};
    };
    for (std::int64_t row = 0; row < ggml_nrows(t); ++row)
        for (std::int64_t i = 0; i < t->ne[0]; ++i) {
            const double x = at(t->src[0], row, i);
            const double y =
                0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
            const double times = t->op != GGML_OP_GLU ? 1
                                 : halves             ? at(t->src[0], row, i + t->ne[0])
                                                      : at(t->src[1], row, i);
            out.push_back(static_cast<float>(y * times));
        }
    return out;
}

/// An element of f32 or f16.
double number(const ggml_tensor* t, std::int64_t i0, std::int64_t i1, std::int64_t i2) {
    const std::int64_t i[] = {i0, i1, i2};
    const char* at = static_cast<const char*>(t->data);
    for (int d = 0; d < 3; ++d) at += static_cast<std::size_t>(i[d]) * t->nb[d];
    if (t->type == GGML_TYPE_F32) return double{*reinterpret_cast<const float*>(at)};
    return double{ggml_fp16_to_fp32(*reinterpret_cast<const ggml_fp16_t*>(at))};
}

/// What a head of a token attends to, if there is neither a bias by distance nor a soft cap.
void attend(const ggml_tensor* t, std::int64_t head, std::int64_t token, std::vector<float>& out) {
    const ggml_tensor *q = t->src[0], *k = t->src[1], *v = t->src[2], *mask = t->src[3],
                      *sinks = t->src[4];
    const std::int64_t of_key = head / (q->ne[2] / k->ne[2]);
    float scale = 0;
    std::memcpy(&scale, t->op_params, sizeof scale);
    std::vector<double> scores;
    for (std::int64_t i = 0; i < k->ne[1]; ++i) {
        double s = 0;
        for (std::int64_t e = 0; e < q->ne[0]; ++e)
            s += number(q, e, token, head) * number(k, e, i, of_key);
        const double masked = mask == nullptr ? 0 : number(mask, i, token, 0);
        scores.push_back(s * double{scale} + masked);
    }
    if (sinks != nullptr) scores.push_back(number(sinks, head, 0, 0));
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& s : scores) s = std::exp(s - most), sum += s;
    for (std::int64_t e = 0; e < t->ne[0]; ++e) {
        double y = 0;
        for (std::int64_t i = 0; i < k->ne[1]; ++i)
            y += scores[static_cast<std::size_t>(i)] * number(v, e, i, of_key);
        out.push_back(static_cast<float>(y / sum));
    }
}

}  // namespace

bool rounds_to_f16(const ggml_tensor* t) { return is_gelu(t) || t->op == GGML_OP_FLASH_ATTN_EXT; }

std::vector<std::byte> exact(const ggml_tensor* t) {
    std::vector<float> out;
    if (is_gelu(t))
        out = exact_gelu(t);
    else
        for (std::int64_t token = 0; token < t->ne[2]; ++token)
            for (std::int64_t head = 0; head < t->ne[1]; ++head) attend(t, head, token, out);
    std::vector<std::byte> bytes(out.size() * sizeof(float));
    std::memcpy(bytes.data(), out.data(), bytes.size());
    return bytes;
}

}  // namespace catena_test
