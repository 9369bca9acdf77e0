// The row skeleton of routing: a block sends a token to its experts. It sorts all of them, and
// writes their numbers, the best first, and the weights of those that are chosen.
//
// Thread t owns experts t, t + threads, ... An expert's place is the number of experts that come
// before it, which each thread counts for its own: that takes no rounds, and as long for one chosen
// expert as for 32. All of the logits are read before any result is written.
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/distance.hpp"
#include "catena/kernel/objection/row.hpp"
#include "catena/kernel/reduce.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace CATENA_NAMESPACE::kernel {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// What a choice is compared by: as an integer that grows with it, NaN below all numbers. 0 is no
/// expert's.
inline constexpr unsigned rank_of_nan = 1;
CATENA_FN unsigned rank_of(real choice) {
    if (is_nan(choice)) return rank_of_nan;
    const unsigned bits = bits_of(choice + real{0});  // -0 is 0
    return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
}

/// The larger number; of a number and a NaN the number.
CATENA_FN real larger(real a, real b) { return is_nan(a) || less(a, b) ? b : a; }

/// The work of one block; see route_body.
template <class X, row_policy P>
class route_work {
  public:
    CATENA_FN route_work(X& x, const route_args& a, int token)
        : x_(x),
          a_(a),
          token_(token),
          ranks_(x.template shared<unsigned>(routed_experts(P))),
          meeting_(x.template shared<float>(2 * P.threads / warp_size)),
          scores_(x.template shared<float>(max_chosen)),
          best_(x.template shared<float>(2 * max_groups)),
          kept_(x.template shared<unsigned>(max_groups)) {}

