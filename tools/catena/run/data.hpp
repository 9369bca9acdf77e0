// Rows in a machine's memory: filled with seeded values, and read back.
#pragma once

#include "machine.hpp"

#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/kernel/args.hpp"

#include <cstdint>
#include <limits>
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

inline std::vector<float> seeded(std::uint64_t key, std::int64_t count, float mean, float deviation) {
    std::vector<float> values(static_cast<std::size_t>(count));
    fill_random_values(key, 0, values);
    for (float& v : values) v = mean + deviation * v;
    return values;
}

inline std::vector<float> poison(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
}

inline std::vector<std::byte> read_bytes(machine& on, const void* from, std::int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    on.read(from, bytes);
    return bytes;
}

/// sum (found - expected)^2 / sum expected^2, gathered in parts. Nothing expected: 0, or infinite if
/// something was found.
class nmse_sum {
public:
    void add(double found, double expected) {
        error_ += (found - expected) * (found - expected);
        power_ += expected * expected;
    }
    double value() const { return error_ == 0 ? 0 : error_ / power_; }

private:
    double error_ = 0, power_ = 0;
};

}  // namespace catena::tool
