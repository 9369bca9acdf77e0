// Matvec steps: the first, the last full and the tail band of every matrix, and bands of random
// rows; all of K. A band is the work of one block.
#include "check.hpp"
#include "data.hpp"

#include "catena/chain/reference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace catena::tool {
namespace {

constexpr double same_activation_limit = 1e-6;
constexpr double exact_limit = 5e-4;

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

/// Distinct experts for every token. Returns ids[slots * token + slot].
std::vector<std::int32_t> seed_ids(machine& on, const matvec_args& a, std::uint64_t key) {
    const int experts = a.member[0].experts;
    std::vector<std::int32_t> ids;
    for (int token = 0; token < a.columns / a.slots; ++token) {
        std::vector<std::int32_t> deck(static_cast<std::size_t>(experts));
        for (int i = 0; i < experts; ++i) deck[static_cast<std::size_t>(i)] = i;
        for (int slot = 0; slot < a.slots; ++slot) {
            const std::uint64_t bits =
                random_bits(key, static_cast<std::uint64_t>(token * a.slots + slot));
            const auto other =
                static_cast<std::size_t>(slot) +
                static_cast<std::size_t>(bits % static_cast<std::uint64_t>(experts - slot));
            std::swap(deck[static_cast<std::size_t>(slot)], deck[other]);
        }
        deck.resize(static_cast<std::size_t>(a.slots));
        auto* const row =
            reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(a.ids)) + token * a.ids_nb1;
        on.write(row, std::as_bytes(std::span(deck)));
        ids.insert(ids.end(), deck.begin(), deck.end());
    }
    return ids;
}

/// A column of a band: the activation row that it reads, and where its results lie.
struct column_place {
    std::int64_t x_row, dst_offset, residual_offset;
    std::int64_t q8_1_row;
};

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

std::byte* bytes_at(const void* base, std::int64_t offset) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(base)) + offset;
}

/// A chain that takes any matrix: a place may have readers that several chains of the table list.
lowered_chain with_format(lowered_chain chain, format type) {
    for (stage& s : chain.stages)
        if (s.kind == stage_kind::mul_mat || s.kind == stage_kind::mul_mat_id)
            s.formats = s.formats | type;
    return chain;
}

/// The operands of one band.
class band_data {
  public:
    band_data(const matvec_args& a, const band& b, std::int64_t expert)
        : args(a), member(a.member[b.member]), at(b), columns(columns_of(a, b)), expert_(expert) {}

    const matvec_args& args;
    const matvec_member& member;
    band at;
    std::vector<column_place> columns;

    int rows() const { return at.end - at.first; }
    const std::byte* weight() const { return matrix(member.weight); }
    std::byte* dst(const column_place& c) const {
        return bytes_at(member.dst, c.dst_offset + 4 * at.first);
    }
    std::byte* q8_1(const column_place& c) const {
        return bytes_at(member.q8_1, c.q8_1_row * q8_1_row_bytes(member.rows) +
                                         row_bytes(format::q8_1, at.first));
    }

    /// The results are poison, so that what the launch leaves out is seen; a residual may lie
    /// there.
    void seed(machine& on, std::uint64_t seed, const placement& where) const {
        const auto key = [&](const void* p) { return random_bits(seed, where.key(p)); };
        for (const void* m : {member.weight, member.up})
            if (m != nullptr) seed_matrix(on, matrix(m), key(matrix(m)));
        for (const float* b : {member.bias, member.up_bias})
            if (b != nullptr) write_values(on, bias(b), seeded(key(bias(b)), rows(), 0, 1));
        for (const column_place& c : columns)
            if (member.dst != nullptr) write_values(on, dst(c), poison(rows()));
        for (const column_place& c : columns)
            if (member.residual != nullptr)
                write_values(on, residual(c), seeded(key(residual(c)), rows(), 0, 1));
    }

    /// Once all are seeded, and before the launch: a result may take the residual's place.
    void keep_residual(machine& on) {
        if (member.residual == nullptr) return;
        for (const column_place& c : columns)
            append(residual_, read_values(on, residual(c), rows()));
    }

