// Matvec steps: the first, the last full and the tail band of every matrix, and bands of random
// rows; all of K. A band is the work of one block.
#include "pieces.hpp"

#include <algorithm>
#include <set>

namespace catena::tool {
namespace {

/// One block of a matvec: a band of a member; of one column where experts are picked.
struct band {
    int member;
    int column;      ///< -1: all columns
    int first, end;  ///< rows of the member
    std::uint32_t block;
};

band band_at(const matvec_args& a, int member, int index, int column) {
    const matvec_member& m = a.member[member];
    const int rows = band_results(a, m), first = index * rows;
    return {member, column, first, std::min(first + rows, m.rows),
            static_cast<std::uint32_t>((column < 0 ? 0 : column * a.bands) + m.first_band + index)};
}

std::vector<band> sampled_bands(const matvec_args& a, std::uint64_t key, int random_rows) {
    const int columns = a.ids != nullptr ? a.columns : 1;
    const auto column_of = [&](int c) { return a.ids != nullptr ? c : -1; };
    std::vector<band> all;
    for (int member = 0; member < a.members; ++member) {
        const matvec_member& m = a.member[member];
        const int rows = band_results(a, m), count = (m.rows + rows - 1) / rows;
        std::set<std::pair<int, int>> picked;  // column, band
        picked.insert({0, 0});
        picked.insert({columns - 1, count - 1});
        picked.insert({columns - 1, std::max(0, count - 2)});
        for (int i = 0; i < random_rows; ++i) {
            const std::uint64_t bits =
                random_bits(random_bits(key, static_cast<std::uint64_t>(member)),
                            static_cast<std::uint64_t>(i));
            const int row = static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(m.rows));
            picked.insert(
                {static_cast<int>((bits & 0xffffffff) % static_cast<std::uint64_t>(columns)),
                 row / rows});
        }
        for (const auto& [column, index] : picked)
            all.push_back(band_at(a, member, index, column_of(column)));
    }
    return all;
}

std::vector<column_place> columns_of(const matvec_args& a, const band& b) {
    const matvec_member& m = a.member[b.member];
    std::vector<column_place> places;
    if (b.column < 0) {
        for (std::int64_t c = 0; c < a.columns; ++c)
            places.push_back({c, c * m.dst_nb1, c * m.residual_nb1, c});
        return places;
    }
    const int token = b.column / a.slots, slot = b.column % a.slots;
    return {{std::int64_t{token} * a.x_slots + (a.x_slots == 1 ? 0 : slot),
             token * m.dst_nb2 + slot * m.dst_nb1, token * m.residual_nb2 + slot * m.residual_nb1,
             b.column}};
}

/// The rows that a member quantises for the next group, in double: those of the sampled bands as
/// they were computed, and seeded ones that take the place of the others, in memory too.
class made_activation {
  public:
    made_activation(const matvec_args& a, const matvec_member& m)
        : member_(m),
          values_(static_cast<std::size_t>(std::int64_t{a.columns} * m.rows)),
          known_(values_.size() / block_, false) {}

    void set(std::int64_t row, int first, std::span<const double> values) {
        const std::int64_t at = row * member_.rows + first;
        std::copy(values.begin(), values.end(), values_.begin() + at);
        std::fill_n(known_.begin() + at / block_, std::ssize(values) / block_, true);
        for (const double v : values) power_ += v * v;
        count_ += static_cast<double>(values.size());
    }

    std::vector<double> completed(machine& on, std::uint64_t key) {
        const auto size = static_cast<float>(std::sqrt(power_ / std::max(count_, 1.0)));
        const std::int64_t blocks = member_.rows / block_, row = q8_1_row_bytes(member_.rows);
        for (std::size_t i = 0; i < known_.size(); ++i) {
            if (known_[i]) continue;
            const auto at = static_cast<std::int64_t>(i);
            const auto fresh = seeded(random_bits(key, i), block_, 0, size);
            std::copy(fresh.begin(), fresh.end(), values_.begin() + at * block_);
            auto bytes = encode_row(format::q8_1, fresh);
            const bool last =
                (at + 1) % blocks == 0;  // its row's padding is zeros, as behind it here
            const std::int64_t padding = row - row_bytes(format::q8_1, member_.rows);
            bytes.resize(static_cast<std::size_t>(q8_1_bytes + (last ? padding : 0)));
            on.write(bytes_at(member_.q8_1, at / blocks * row + at % blocks * q8_1_bytes), bytes);
        }
        return std::move(values_);
    }

  private:
    static constexpr std::int64_t block_ = info(format::q8_1).block_elements;

    const matvec_member& member_;
    std::vector<double> values_;
    std::vector<bool> known_;
    double power_ = 0, count_ = 0;
};

}  // namespace

