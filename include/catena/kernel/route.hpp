// Routing: a block sends a token to its experts. In the row skeleton it sorts all of them, and
// writes their numbers, the best first, and the weights of those that are chosen. In a matvec some
// blocks do that, and each other one finds the expert at one place, for itself.
//
// Thread t owns experts t, t + threads, ... An expert's place is the number of experts that come
// before it, which each thread counts for its own: that takes no rounds, and as long for one chosen
// expert as for 32. All of the logits are read before any result is written. A block of any size
// gets the same bits.
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

/// The rank of a choice: an integer that grows with the choice, NaN below all numbers. No expert
/// has rank 0.
inline constexpr unsigned rank_of_nan = 1;
CATENA_FN unsigned rank_of(real choice) {
    if (is_nan(choice)) return rank_of_nan;
    const unsigned bits = bits_of(choice + real{0});  // -0 is 0
    return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
}

/// A score that depends on one logit alone. A function of its own: a thread has the logits of
/// several experts, for each of which it would stand in a kernel.
CATENA_NO_INLINE real score_of(scoring by, real logit) {
    if (by == scoring::sigmoid) return logistic(logit);
    return sqrt(softplus(logit));
}

/// The work of one block, of up to Held experts a thread. `shared`: route_shared_bytes, 16-byte
/// aligned. All threads call.
template <class X, int Held>
class route_work {
  public:
    CATENA_FN route_work(X& x, const route_args& a, int token, std::byte* shared)
        : x_(x), a_(a), token_(token), ranks_(reinterpret_cast<unsigned*>(shared)) {}

    /// Puts the rank of each expert where all threads read it, and its score where its own thread
    /// does. What follows a load is in a loop, since it is long.
    CATENA_FN void rank() {
        bring();
        const routing_numbers& n = a_.numbers;
        const bool soft_max = n.score == scoring::soft_max;
        const real sum = soft_max ? sum_of_exponentials() : real{1};
        CATENA_NO_UNROLL
        for (int e = x_.thread(); e < padded(); e += x_.threads()) {
            if (e >= a_.experts) {
                x_.store(ranks_ + e, 0u);
                continue;
            }
            const real logit = x_.load(logits() + e);
            real score = logit;
            if (soft_max) score = real{x_.load(scores() + e)} / sum;
            if (n.score == scoring::sigmoid || n.score == scoring::sqrt_softplus)
                score = score_of(n.score, logit);
            real choice = n.choice == choosing::by_score ? score : logit;
            if (n.choice == choosing::by_sigmoid) choice = score_of(scoring::sigmoid, logit);
            if (a_.bias != nullptr) choice = choice + x_.load(biases() + e);
            x_.store(scores() + e, score);
            x_.store(ranks_ + e, rank_of(choice));
        }
        x_.sync();
        if (n.groups > 1) keep_best_groups();
    }

    /// Writes the experts of the token, and the weights of the chosen.
    CATENA_FN void write() {
        sort();
        x_.sync();
        if (x_.warp() == 0) weigh();
    }

    /// The expert at a place of the chosen ones, for every thread. Behind it nobody reads `shared`.
    CATENA_FN int expert_at(int place) {
        if (x_.warp() == 0) find(place);
        x_.sync();
        const int found = x_.load(found_at());
        x_.sync();
        return found;
    }

  private:
    X& x_;
    const route_args& a_;
    const int token_;
    unsigned* const ranks_;  // of each expert; behind them 0, up to a multiple of 4

    // Behind the ranks, in whose place the logits are first: scores; a list of ranks, in whose
    // place the biases are first and the scores of the chosen at last; two choices of each group;
    // is a group one of the best?; what was found.
    CATENA_FN float* logits() const { return reinterpret_cast<float*>(ranks_); }
    CATENA_FN float* scores() const { return reinterpret_cast<float*>(ranks_ + padded()); }
    CATENA_FN unsigned* listed() const { return ranks_ + 2 * padded(); }
    CATENA_FN float* biases() const { return reinterpret_cast<float*>(listed()); }
    CATENA_FN float* chosen() const { return reinterpret_cast<float*>(listed()); }
    CATENA_FN float* best() const { return reinterpret_cast<float*>(ranks_ + 3 * padded()); }
    CATENA_FN unsigned* kept() const { return ranks_ + 3 * padded() + 2 * max_groups; }
    CATENA_FN int* found_at() const { return reinterpret_cast<int*>(kept() + max_groups); }

    CATENA_FN int expert(int j) const { return j * x_.threads() + x_.thread(); }
    CATENA_FN bool has(int j) const { return expert(j) < a_.experts; }
    CATENA_FN int padded() const { return (a_.experts + 3) & ~3; }

    template <class T>
    CATENA_FN T* row(T* first, std::int64_t nb) const {
        using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
        return reinterpret_cast<T*>(reinterpret_cast<byte*>(first) + distance(token_, nb));
    }

