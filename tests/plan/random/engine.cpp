#include "engine.hpp"

#include "arithmetic.hpp"
#include "elements.hpp"
#include "memory.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/match/detail/weight_scale.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace catena_test {
namespace {

using catena::format;
using catena::op;
using catena::sub_op;
using catena::tensor;

float parameter(const tensor& t, int word) {
    float value;
    std::memcpy(&value, &t.params[word], sizeof(value));
    return value;
}

/// UNARY as ggml documents it (ggml.h, and the CPU backend's vec.h), rounded once.
float unary_result(sub_op s, float of) {
    const double x = of;
    const auto f = [&]() -> double {
        switch (s) {
            case sub_op::silu:
                return x / (1 + std::exp(-x));
            case sub_op::sigmoid:
                return 1 / (1 + std::exp(-x));
            case sub_op::gelu:
                return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * x * (1 + 0.044715 * x * x)));
            case sub_op::gelu_erf:
                return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
            case sub_op::gelu_quick:
                return x / (1 + std::exp(-1.702 * x));
            case sub_op::relu:
                return x > 0 ? x : 0;
            case sub_op::softplus:
                return scalar::softplus(static_cast<float>(x));
            default:
                return std::nan("");
        }
    };
    return static_cast<float>(f());
}

/// GLU likewise: of gate `g` and value `x`.
float glu_result(sub_op s, float g, float x, float alpha, float limit) {
    switch (s) {
        case sub_op::swiglu:
            return unary_result(sub_op::silu, g) * x;
        case sub_op::geglu:
            return unary_result(sub_op::gelu, g) * x;
        case sub_op::geglu_erf:
            return unary_result(sub_op::gelu_erf, g) * x;
        case sub_op::geglu_quick:
            return unary_result(sub_op::gelu_quick, g) * x;
        case sub_op::reglu:
            return unary_result(sub_op::relu, g) * x;
        case sub_op::swiglu_oai: {
            const double bounded = std::min(g, limit);
            const auto gate =
                static_cast<float>(bounded / (1 + std::exp(-static_cast<double>(alpha) * bounded)));
            return gate * (1 + std::max(std::min(x, limit), -limit));
        }
        default:
            return std::nanf("");
    }
}

struct node_run {
    const catena::graph_view& view;
    const tensor& t;

    const tensor& src(int s) const { return view.at(t.src[s]); }

    template <class F>
    void binary(F&& f) const {
        each(t, [&](auto i0, auto i1, auto i2, auto i3) {
            *at(t, i0, i1, i2, i3) =
                f(*at(src(0), i0, i1, i2, i3), repeated(src(1), i0, i1, i2, i3));
        });
    }
    template <class F>
    void unary(F&& f) const {
        each(t, [&](auto i0, auto i1, auto i2, auto i3) {
            *at(t, i0, i1, i2, i3) = f(*at(src(0), i0, i1, i2, i3));
        });
    }

    void norm() const {
        std::vector<float> row(static_cast<std::size_t>(t.ne[0]));
        each_row(t, [&](auto i1, auto i2, auto i3) {
            for (std::int64_t i = 0; i < t.ne[0]; ++i)
                row[static_cast<std::size_t>(i)] = *at(src(0), i, i1, i2, i3);
            const float s =
                scalar::norm_scale(row.data(), static_cast<int>(t.ne[0]), parameter(t, 0));
            for (std::int64_t i = 0; i < t.ne[0]; ++i)
                *at(t, i, i1, i2, i3) = row[static_cast<std::size_t>(i)] * s;
        });
    }

    void glu() const {
        const bool split = t.src[1] == catena::no_tensor;  // gate and value in one row
        const tensor& other = split ? src(0) : src(1);
        const bool swapped = split && t.params[1] != 0;
        each(t, [&](auto i0, auto i1, auto i2, auto i3) {
            const float g = *at(src(0), i0 + (swapped ? t.ne[0] : 0), i1, i2, i3);
            const float x = *at(other, i0 + (split && !swapped ? t.ne[0] : 0), i1, i2, i3);
            *at(t, i0, i1, i2, i3) = glu_result(t.sub, g, x, parameter(t, 2), parameter(t, 3));
        });
    }

    /// One activation row as the dots read it.
    void activation(const tensor& w, std::int64_t i1, std::int64_t i2, std::int64_t i3,
                    std::vector<float>& out) const {
        const tensor& x = src(1);
        const auto k = static_cast<int>(x.ne[0]);
        out.resize(static_cast<std::size_t>(k));
        for (int i = 0; i < k; ++i) out[static_cast<std::size_t>(i)] = *at(x, i, i1, i2, i3);
        const bool rounds = w.type == format::f16 || w.type == format::bf16;
        const bool plain = catena::reads_f32(w.type) && !(rounds && many_columns() && k % 32 == 0);
        if (plain || t.params[3] != 0) return;
        if (w.type == format::fp8_e4m3) {
            if (!many_columns() || k % 128 != 0) return;
            std::vector<std::byte> data(out.size());
            std::vector<float> scales(out.size() / 128);
            scalar::quantize_fp8(out.data(), k, data.data(), scales.data());
            scalar::decode_fp8(data.data(), scales.data(), k, out.data());
            return;
        }
        scalar::round_as_q8_1(out.data(), k);
    }

