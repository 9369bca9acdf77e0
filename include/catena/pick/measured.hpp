// Medians that were measured for rows on problems. If a table has some for a problem, they decide
// among the rows that have one; a row without one is picked only if its prediction displaces them
// (pick/pick.hpp). `catena tune` makes them. They are compiled into a table, or come from a file of
// the user's own (pick/measured_file.hpp).
#pragma once

#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The columns (for experts: tokens) at which a problem is measured. A matvec is measured at its
/// own number. A prompt may have any number, so a matmul is measured at the next power of two from
/// 8 to 512, or at 512 if it has more.
constexpr std::int64_t measured_columns(const product_problem& p) {
    const std::int64_t columns = tokens_of(p);
    if (p.needs.kind != skeleton::matmul) return columns;
    std::int64_t power = 8;
    while (power < columns && power < 512) power *= 2;
    return power;
}

namespace detail {

/// Fields, mixed one after the other.
class key_mixer {
  public:
    template <class... Fields>
    constexpr void operator()(Fields... fields) {
        (one(static_cast<std::uint64_t>(fields)), ...);
    }
    constexpr std::uint64_t key() const { return h_; }

  private:
    std::uint64_t h_ = 0;

    constexpr void one(std::uint64_t field) {
        h_ = (h_ ^ field) + 0x9e3779b97f4a7c15u;
        h_ = (h_ ^ (h_ >> 30)) * 0xbf58476d1ce4e5b9u;
        h_ = (h_ ^ (h_ >> 27)) * 0x94d049bb133111ebu;
        h_ ^= h_ >> 31;
    }
};

constexpr void mix(key_mixer& mixed, const row_computation& c) {
    const auto& [stages, emits, own] = c;
    mixed(skeleton::row, stages.bits, emits.bits, format::unknown, 0, 0);
    if (own) mixed(own);
}
constexpr void mix(key_mixer& mixed, const product_computation& c) {
    const auto& [kind, stages, emits, activation, weights, epilogue, own] = c;
    mixed(kind, stages.bits, emits.bits, activation, weights.bits, epilogue.bits);
    if (own) mixed(own);
}

}  // namespace detail

/// A key of 64 bits that depends on every field of a problem; for a matmul, on its class of columns
/// instead of their number. Structs are taken apart whole, so a new field does not compile until it
/// is added here. Records hold keys: what the other skeletons alone have keeps its place, as 0.
constexpr std::uint64_t problem_key(const row_problem& p) {
    const auto& [needs, sum, k, rows, quant_k, slots, positions, stored, least_k, values,
                 stored_values, sequences, alignment] = p;
    detail::key_mixer mixed;
    detail::mix(mixed, needs);
    mixed(sum, 0, k, rows, quant_k, slots, 0, 0, alignment, 0);
    if (stored != 0) mixed(stored);                          // heads
    if (values != 0) mixed(least_k, values, stored_values);  // of several lengths
    if (sequences > 1) mixed(stored, sequences);
    if (positions > 0) mixed(positions);
    return mixed.key();
}
constexpr std::uint64_t problem_key(const product_problem& p) {
    const auto& [needs, expert, ends, begins, gate_k, k, columns, tokens, alignment, count,
                 member] = p;
    detail::key_mixer mixed;
    detail::mix(mixed, needs);
    const std::int64_t at = measured_columns(p);  // of a matmul in place of its own
    mixed(0, expert, k, 0, 0, 0, at * slots_of(p), expert ? at : tokens, alignment, count);
    for (int i = 0; i < count; ++i) {
        const auto& [type, its_rows, matrices, parts, written] = member[i];
        mixed(type, its_rows, matrices, parts.bits, written);
    }
    if (ends || begins) mixed(ends, begins);
    if (gate_k > 0) mixed(gate_k);
    return mixed.key();
}
constexpr std::uint64_t problem_key(const problem& p) {
    return p.visit([](const auto& own) { return problem_key(own); });
}

/// The launch that is raced for a problem: a row step itself, and a product without what it begins
/// or ends of a norm.
constexpr row_problem raced(const row_problem& p) { return p; }
constexpr product_problem raced(const product_problem& p) {
    product_problem out = p;
    out.ends_norm = out.begins_norm = false;
    if (!p.begins_norm) return out;
    out.needs.epilogue = out.needs.epilogue.without(epilogue_part::quantize);
    for (int i = 0; i < out.member_count; ++i)
        out.member[i].epilogue = out.member[i].epilogue.without(epilogue_part::quantize);
    return out;
}

/// The measurements of one problem.
class measured_rows {
  public:
    template <class Problem>
    constexpr measured_rows(const table& t, const Problem& p) {
        if (t.measured_count == 0) return;
        const std::uint64_t key = problem_key(p);
        const measurement* const end = t.measured + t.measured_count;
        first_ = t.measured;
        for (int left = t.measured_count; left > 0;) {  // the first whose key is not smaller
            const int half = left / 2;
            const bool below = first_[half].problem < key;
            if (below) first_ += half + 1;
            left = below ? left - half - 1 : half;
        }
        for (last_ = first_; last_ < end && last_->problem == key;) ++last_;
    }

    constexpr bool empty() const { return first_ == last_; }

    /// Microseconds of a launch of the row; negative: it was not measured.
    constexpr double median_us(int row) const {
        for (const measurement* m = first_; m != last_; ++m)
            if (m->row == row) return m->median_us;
        return -1;
    }

  private:
    const measurement* first_ = nullptr;
    const measurement* last_ = nullptr;
};

}  // namespace CATENA_NAMESPACE