    /// Loads the thread's logits and biases, all of them in flight at once.
    CATENA_FN void bring() {
        real logit[Held], bias[Held];
        CATENA_UNROLL
        for (int j = 0; j < Held; ++j) {
            if (has(j)) logit[j] = x_.load(row(a_.x, a_.x_nb) + expert(j));
            if (has(j) && a_.bias != nullptr) bias[j] = x_.load(a_.bias + expert(j));
        }
        CATENA_UNROLL
        for (int j = 0; j < Held; ++j) {
            if (has(j)) x_.store(logits() + expert(j), logit[j]);
            if (has(j) && a_.bias != nullptr) x_.store(biases() + expert(j), bias[j]);
        }
    }

    /// Lane l of every warp adds up experts l, l + 32, ...: in a block of any size alike.
    template <class Combine>
    CATENA_FN real over_experts(const float* all, real first, Combine combine) {
        CATENA_NO_UNROLL
        for (int e = x_.lane(); e < a_.experts; e += warp_size)
            first = combine(first, x_.load(all + e));
        return over_threads<warp_size>(x_, first, nullptr, combine);
    }

    /// Makes the score of each expert its exponential, and returns what these add up to.
    CATENA_FN real sum_of_exponentials() {
        x_.sync();
        const real most = over_experts(logits(), real{-infinity}, larger);
        CATENA_NO_UNROLL
        for (int e = x_.thread(); e < a_.experts; e += x_.threads())
            x_.store(scores() + e, exp(real{x_.load(logits() + e)} - most));
        x_.sync();
        const real sum = over_experts(scores(), real{0}, [](real p, real q) { return p + q; });
        x_.sync();
        return sum;
    }

    /// Ranks of a list that stand before number `own`, which has this rank, among [first, end).
    CATENA_FN int before(const unsigned* list, int own, unsigned rank, int first, int end) const {
        int count = 0;
        CATENA_NO_UNROLL
        for (int e = first; e < end; ++e) {
            const unsigned other = x_.load(list + e);
            count += other > rank || (other == rank && e < own) ? 1 : 0;
        }
        return count;
    }

    /// The same among all of a list, four at a time. Of equal ones those of a quad before its own
    /// count.
    CATENA_FN int place_among(const unsigned* list, int end, int own, unsigned rank) const {
        const int quad_of_own = own & ~3;
        int count = before(list, own, rank, quad_of_own, own);
        CATENA_UNROLL
        for (int i = 1; i < 4; ++i) {
            const int e = own + i;
            if (e < quad_of_own + 4) count += x_.load(list + e) > rank ? 1 : 0;
        }
        CATENA_NO_UNROLL
        for (int e = 0; e < end; e += 4) {
            if (e == quad_of_own) continue;
            const auto four = x_.load16(list + e);
            const unsigned below = e < own ? rank - 1 : rank;
            count += (four.x > below ? 1 : 0) + (four.y > below ? 1 : 0) +
                     (four.z > below ? 1 : 0) + (four.w > below ? 1 : 0);
        }
        return count;
    }

    CATENA_FN void sort() {
        CATENA_NO_UNROLL
        for (int e = x_.thread(); e < a_.experts; e += x_.threads()) {
            const int place = place_among(ranks_, padded(), e, x_.load(ranks_ + e));
            x_.store(row(a_.ids, a_.ids_nb) + place, e);
            if (place < a_.numbers.chosen) x_.store(chosen() + place, x_.load(scores() + e));
        }
    }

    /// Finds the expert at a place of the chosen ones. A warp; each lane has the same number of
    /// experts, next to each other. As many lanes as experts are chosen have one of a rank of
    /// `least` or above, so what is below is not chosen. That leaves few to be compared.
    CATENA_FN void find(int place) {
        const int share = ((padded() / 4 + warp_size - 1) / warp_size) * 4;
        const int first = x_.lane() * share;
        const int end = first + share < padded() ? first + share : padded();
        unsigned most = 0;
        CATENA_NO_UNROLL
        for (int e = first; e < end; e += 4) {
            const auto four = x_.load16(ranks_ + e);
            const unsigned p = four.x > four.y ? four.x : four.y;
            const unsigned q = four.z > four.w ? four.z : four.w, of_four = p > q ? p : q;
            most = of_four > most ? of_four : most;
        }
        auto* const of_lanes = reinterpret_cast<unsigned*>(best());
        x_.store(of_lanes + x_.lane(), most);
        if (x_.lane() == 0) x_.store(found_at(), 1);  // fewer lanes have experts: all are compared
        x_.sync_warp();
        if (most > 0 && place_among(of_lanes, warp_size, x_.lane(), most) == a_.numbers.chosen - 1)
            x_.store(found_at(), static_cast<int>(most));
        x_.sync_warp();
        const auto least = static_cast<unsigned>(x_.load(found_at()));
        int own = 0;
        CATENA_NO_UNROLL
        for (int e = first; e < end; ++e) own += x_.load(ranks_ + e) >= least ? 1 : 0;
        int behind = own;  // of this lane and those before it
        CATENA_UNROLL
        for (int by = 1; by < warp_size; by *= 2) {
            const int others = x_.shuffle(behind, x_.lane() >= by ? x_.lane() - by : x_.lane());
            if (x_.lane() >= by) behind += others;
        }
        const int count = x_.shuffle(behind, warp_size - 1), padding = (count + 3) & ~3;
        auto* const experts = reinterpret_cast<int*>(scores());
        int at = behind - own;
        CATENA_NO_UNROLL
        for (int e = first; e < end; ++e) {
            const unsigned r = x_.load(ranks_ + e);
            if (r < least) continue;
            x_.store(listed() + at, r);
            x_.store(experts + at++, e);
        }
        if (count + x_.lane() < padding) x_.store(listed() + count + x_.lane(), 0u);
        x_.sync_warp();
        CATENA_NO_UNROLL
        for (int i = x_.lane(); i < count; i += warp_size)
            if (place_among(listed(), padding, i, x_.load(listed() + i)) == place)
                x_.store(found_at(), x_.load(experts + i));
    }

