// What steps quantize: where the rows of each layout lie, and their values against the format's own
// rule.
#pragma once

#include "check.hpp"
#include "data.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace catena::tool {

/// A quantized output: block b of row r lies at base + r * row + b * next_block.
struct quantized_output {
    const char* of;
    format type;
    const void* base;
    std::int64_t row, next_block;  ///< bytes

    std::int64_t block_elements() const { return info(type).block_elements; }
    std::byte* at(std::int64_t r, std::int64_t block) const {
        return const_cast<std::byte*>(static_cast<const std::byte*>(base)) + r * row +
               block * next_block;
    }
    /// `count` blocks of a row, next to each other.
    std::vector<std::byte> blocks(machine& on, std::int64_t r, std::int64_t first,
                                  std::int64_t count) const {
        std::vector<std::byte> all;
        for (std::int64_t b = first; b < first + count; ++b) {
            const auto part = read_bytes(on, at(r, b), info(type).block_bytes);
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }
};

/// Those of `rows` rows, in which q8_1 rows are `q8_1_row` bytes apart.
template <class Args>
std::vector<quantized_output> quantized_outputs(const Args& a, std::int64_t rows,
                                                std::int64_t q8_1_row) {
    std::vector<quantized_output> all;
    const auto add = [&](format type, const void* base) {
        const std::int64_t block = info(type).block_bytes;
        if (base == nullptr) return;
        if (type == format::q8_1)  // block after block of a row
            all.push_back({name(type), type, base, q8_1_row, block});
        else  // the same block of all rows
            all.push_back({name(type), type, base, block, rows * block});
    };
    for (const layout_field<Args>& f : layout_fields<Args>) add(f.type, a.*f.to);
    return all;
}

/// As a matvec quantizes an activation that it makes itself, where nobody sees it: q8_1 with a d of
/// full precision, which its place (before or after 1 / rms) does not change.
inline std::vector<double> quantized_inside(std::vector<double> values) {
    for (std::size_t first = 0; first < values.size(); first += 32) {
        const std::span block = std::span(values).subspan(first, 32);
        double most = 0;
        for (const double v : block) most = std::max(most, std::abs(v));
        for (double& v : block) v = most == 0 ? 0 : std::round(v * 127 / most) * most / 127;
    }
    return values;
}

/// The sum of the squares of each 32 values: what a norm is begun with.
inline std::vector<double> squares_of(std::span<const double> values) {
    std::vector<double> sums(values.size() / 32, 0);
    for (std::size_t i = 0; i < values.size(); ++i) sums[i / 32] += values[i] * values[i];
    return sums;
}

/// What a member quantizes for the next group, in double: the sampled parts as they were computed,
/// and seeded ones that take the place of the others, in memory too. If the member begins a norm of
/// its results, they are multiplied with the norm's weight, and their squares lie beside them.
class made_activation {
  public:
    made_activation(machine& on, std::int64_t columns, const matvec_member& m, double limit)
        : limit_(limit),
          outputs_(quantized_outputs(m, columns, q8_1_row_bytes(m.rows))),
          length_(m.rows),
          values_(static_cast<std::size_t>(columns * m.rows)),
          known_(values_.size() / 32, false),
          squares_(m.begun_squares) {
        if (m.begun_weight != nullptr) weight_ = read_values(on, m.begun_weight, m.rows);
    }

    /// Takes rows first .. of a column as they should be, and compares what is there.
    void add(machine& on, std::int64_t column, int first, std::span<const double> should) {
        const std::int64_t at = column * length_ + first;
        std::copy(should.begin(), should.end(), values_.begin() + at);
        std::fill_n(known_.begin() + at / 32, std::ssize(should) / 32, true);
        for (const double v : should) power_ += v * v;
        count_ += static_cast<double>(should.size());
        const std::vector<double> quantized = weighted(at, should);
        for (const quantized_output& o : outputs_) {
            const std::int64_t unit = o.block_elements(), from = first / unit;
            const std::int64_t values = first + std::ssize(should);
            const bool tail = values == length_;
            const std::int64_t stored = stored_elements(o.type, length_) / unit;
            const std::int64_t end = tail ? stored : (values + unit - 1) / unit;
            auto bytes = o.blocks(on, column, from, end - from);
            if (tail) add_padding(o.type, bytes, values - from * unit, padding_);
            add_quantized(o.type, std::move(bytes), quantized, same_rule_, first - from * unit);
        }
        if (!begins()) return;
        const std::vector<double> squares = squares_of(should);
        const auto found = read_values(on, squares_ + at / 32, std::ssize(squares));
        for (std::size_t i = 0; i < squares.size(); ++i)
            same_squares_.add(static_cast<double>(found[i]), squares[i]);
    }