    /// What should come out, [rows, columns], for an activation in double.
    std::vector<double> reference(machine& on, const lowered_chain& chain,
                                  const std::vector<double>& x) const {
        chain::matrix w{member.type, rows(), at.column < 0 ? 0 : 1, read_matrix(on, member.weight)};
        w.scale = static_cast<double>(member.scale);
        if (member.bias != nullptr) append(w.bias, read_values(on, bias(member.bias), rows()));
        if (member.up != nullptr) w.up = read_matrix(on, member.up);
        if (member.up_bias != nullptr)
            append(w.up_bias, read_values(on, bias(member.up_bias), rows()));
        w.residual = residual_;
        w.gated_by = {member.function, static_cast<double>(member.alpha),
                      static_cast<double>(member.limit)};
        chain::inputs in;
        in.k = args.k;
        in.rows = std::ssize(columns);
        in.matrices.push_back(std::move(w));
        if (at.column >= 0) in.ids = {0};
        std::vector<double> read;
        for (const column_place& c : columns)
            read.insert(read.end(), x.begin() + c.x_row * args.k,
                        x.begin() + (c.x_row + 1) * args.k);
        return chain::reference_from_activation(with_format(chain, member.type), in, read)
            .products[0];
    }

  private:
    std::int64_t expert_;
    std::vector<double> residual_;

    static void append(std::vector<double>& to, const std::vector<float>& values) {
        to.insert(to.end(), values.begin(), values.end());
    }
    std::byte* matrix(const void* base) const {
        return bytes_at(base, expert_ * member.expert_bytes + at.first * member.row_bytes);
    }
    std::byte* bias(const float* base) const {
        return bytes_at(base, expert_ * member.bias_nb1 + 4 * at.first);
    }
    std::byte* residual(const column_place& c) const {
        return bytes_at(member.residual, c.residual_offset + 4 * at.first);
    }

    void seed_matrix(machine& on, std::byte* to, std::uint64_t key) const {
        const std::int64_t row = row_bytes(member.type, args.k);
        std::vector<std::byte> all(static_cast<std::size_t>(rows() * row));
        fill_random_blocks(member.type, key, 0, all);
        for (int r = 0; r < rows(); ++r)
            on.write(to + r * member.row_bytes,
                     std::span(all).subspan(static_cast<std::size_t>(r * row),
                                            static_cast<std::size_t>(row)));
    }
    std::vector<double> read_matrix(machine& on, const void* base) const {
        std::vector<double> out;
        for (int r = 0; r < rows(); ++r) {
            const auto bytes =
                read_bytes(on, matrix(base) + r * member.row_bytes, row_bytes(member.type, args.k));
            const auto row = decode_row<double>(member.type, bytes, args.k);
            out.insert(out.end(), row.begin(), row.end());
        }
        return out;
    }
};

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
    std::vector<band_data> bands;
    std::vector<std::uint32_t> blocks;
    for (const band& b : sampled_bands(a, random_bits(key, 1), asked_.random_rows)) {
        bands.emplace_back(a, b, b.column < 0 ? 0 : ids[static_cast<std::size_t>(b.column)]);
        blocks.push_back(b.block);
        bands.back().seed(on_, asked_.seed, where_);
    }
    for (band_data& b : bands) b.keep_residual(on_);

    step_result result;
    for (int i = 0; i < a.members; ++i) result.rows += double{1} * a.member[i].rows * a.columns;
    result.fault = launch(step, blocks);
    if (!result.fault.empty()) return result;

    // The activation as the step read it, and as its maker would have it without quantising.
    const std::vector<double>& exact = activations_.at(s.chain);
    const std::vector<double> read = read_activation(a, std::ssize(exact) / a.k);

    std::map<int, made_activation> made;  // by member
    nmse_sum same, against_exact, quantised, padding;
    for (const band_data& b : bands) {
        const matvec_member& m = b.member;
        const auto rows = static_cast<std::size_t>(b.rows());
        const auto should = b.reference(on_, chain, read);
        const auto exact_product = b.reference(on_, chain, exact);
        for (std::size_t c = 0; c < b.columns.size(); ++c) {
            const column_place& column = b.columns[c];
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