    /// A choice of this rank, but that -0 became 0.
    CATENA_FN static real choice_of(unsigned rank) {
        if (rank == rank_of_nan) return from_bits(0x7fc00000u);
        return from_bits(rank ^ ((rank >> 31) != 0 ? 0x80000000u : 0xffffffffu));
    }

    /// The experts of all groups but the best get the rank of minus infinity.
    CATENA_FN void keep_best_groups() {
        const int size = quotient(a_.experts, a_.numbers.groups);
        CATENA_NO_UNROLL
        for (int e = x_.thread(); e < a_.experts; e += x_.threads()) {
            const auto group = static_cast<int>(quotient(e, size));
            const unsigned rank = x_.load(ranks_ + e);
            const int place = before(ranks_, e, rank, group * size, (group + 1) * size);
            if (place < 2) x_.store(best() + 2 * group + place, choice_of(rank));
        }
        x_.sync();
        if (x_.warp() == 0) {  // a lane for each group
            const int own = x_.lane();
            const bool is_group = own < a_.numbers.groups;
            const unsigned rank =
                is_group ? rank_of(x_.load(best() + 2 * own) + x_.load(best() + 2 * own + 1)) : 0;
            int place = 0;
            CATENA_NO_UNROLL
            for (int g = 0; g < a_.numbers.groups; ++g) {
                const auto other = static_cast<unsigned>(x_.shuffle(static_cast<int>(rank), g));
                place += other > rank || (other == rank && g < own) ? 1 : 0;
            }
            if (is_group) x_.store(kept() + own, place < a_.numbers.groups_chosen ? 1u : 0u);
        }
        x_.sync();
        CATENA_NO_UNROLL
        for (int e = x_.thread(); e < a_.experts; e += x_.threads())
            if (x_.load(kept() + quotient(e, size)) == 0)
                x_.store(ranks_ + e, rank_of(real{-infinity}));
        x_.sync();
    }

    /// A lane for each chosen expert.
    CATENA_FN void weigh() {
        const routing_numbers& n = a_.numbers;
        const bool is_chosen = x_.lane() < n.chosen;
        const auto add = [](real p, real q) { return p + q; };
        real w = is_chosen ? x_.load(chosen() + x_.lane()) : real{0};
        if (n.soft_max_chosen) {
            const real most =
                over_threads<warp_size>(x_, is_chosen ? w : real{-infinity}, nullptr, larger);
            w = is_chosen ? exp(w - most) : real{0};
            w = w / over_threads<warp_size>(x_, w, nullptr, add);
        }
        if (n.normalized) {
            const real sum = over_threads<warp_size>(x_, w, nullptr, add);
            w = w / (less(sum, real{n.least}) ? real{n.least} : sum);
        }
        if (n.scale != 1) w = w * real{n.scale};
        if (is_chosen) x_.store(row(a_.weights, a_.weights_nb) + x_.lane(), w);
    }
};

template <row_computation C, row_policy P>
inline constexpr bool route_possible = !objection_to(C, P);

/// The body. Grid: one block per token. Shared memory as kernel/layout.hpp says. `a` follows
/// args.hpp, with at most routed_experts(P) experts.
template <class X, row_policy P, row_computation C>
CATENA_FN void route_body(X& x, const route_args& a) {
    static_assert(route_possible<C, P>, "kernel/objection/row.hpp says why no row can be so");
    constexpr auto room = static_cast<int>(route_shared_bytes(routed_experts(P)));
    x.grid_trigger();
    x.grid_wait();
    route_work<X, P.values> work(x, a, x.block(), x.template shared<std::byte>(room));
    work.rank();
    work.write();
}

}  // namespace CATENA_NAMESPACE::kernel