    CATENA_FN void run() {
        real score[held];
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) score[j] = logit(expert(j));
        make_scores(score);
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            real choice = score[j];
            if (a_.bias != nullptr && has(j)) choice = choice + x_.load(a_.bias + expert(j));
            if (expert(j) < padded()) x_.store(ranks_ + expert(j), has(j) ? rank_of(choice) : 0u);
        }
        x_.sync();
        if (a_.numbers.groups > 1) keep_best_groups();
        sort(score);
        x_.sync();
        if (x_.warp() == 0) weigh();
    }

  private:
    static constexpr int held = P.values;

    X& x_;
    const route_args& a_;
    const int token_;
    unsigned* const ranks_;  // of each expert; behind them 0, up to a multiple of 4
    float* const meeting_;
    float* const scores_;   // of the chosen experts
    float* const best_;     // two choices of each group
    unsigned* const kept_;  // is a group one of the best?

    CATENA_FN int expert(int j) const { return j * P.threads + x_.thread(); }
    CATENA_FN bool has(int j) const { return expert(j) < a_.experts; }
    CATENA_FN int padded() const { return (a_.experts + 3) & ~3; }

    template <class T>
    CATENA_FN T* row(T* first, std::int64_t nb) const {
        using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
        return reinterpret_cast<T*>(reinterpret_cast<byte*>(first) + distance(token_, nb));
    }

    CATENA_FN real logit(int e) const {
        return e < a_.experts ? x_.load(row(a_.x, a_.x_nb) + e) : real{-infinity};
    }

    CATENA_FN void make_scores(real (&v)[held]) {
        if (a_.numbers.score == scoring::sigmoid) {
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) v[j] = logistic(v[j]);
        }
        if (a_.numbers.score != scoring::soft_max) return;
        real most = v[0];
        CATENA_UNROLL
        for (int j = 1; j < held; ++j) most = larger(most, v[j]);
        most = over_threads<P.threads>(x_, most, meeting_, larger);
        real sum{0};
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            if (has(j)) sum = sum + (v[j] = exp(v[j] - most));
        sum = over_threads<P.threads>(x_, sum, meeting_ + P.threads / warp_size,
                                      [](real p, real q) { return p + q; });
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) v[j] = v[j] / sum;
    }

    /// Experts before one with this rank, among [first, end).
    CATENA_FN int before(int own, unsigned rank, int first, int end) const {
        int count = 0;
        CATENA_NO_UNROLL
        for (int e = first; e < end; ++e) {
            const unsigned other = x_.load(ranks_ + e);
            count += other > rank || (other == rank && e < own) ? 1 : 0;
        }
        return count;
    }

    /// The same among all, four at a time. Of equal ones those of a quad before its own count.
    CATENA_FN int place_of(int own, unsigned rank) const {
        const int quad_of_own = own & ~3;
        int count = before(own, rank, quad_of_own, own);
        CATENA_UNROLL
        for (int i = 1; i < 4; ++i) {
            const int e = own + i;
            if (e < quad_of_own + 4) count += x_.load(ranks_ + e) > rank ? 1 : 0;
        }
        CATENA_NO_UNROLL
        for (int e = 0; e < padded(); e += 4) {
            if (e == quad_of_own) continue;
            const auto four = x_.load16(ranks_ + e);
            const unsigned below = e < own ? rank - 1 : rank;
            count += (four.x > below ? 1 : 0) + (four.y > below ? 1 : 0) +
                     (four.z > below ? 1 : 0) + (four.w > below ? 1 : 0);
        }
        return count;
    }

    CATENA_FN void sort(const real (&score)[held]) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            if (!has(j)) continue;
            const int place = place_of(expert(j), x_.load(ranks_ + expert(j)));
            x_.store(row(a_.ids, a_.ids_nb) + place, expert(j));
            if (place < a_.numbers.chosen) x_.store(scores_ + place, score[j]);
        }
    }

    /// A choice of this rank, but that -0 became 0.
    CATENA_FN static real choice_of(unsigned rank) {
        if (rank == rank_of_nan) return from_bits(0x7fc00000u);
        return from_bits(rank ^ ((rank >> 31) != 0 ? 0x80000000u : 0xffffffffu));
    }

    /// The experts of all groups but the best get the rank of minus infinity.
    CATENA_FN void keep_best_groups() {
        const int size = quotient(a_.experts, a_.numbers.groups);
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            if (!has(j)) continue;
            const int e = expert(j), group = quotient(e, size);
            const unsigned rank = x_.load(ranks_ + e);
            const int place = before(e, rank, group * size, (group + 1) * size);
            if (place < 2) x_.store(best_ + 2 * group + place, choice_of(rank));
        }
        x_.sync();
        if (x_.warp() == 0) {  // a lane for each group
            const int own = x_.lane();
            const bool is_group = own < a_.numbers.groups;
            const unsigned rank =
                is_group ? rank_of(x_.load(best_ + 2 * own) + x_.load(best_ + 2 * own + 1)) : 0;
            int place = 0;
            CATENA_NO_UNROLL
            for (int g = 0; g < a_.numbers.groups; ++g) {
                const auto other = static_cast<unsigned>(x_.shuffle(static_cast<int>(rank), g));
                place += other > rank || (other == rank && g < own) ? 1 : 0;
            }
            if (is_group) x_.store(kept_ + own, place < a_.numbers.groups_chosen ? 1u : 0u);
        }
        x_.sync();
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            if (has(j) && x_.load(kept_ + quotient(expert(j), size)) == 0)
                x_.store(ranks_ + expert(j), rank_of(real{-infinity}));
        x_.sync();
    }

    /// A lane for each chosen expert.
    CATENA_FN void weigh() {
        const routing_numbers& n = a_.numbers;
        const bool chosen = x_.lane() < n.chosen;
        const auto add = [](real p, real q) { return p + q; };
        real w = chosen ? x_.load(scores_ + x_.lane()) : real{0};
        if (n.soft_max_chosen) {
            const real most =
                over_threads<warp_size>(x_, chosen ? w : real{-infinity}, nullptr, larger);
            w = chosen ? exp(w - most) : real{0};
            w = w / over_threads<warp_size>(x_, w, nullptr, add);
        }
        if (n.normalized) {
            const real sum = over_threads<warp_size>(x_, w, nullptr, add);
            w = w / (less(sum, real{n.least}) ? real{n.least} : sum);
        }
        if (n.scale != 1) w = w * real{n.scale};
        if (chosen) x_.store(row(a_.weights, a_.weights_nb) + x_.lane(), w);
    }
};

template <row_computation C, row_policy P>
inline constexpr bool route_possible = !objection_to(C, P);

/// The body. Grid: one block per token. Shared memory as kernel/layout.hpp says. `a` follows
/// args.hpp, with at most routed_experts(P) experts.
template <class X, row_policy P, row_computation C>
CATENA_FN void route_body(X& x, const route_args& a) {
    static_assert(route_possible<C, P>, "kernel/objection/row.hpp says why no row can be so");
    x.grid_trigger();
    x.grid_wait();
    route_work<X, P>(x, a, x.block()).run();
}

}  // namespace CATENA_NAMESPACE::kernel
