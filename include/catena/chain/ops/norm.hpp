// The norms of a row: rms_norm is value / sqrt(mean(value^2) + eps), layer_norm the same of value -
// mean(value), l2_norm value / max(sqrt(sum(value^2)), eps), each times a number of the launch. An
// rms_norm may stand behind the sum of a norm and a residual, which is emitted in f32: the second
// norm.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace CATENA_NAMESPACE::chain {

template <stage_kind Kind>
struct norm_stage {
    static constexpr bool second = Kind == stage_kind::next_norm;

    static void apply(evaluation& e, const stage&) {
        e.at_sum = false;
        if (!e.out.emitted.empty()) {  // it was the sum
            e.out.sum = std::move(e.out.value);
            e.out.emitted = {};
        }
        const double eps = second ? e.in.next_eps : e.in.eps;
        const double scale = second ? 1 : e.in.norm_scale;
        const auto k = static_cast<std::size_t>(e.in.k);
        for (std::size_t at = 0; at < e.value.size(); at += k) {
            const auto row = std::span(e.value).subspan(at, k);
            if (Kind == stage_kind::layer_norm) {
                double mean = 0;
                for (const double v : row) mean += v / static_cast<double>(k);
                for (double& v : row) v -= mean;
            }
            double squares = 0;
            for (const double v : row) squares += v * v;
            const double length = Kind == stage_kind::l2_norm
                                      ? std::max(std::sqrt(squares), eps)
                                      : std::sqrt(squares / static_cast<double>(k) + eps);
            for (double& v : row) v *= scale / length;
        }
    }
};

template <stage_kind Kind>
struct norm_op {
    static constexpr stage lowered = {};

    static constexpr void spell(text& out) { out << name(Kind); }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool again = Kind == stage_kind::rms_norm && Before.joined_f32();
        constexpr stage_kind kind = again ? stage_kind::next_norm : Kind;
        constexpr stage_set passed =
            again ? Before.passed.without(stage_kind::emit) : Before.passed;
        constexpr bool of_x = !Before.behind(stage_kind::glu) && !Before.behind(stage_kind::gate);
        constexpr bool fits = may_follow(passed, kind);
        static_assert(of_x,
                      "catena: a norm and glu each make the value of a chain: put glu behind the "
                      "norm to gate it, or write two chains");
        static_assert(!of_x || fits,
                      "catena: a norm comes once, before mul(weight), add(bias), emit<F> and "
                      "quantize<F>: move it forward or remove it");
        if (!of_x || !fits) return refused;
        flow next = Before.then(kind);
        next.passed = passed | kind;
        next.emitted = {};
        return next;
    }
};

inline constexpr norm_op<stage_kind::rms_norm> rms_norm{};
inline constexpr norm_op<stage_kind::layer_norm> layer_norm{};
inline constexpr norm_op<stage_kind::l2_norm> l2_norm{};

template <>
struct stage_meaning<stage_kind::rms_norm> : norm_stage<stage_kind::rms_norm> {};
template <>
struct stage_meaning<stage_kind::layer_norm> : norm_stage<stage_kind::layer_norm> {};
template <>
struct stage_meaning<stage_kind::l2_norm> : norm_stage<stage_kind::l2_norm> {};
template <>
struct stage_meaning<stage_kind::next_norm> : norm_stage<stage_kind::next_norm> {};

}  // namespace CATENA_NAMESPACE::chain