    std::vector<comparison> comparisons() const {
        const std::string of = outputs_.front().of;
        std::vector<comparison> all = {{of + (begins() ? " of the begun norm" : " of the product"),
                                        same_rule_.value(), limit_},
                                       {of + " padding", padding_.value(), 0}};
        if (begins())
            all.push_back({"squares of the begun norm", same_squares_.value(), same_rule_limit});
        return all;
    }

    /// Seeds the values that were not sampled, and blocks that were sampled in part.
    void complete(machine& on, std::uint64_t key) {
        const auto size = static_cast<float>(std::sqrt(power_ / std::max(count_, 1.0)));
        const std::int64_t unit = outputs_.front().block_elements();
        for (std::int64_t at = 0; at < std::ssize(values_);) {
            const std::int64_t column = at / length_, first = at % length_;
            const std::int64_t count = std::min(unit, length_ - first);
            const auto known = known_.begin() + at / 32;
            if (!std::all_of(known, known + count / 32, [](bool k) { return k; })) {
                auto fresh =
                    seeded(random_bits(key, static_cast<std::uint64_t>(at)), count, 0, size);
                std::copy(fresh.begin(), fresh.end(), values_.begin() + at);
                const auto here = std::span(values_).subspan(static_cast<std::size_t>(at),
                                                             static_cast<std::size_t>(count));
                const std::vector<double> quantized = weighted(at, here);
                fresh.assign(quantized.begin(), quantized.end());
                fresh.resize(static_cast<std::size_t>(unit));
                for (const quantized_output& o : outputs_) write(on, o, column, first, fresh);
                if (begins()) write_squares(on, at, here);
            }
            at += count;
        }
    }

    /// All values, once they are complete: not yet divided by the rms, if a norm was begun.
    std::vector<double> values() const { return weighted(0, values_); }
    /// The squares of each 32 results, if a norm of them was begun.
    std::vector<double> squares() const {
        return begins() ? squares_of(values_) : std::vector<double>{};
    }

  private:
    double limit_;  ///< of what is compared
    std::vector<quantized_output> outputs_;
    std::int64_t length_;
    std::vector<double> values_;
    std::vector<bool> known_;    ///< by 32
    float* squares_;             ///< in memory, of a norm that is begun; else null
    std::vector<float> weight_;  ///< of that norm
    double power_ = 0, count_ = 0;
    nmse_sum same_rule_, padding_, same_squares_;

    bool begins() const { return squares_ != nullptr; }

    /// Results from `at` on as they are quantized: times the weight of a norm that is begun.
    std::vector<double> weighted(std::int64_t at, std::span<const double> results) const {
        std::vector<double> out(results.begin(), results.end());
        if (begins())
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] *= static_cast<double>(
                    weight_[(static_cast<std::size_t>(at) + i) % weight_.size()]);
        return out;
    }

    void write_squares(machine& on, std::int64_t at, std::span<const double> results) const {
        const std::vector<double> squares = squares_of(results);
        write_values(on, squares_ + at / 32, {squares.begin(), squares.end()});
    }

    /// A block; behind a row's last one its padding of zeros.
    void write(machine& on, const quantized_output& o, std::int64_t column, std::int64_t first,
               const std::vector<float>& values) const {
        const std::int64_t unit = o.block_elements(), block = first / unit;
        auto bytes = encode_row(o.type, values);
        bytes.resize(static_cast<std::size_t>(info(o.type).block_bytes));
        on.write(o.at(column, block), bytes);
        if (first + unit < length_) return;
        const std::vector<std::byte> zeros(bytes.size());
        for (std::int64_t b = block + 1; b < stored_elements(o.type, length_) / unit; ++b)
            on.write(o.at(column, b), zeros);
    }
};

}  // namespace catena::tool