    /// So many that fp8 weights are multiplied with fp8, and the activation of f16 and bf16 is
    /// rounded, be it on its way or by who makes it: as q8_1, since then it is one value in all
    /// layouts.
    bool many_columns() const {
        const std::int64_t of_matrix = src(0).ne[2] > 1 ? t.ne[1] : catena::elements(t) / t.ne[0];
        return (t.kind == op::mul_mat_id ? t.ne[2] : of_matrix) >= 9;
    }

    /// Row r of a matrix times an activation row; of fp8 each weight is scaled.
    float product(std::int64_t r, std::int64_t w2, std::int64_t w3,
                  const std::vector<float>& x) const {
        const tensor& w = src(0);
        std::vector<float> scratch;
        const auto k = static_cast<int>(w.ne[0]);
        const float* row =
            weight_pool::decoded(w.type, at<void>(w, 0, r, w2, w3), w.ne[0], scratch);
        const std::int32_t scales = t.src[catena::plain_sources(t.kind)];
        if (scales == catena::no_tensor) return scalar::dot(row, x.data(), k);
        const tensor& s = view.at(scales);
        std::vector<float> scaled(row, row + k);
        for (int i = 0; i < k; ++i)
            scaled[static_cast<std::size_t>(i)] *= *at(s, s.ne[0] == 1 ? 0 : i / 128,
                                                       s.ne[1] == 1         ? 0
                                                       : s.ne[1] == w.ne[1] ? r
                                                                            : r / 128,
                                                       w2, w3);
        return scalar::dot(scaled.data(), x.data(), k);
    }

    void mul_mat() const {
        const tensor& w = src(0);
        std::vector<float> x;
        each_row(t, [&](auto i1, auto i2, auto i3) {
            activation(w, i1, i2, i3, x);
            const std::int64_t w2 = i2 / (t.ne[2] / w.ne[2]), w3 = i3 / (t.ne[3] / w.ne[3]);
            for (std::int64_t r = 0; r < t.ne[0]; ++r)
                *at(t, r, i1, i2, i3) = product(r, w2, w3, x);
        });
    }

    void mul_mat_id() const {
        const tensor& w = src(0);
        std::vector<float> x;
        each_row(t, [&](auto slot, auto token, auto) {
            const std::int32_t id = *at<std::int32_t>(src(2), slot, token);
            activation(w, slot % src(1).ne[1], token, 0, x);
            for (std::int64_t r = 0; r < t.ne[0]; ++r)
                *at(t, r, slot, token) = product(r, id, 0, x);
        });
    }

    void add_id() const {
        each(t, [&](auto i0, auto slot, auto token, auto) {
            const std::int32_t id = *at<std::int32_t>(src(2), slot, token);
            *at(t, i0, slot, token) = *at(src(0), i0, slot, token) + *at(src(1), i0, id);
        });
    }

    void get_rows() const {
        each(t, [&](auto i0, auto i1, auto i2, auto i3) {
            const std::int32_t id = *at<std::int32_t>(src(1), i1, i2, i3);
            *at(t, i0, i1, i2, i3) = *at(src(0), i0, id, i2, i3);
        });
    }

    void repeat() const {
        each(t, [&](auto i0, auto i1, auto i2, auto i3) {
            *at(t, i0, i1, i2, i3) = repeated(src(0), i0, i1, i2, i3);
        });
    }

    /// t is a view of the cache, source 0 the rows, source 1 where they go. Some allocators of the
    /// tests align numbers of 64 bits to 4 bytes.
    void set_rows() const {
        const bool wide = src(1).type == format::i64;
        each(src(0), [&](auto i0, auto i1, auto i2, auto i3) {
            std::int64_t row = 0;
            if (wide)
                std::memcpy(&row, at<std::byte>(src(1), i1, i2), sizeof row);
            else
                row = *at<std::int32_t>(src(1), i1, i2);
            const float x = *at(src(0), i0, i1, i2, i3);
            if (t.type == format::f16)
                *at<std::uint16_t>(t, i0, row, i2, i3) = catena::f16_from_f32(x);
            else
                *at(t, i0, row, i2, i3) = x;
        });
    }

