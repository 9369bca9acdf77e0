// score, choose and weigh: from the logits of a token's experts to the experts that it is sent to,
// and their weights. How, are numbers of the launch (routing.hpp), so one chain stands for every
// router.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::chain {

/// Soft max of numbers that lie next to each other.
inline void soft_max(double* first, double* last) {
    const double most = *std::max_element(first, last);
    double sum = 0;
    for (double* v = first; v != last; ++v) sum += * v = std::exp(*v - most);
    for (double* v = first; v != last; ++v) *v /= sum;
}

inline double logistic(double v) { return 1 / (1 + std::exp(-v)); }

/// Above 20 ggml takes v for log(1 + e^v).
inline double sqrt_softplus(double v) { return std::sqrt(v > 20 ? v : std::log(1 + std::exp(v))); }

/// Numbers of experts, or of groups: the best first, equal ones in their order, NaN last.
inline std::vector<std::int32_t> sorted(const std::vector<double>& choice) {
    std::vector<std::int32_t> out(choice.size());
    std::iota(out.begin(), out.end(), 0);
    std::stable_sort(out.begin(), out.end(), [&](std::int32_t a, std::int32_t b) {
        const double p = choice[static_cast<std::size_t>(a)];
        const double q = choice[static_cast<std::size_t>(b)];
        return p > q || (!std::isnan(p) && std::isnan(q));
    });
    return out;
}

/// Lets the choice of all experts outside of the best groups be minus infinity.
inline void keep_best_groups(const routing_numbers& n, std::vector<double>& choice) {
    const std::size_t size = choice.size() / static_cast<std::size_t>(n.groups);
    std::vector<double> best;
    for (std::size_t at = 0; at < choice.size(); at += size) {
        const auto first = choice.begin() + static_cast<std::ptrdiff_t>(at);
        const std::vector<double> group(first, first + static_cast<std::ptrdiff_t>(size));
        const std::vector<std::int32_t> order = sorted(group);
        best.push_back(group[static_cast<std::size_t>(order[0])] +
                       group[static_cast<std::size_t>(order[1])]);
    }
    const std::vector<std::int32_t> groups = sorted(best);
    for (auto g = groups.begin() + n.groups_chosen; g != groups.end(); ++g)
        std::fill_n(choice.begin() + *g * static_cast<std::ptrdiff_t>(size), size,
                    -std::numeric_limits<double>::infinity());
}

struct score_op {
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::score;

    static void apply(evaluation& e, const stage&) {
        for (std::int64_t row = 0; row < e.in.rows; ++row) {
            double* const first = e.value.data() + row * e.in.k;
            if (e.in.routing.score == scoring::soft_max) soft_max(first, first + e.in.k);
            if (e.in.routing.score == scoring::sigmoid)
                std::transform(first, first + e.in.k, first, logistic);
            if (e.in.routing.score == scoring::sqrt_softplus)
                std::transform(first, first + e.in.k, first, sqrt_softplus);
        }
    }

    static constexpr void spell(text& out) { out << "score"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool fits = Before.fits(kind);
        static_assert(fits, "catena: score is of the logits of experts: put it first");
        return fits ? Before.then(kind) : refused;
    }
};

struct choose_op {
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::choose;

    static void apply(evaluation& e, const stage&) {
        const inputs& in = e.in;
        const routing_numbers& n = in.routing;
        const std::vector<double>& bias = in[operand::bias];
        if (!bias.empty()) expect_elements("the bias of experts", bias, in.k);
        if (n.chosen < 1 || n.chosen > in.k || n.groups < 1 || in.k % n.groups != 0 ||
            (n.groups > 1 && in.k / n.groups < 2) || n.groups_chosen > n.groups)
            throw std::invalid_argument("reference: no such experts, or groups of them");
        std::vector<double> scores;
        for (std::int64_t row = 0; row < in.rows; ++row) {
            const auto first = e.value.begin() + row * in.k;
            std::vector<double> choice(first, first + in.k);
            if (n.choice != choosing::by_score)
                choice.assign(in.x.begin() + row * in.k, in.x.begin() + (row + 1) * in.k);
            if (n.choice == choosing::by_sigmoid)
                std::transform(choice.begin(), choice.end(), choice.begin(), logistic);
            for (std::size_t i = 0; i < bias.size(); ++i) choice[i] += bias[i];
            if (n.groups > 1) keep_best_groups(n, choice);
            const std::vector<std::int32_t> order = sorted(choice);
            e.out.choice.insert(e.out.choice.end(), choice.begin(), choice.end());
            e.out.chosen.insert(e.out.chosen.end(), order.begin(), order.end());
            e.chosen.insert(e.chosen.end(), order.begin(), order.begin() + n.chosen);
            for (std::int32_t i = 0; i < n.chosen; ++i)
                scores.push_back(first[order[static_cast<std::size_t>(i)]]);
        }
        e.out.scores = std::move(e.value);
        e.value = std::move(scores);
    }

    static constexpr void spell(text& out) { out << "choose"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool fits = Before.fits(kind);
        static_assert(fits,
                      "catena: choose sorts the experts of a token: put it first, or behind score");
        return fits ? Before.then(kind) : refused;
    }
};

struct weigh_op {
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::weigh;

    static void apply(evaluation& e, const stage&) {
        const routing_numbers& n = e.in.routing;
        for (std::int64_t row = 0; row < e.in.rows; ++row) {
            double* const first = e.value.data() + row * n.chosen;
            double* const last = first + n.chosen;
            if (n.soft_max_chosen) soft_max(first, last);
            const double sum =
                n.normalized ? std::max(std::accumulate(first, last, 0.0), double{n.least}) : 1;
            std::for_each(first, last, [&](double& w) { w = w / sum * double{n.scale}; });
        }
    }

    static constexpr void spell(text& out) { out << "weigh"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool fits = Before.fits(kind);
        static_assert(fits, "catena: weigh makes weights of chosen scores: put it behind choose");
        return fits ? Before.then(kind) : refused;
    }
};

inline constexpr score_op score{};
inline constexpr choose_op choose{};
inline constexpr weigh_op weigh{};

template <>
struct stage_meaning<stage_kind::score> : score_op {};
template <>
struct stage_meaning<stage_kind::choose> : choose_op {};
template <>
struct stage_meaning<stage_kind::weigh> : weigh_op {};

}  // namespace CATENA_NAMESPACE::chain
