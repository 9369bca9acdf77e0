// Rows in a machine's memory: filled with seeded values, and read back.
#pragma once

#include "machine.hpp"

#include "catena/chain/gate.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/kernel/args.hpp"
#include "catena/match/own_ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace catena::tool {

/// The byte offset of logical row r of a row step.
inline std::int64_t row_offset(const row_args& a, const row_strides& at, std::int64_t r) {
    const std::int64_t i1 = r % a.n1, i2 = r / a.n1 % a.n2, i3 = r / a.n1 / a.n2;
    return i1 * at.nb1 + i2 * at.nb2 + i3 * at.nb3;
}

inline void write_values(machine& on, void* to, const std::vector<float>& values) {
    on.write(to, std::as_bytes(std::span(values)));
}

inline std::vector<float> read_values(machine& on, const void* from, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    on.read(from, std::as_writable_bytes(std::span(values)));
    return values;
}

inline std::vector<float> seeded(std::uint64_t key, std::int64_t count, float mean,
                                 float deviation) {
    std::vector<float> values(static_cast<std::size_t>(count));
    fill_random_values(key, 0, values);
    for (float& v : values) v = mean + deviation * v;
    return values;
}

inline std::vector<float> poison(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count),
                              std::numeric_limits<float>::quiet_NaN());
}

inline std::vector<std::byte> read_bytes(machine& on, const void* from, std::int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    on.read(from, bytes);
    return bytes;
}

/// What a function of a launch means: one of Catena's, or an engine's own op among `ops`.
inline chain::gating meaning_of(const own_ops* ops, const own_call& call) {
    chain::gating out{call.function, static_cast<double>(call.with.a),
                      static_cast<double>(call.with.b)};
    if (is_own(call.function)) {
        out.own = ops->first[own_index(call.function)].reference;
        out.with = call.with;
    }
    return out;
}

/// sum (found - expected)^2 / sum expected^2, gathered in parts. Nothing expected: 0, or infinite
/// if something was found.
class nmse_sum {
  public:
    void add(double found, double expected) {
        error_ += (found - expected) * (found - expected);
        power_ += expected * expected;
        ++count_;
    }
    double value() const { return error_ == 0 ? 0 : error_ / power_; }
    double count() const { return count_; }

  private:
    double error_ = 0, power_ = 0, count_ = 0;
};

/// What an activation's own rule makes of exact values may differ from what a kernel made of
/// floats.
inline constexpr double same_rule_limit = 1e-6;

/// True when `found` is the neighbor of `rule` on the other side of `exact`, which lies about
/// halfway: the kernel's float may round the other way than the reference's double. (Not quite
/// halfway: the stored scale is rounded to f16 after it was used.)
inline bool other_side_of_a_tie(double found, double rule, double exact) {
    return std::abs(found - exact) <= 1.15 * std::abs(rule - exact);
}

/// Adds the values of a quantized row, or of some of its blocks, to a comparison with what the
/// format's rule makes of the exact ones; these begin `skipped` elements behind the blocks.
inline void add_quantized(format f, std::vector<std::byte> found, std::span<const double> exact,
                          nmse_sum& to, std::int64_t skipped = 0) {
    const std::int64_t elements = stored_elements(f, skipped + std::ssize(exact));
    std::vector<float> value(static_cast<std::size_t>(elements), 0.0f);
    std::transform(exact.begin(), exact.end(), value.begin() + skipped,
                   [](double v) { return static_cast<float>(v); });
    const std::vector<std::byte> rule = encode_row(f, value);
    found.resize(rule.size());
    const auto is = decode_row<double>(f, found, elements);
    const auto should = decode_row<double>(f, rule, elements);
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const std::size_t at = i + static_cast<std::size_t>(skipped);
        to.add(other_side_of_a_tie(is[at], should[at], exact[i]) ? should[at] : is[at], should[at]);
    }
}

/// Adds what follows the blocks that `elements` values need: zeros.
inline void add_padding(format f, std::span<const std::byte> row, std::int64_t elements,
                        nmse_sum& to) {
    const format_info& b = info(f);
    const std::int64_t used = (elements + b.block_elements - 1) / b.block_elements * b.block_bytes;
    for (const std::byte byte : row.subspan(static_cast<std::size_t>(used)))
        to.add(static_cast<double>(byte), 0);
}

}  // namespace catena::tool