    /// f(row) of a row of numbers, in place.
    template <class F>
    void of_rows(F&& f) const {
        std::vector<float> row(static_cast<std::size_t>(src(0).ne[0]));
        each_row(t, [&](auto i1, auto i2, auto i3) {
            for (std::size_t i = 0; i < row.size(); ++i)
                row[i] = *at(src(0), static_cast<std::int64_t>(i), i1, i2, i3);
            f(row);
            for (std::int64_t i = 0; i < t.ne[0]; ++i)
                *at(t, i, i1, i2, i3) = row[static_cast<std::size_t>(i)];
        });
    }

    void copy() const {
        if (t.type != format::f32) {
            std::memcpy(t.data, src(0).data, static_cast<std::size_t>(catena::extent_bytes(t)));
            return;
        }
        for (std::int64_t i = 0; i < catena::elements(t); ++i) numbered(t, i) = numbered(src(0), i);
    }

    /// Heads, [k, heads, tokens]. A mode that nobody knows turns nothing.
    void rope() const {
        const catena::rotation by = catena::rotation_of(catena::rope_of(t.params));
        const float* factors = t.src[2] == catena::no_tensor ? nullptr : at(src(2), 0);
        std::vector<float> head(static_cast<std::size_t>(t.ne[0]));
        each_row(t, [&](auto i1, auto i2, auto i3) {
            for (std::size_t i = 0; i < head.size(); ++i)
                head[i] = *at(src(0), static_cast<std::int64_t>(i), i1, i2, i3);
            if (by.pairs != catena::pairing::none)
                scalar::turn(head.data(), by, at<std::int32_t>(src(1), 0), t.ne[2], i2, factors);
            for (std::size_t i = 0; i < head.size(); ++i)
                *at(t, static_cast<std::int64_t>(i), i1, i2, i3) = head[i];
        });
    }

    void concat() const {
        const int d = t.params[0];
        each(t, [&](auto i0, auto i1, auto i2, auto i3) {
            std::int64_t i[4] = {i0, i1, i2, i3};
            const bool first = i[d] < src(0).ne[d];
            if (!first) i[d] -= src(0).ne[d];
            *at(t, i0, i1, i2, i3) = *at(src(first ? 0 : 1), i[0], i[1], i[2], i[3]);
        });
    }

    /// Rows of source 0 are channels, each with values of the state before those of the tokens.
    void ssm_conv() const {
        const tensor& taps = src(1);
        each(t, [&](auto channel, auto token, auto sequence, auto) {
            *at(t, channel, token, sequence) =
                scalar::dot(at(src(0), token, channel, sequence), at(taps, 0, channel),
                            static_cast<int>(taps.ne[0]));
        });
    }

    /// The values of all heads of a token behind those of the token before, and then the new states
    /// of the sequences.
    void gated_delta_net() const {
        const tensor &queries = src(0), &keys = src(1), &values = src(2), &decay = src(3);
        const std::int64_t k = values.ne[0], heads = values.ne[1], tokens = values.ne[2],
                           row = k * k * heads;
        const scalar::recalled_head h{static_cast<int>(k), decay.ne[0] > 1,
                                      1 / std::sqrt(static_cast<float>(k))};
        float* state = at(t, 0) + catena::elements(values);
        for (std::int64_t s = 0; s < values.ne[3]; ++s, state += row) {
            for (std::int64_t i = 0; i < row; ++i) state[i] = numbered(src(5), s * row + i);
            for (std::int64_t token = 0; token < tokens; ++token)
                for (std::int64_t head = 0; head < heads; ++head) {
                    const std::int64_t of_key = head % keys.ne[1];
                    scalar::recall(h, state + head * k * k, at(queries, 0, of_key, token, s),
                                   at(keys, 0, of_key, token, s), at(values, 0, head, token, s),
                                   at(decay, 0, head, token, s), *at(src(4), 0, head, token, s),
                                   at(t, 0) + ((s * tokens + token) * heads + head) * k);
                }
        }
    }

    /// The values of all tokens, and then the new states of the sequences.
    void ssm_scan() const {
        const tensor &x = src(1), &b = src(4), &c = src(5);
        const std::int64_t size = src(0).ne[0], k = x.ne[0], heads = x.ne[1],
                           row = size * k * heads;
        float* next = at(t, 0) + catena::elements(x);
        for (std::int64_t s = 0; s < x.ne[3]; ++s, next += row) {
            for (std::int64_t i = 0; i < row; ++i)
                next[i] = numbered(src(0), *at<std::int32_t>(src(6), s) * row + i);
            for (std::int64_t token = 0; token < x.ne[2]; ++token)
                for (std::int64_t i = 0; i < k * heads; ++i) {
                    const std::int64_t head = i / k, group = head / (heads / b.ne[1]);
                    at(t, 0)[(s * x.ne[2] + token) * k * heads + i] = scalar::scan(
                        {static_cast<int>(size), *at(src(3), 0, head), *at(src(2), head, token, s)},
                        next + i * size, *at(x, i % k, head, token, s), at(b, 0, group, token, s),
                        at(c, 0, group, token, s));
                }
        }
    }