step_result checker::run_matvec(int step, const matvec_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));

    const std::vector<std::int32_t> ids =
        a.ids != nullptr ? seed_ids(on_, a, random_bits(key, 0)) : std::vector<std::int32_t>{};
    const bool numbers = s.what.needs.activation == format::f32;
    const std::int64_t rows = a.ids == nullptr ? a.columns : a.columns / a.slots * a.x_slots;
    if (numbers && place.made_by < 0) seed_activation(a, rows, random_bits(key, 2));
    std::vector<piece_data> bands;
    std::vector<std::uint32_t> blocks;
    for (const band& b : sampled_bands(a, random_bits(key, 1), asked_.random_rows)) {
        const std::int64_t expert = b.column < 0 ? -1 : ids[static_cast<std::size_t>(b.column)];
        bands.emplace_back(
            a.member[b.member], a.k,
            piece_of_product{b.member, b.first, b.end, expert, b.block, columns_of(a, b)});
        blocks.push_back(b.block);
        bands.back().seed(on_, asked_.seed, where_);
    }
    for (piece_data& b : bands) b.keep_residual(on_);
    if (numbers) activations_[s.chain] = read_f32(a, rows);  // a residual may be the same tensor

    step_result result;
    for (int i = 0; i < a.members; ++i) result.rows += double{1} * a.member[i].rows * a.columns;
    result.fault = launch(step, blocks);
    if (!result.fault.empty()) return result;

    // The activation as the step read it, and as its maker would have it without quantising.
    const std::vector<double>& exact = activations_.at(s.chain);
    const std::vector<double> read =
        numbers ? exact : read_activation(a, std::ssize(exact) / a.k);

    std::map<int, made_activation> made;  // by member
    nmse_sum same, against_exact, quantised, padding;
    for (const piece_data& b : bands) {
        const matvec_member& m = b.member;
        const auto rows = static_cast<std::size_t>(b.rows());
        const auto should = b.reference(on_, chain, read);
        const auto exact_product = b.reference(on_, chain, exact);
        for (std::size_t c = 0; c < b.at.columns.size(); ++c) {
            const column_place& column = b.at.columns[c];
            const std::span wanted = std::span(should).subspan(c * rows, rows);
            if (m.dst != nullptr) {
                const auto found = read_values(on_, b.dst(column), b.rows());
                for (std::size_t r = 0; r < rows; ++r) {
                    same.add(static_cast<double>(found[r]), wanted[r]);
                    against_exact.add(static_cast<double>(found[r]), exact_product[c * rows + r]);
                }
            }
            if (m.q8_1 == nullptr) continue;
            const bool tail = b.at.end == m.rows;
            const std::int64_t all =
                row_bytes(format::q8_1, b.rows()) +
                (tail ? q8_1_row_bytes(m.rows) - row_bytes(format::q8_1, m.rows) : 0);
            auto bytes = read_bytes(on_, b.q8_1(column), all);
            add_padding(format::q8_1, bytes, b.rows(), padding);
            add_quantized(format::q8_1, std::move(bytes), wanted, quantised);
            made.try_emplace(b.at.member, a, m)
                .first->second.set(column.q8_1_row, b.at.first, wanted);
        }
        result.computed += static_cast<double>(should.size());
    }
    const bool written = std::any_of(a.member, a.member + a.members,
                                     [](const matvec_member& m) { return m.dst != nullptr; });
    if (written)
        result.comparisons = {{"product, same activation", same.value(), same_activation_limit},
                              {"product, exact activation", against_exact.value(), exact_limit}};
    if (!made.empty()) {
        result.comparisons.push_back({"q8_1 of the product", quantised.value(), same_rule_limit});
        result.comparisons.push_back({"its padding", padding.value(), 0});
    }
    for (auto& [member, rows] : made)
        activations_[plan_.makes(step, member)] =
            rows.completed(on_, random_bits(key, static_cast<std::uint64_t>(2 + member)));
    return result;
}

/// What the engine would have made, where numbers are multiplied with it.
void checker::seed_activation(const matvec_args& a, std::int64_t rows, std::uint64_t key) {
    for (std::int64_t r = 0; r < rows; ++r)
        write_values(on_, bytes_at(a.x, r * a.x_bytes),
                     seeded(random_bits(key, static_cast<std::uint64_t>(r)), a.k, 0, 1));
}

std::vector<double> checker::read_f32(const matvec_args& a, std::int64_t rows) const {
    std::vector<double> out;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto row = read_values(on_, bytes_at(a.x, r * a.x_bytes), a.k);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

std::vector<double> checker::read_activation(const matvec_args& a, std::int64_t rows) const {
    std::vector<double> out;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto bytes = read_bytes(on_, static_cast<const std::byte*>(a.x) + r * a.x_bytes,
                                      stored_bytes(format::q8_1, a.k));
        const auto row = decode_row<double>(format::q8_1, bytes, a.k);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

}  // namespace catena::tool