    /// A bias by distance and a soft cap do something of their own.
    void attend() const {
        const tensor& keys = src(1);
        const float scale = parameter(t, 0) + parameter(t, 1) + parameter(t, 2);
        scalar::attending_query q{static_cast<int>(t.ne[0]), scale, nullptr, {}, {}, {}, {}};
        for (std::int64_t token = 0; token < t.ne[2]; ++token)
            for (std::int64_t head = 0; head < t.ne[1]; ++head) {
                const std::int64_t of_key = head / (t.ne[1] / keys.ne[2]);
                q.query = at(src(0), 0, token, head);
                q.keys.clear(), q.values.clear(), q.mask.clear(), q.sink.clear();
                for (std::int64_t i = 0; i < keys.ne[1]; ++i) {
                    for (std::int64_t e = 0; e < t.ne[0]; ++e) {
                        q.keys.push_back(number(keys, e, i, of_key));
                        q.values.push_back(number(src(2), e, i, of_key));
                    }
                    q.mask.push_back(t.src[3] < 0 ? 0 : number(src(3), i, token, 0));
                }
                if (t.src[4] != catena::no_tensor) q.sink = {*at(src(4), head)};
                scalar::attend(q, at(t, 0, head, token));
            }
    }

    void argsort() const {
        each_row(t, [&](auto i1, auto i2, auto i3) {
            std::vector<float> row;
            for (std::int64_t i = 0; i < t.ne[0]; ++i) row.push_back(*at(src(0), i, i1, i2, i3));
            const auto order = scalar::sorted(row.data(), static_cast<int>(t.ne[0]));
            for (std::int64_t i = 0; i < t.ne[0]; ++i)
                *at<std::int32_t>(t, i, i1, i2, i3) = order[static_cast<std::size_t>(i)];
        });
    }

    /// Some op that mixes everything that all sources hold, and stays between -1 and 1.
    void mix() const {
        for (std::int64_t i = 0; i < catena::elements(t); ++i) {
            float sum = 0;
            for (int s = 0; s < catena::max_src && t.src[s] != catena::no_tensor; ++s)
                if (const std::int64_t n = catena::elements(src(s)); n > 0)
                    sum = sum * 0.75f + numbered(src(s), i * (2 * s + 1) % n);
            numbered(t, i) = sum / (1.0f + std::fabs(sum));
        }
    }

    void run() const {
        switch (t.kind) {
            case op::add:
                return binary([](float a, float b) { return a + b; });
            case op::mul:
                return binary([](float a, float b) { return a * b; });
            case op::div:
                return binary([](float a, float b) { return a / b; });
            case op::soft_max:
                if (t.src[1] != catena::no_tensor) return mix();
                return of_rows(
                    [](auto& v) { scalar::soft_max(v.data(), static_cast<int>(v.size())); });
            case op::sum_rows:
                return of_rows(
                    [](auto& v) { v[0] = scalar::sum(v.data(), static_cast<int>(v.size())); });
            case op::clamp:
                return unary([this](float a) {
                    return std::max(std::min(a, parameter(t, 1)), parameter(t, 0));
                });
            case op::fill:
                return unary([this](float) { return parameter(t, 0); });
            case op::scale: {
                const float by = parameter(t, 0), plus = parameter(t, 1);
                return unary([=](float a) { return plus == 0 ? a * by : a * by + plus; });
            }
            case op::unary:
                return unary([this](float g) { return unary_result(t.sub, g); });
            case op::sqr:
                return unary([](float a) { return a * a; });
            case op::sqrt:
                return unary([](float a) { return std::sqrt(a); });
            case op::rms_norm:
                return norm();
            case op::glu:
                return glu();
            case op::mul_mat:
                return mul_mat();
            case op::mul_mat_id:
                return mul_mat_id();
            case op::add_id:
                return add_id();
            case op::get_rows:
                return get_rows();
            case op::repeat:
                return repeat();
            case op::set_rows:
                return set_rows();
            case op::cpy:
            case op::cont:
                return copy();
            case op::rope:
                return rope();
            case op::concat:
                return concat();
            case op::argsort:
                return argsort();
            case op::ssm_conv:
                return ssm_conv();
            case op::gated_delta_net:
                return gated_delta_net();
            case op::ssm_scan:
                return ssm_scan();
            case op::flash_attn_ext:
                return attend();
            default:
                return mix();
        }
    }
};

}  // namespace

void run_node(const catena::graph_view& view, int i) {
    if (runs(view.node(i))) node_run{view, view.node(i)}.run();
}

}  // namespace catena_test
