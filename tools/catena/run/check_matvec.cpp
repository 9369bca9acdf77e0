// Matvec steps: the first, the last full and the tail band of every matrix, and bands of random rows; all
// of K. A band is the work of one block.
#include "check.hpp"
#include "data.hpp"

#include "catena/chain/reference.hpp"

#include <algorithm>
#include <set>

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
    const int first = index * a.band_rows;
    return {member, column, first, std::min(first + a.band_rows, m.rows),
            static_cast<std::uint32_t>((column < 0 ? 0 : column * a.bands) + m.first_band + index)};
}

std::vector<band> sampled_bands(const matvec_args& a, std::uint64_t key, int random_rows) {
    const int columns = a.ids != nullptr ? a.columns : 1;
    const auto column_of = [&](int c) { return a.ids != nullptr ? c : -1; };
    std::vector<band> all;
    for (int member = 0; member < a.members; ++member) {
        const matvec_member& m = a.member[member];
        const int count = (m.rows + a.band_rows - 1) / a.band_rows;
        std::set<std::pair<int, int>> picked;  // column, band
        picked.insert({0, 0});
        picked.insert({columns - 1, count - 1});
        picked.insert({columns - 1, std::max(0, count - 2)});
        for (int i = 0; i < random_rows; ++i) {
            const std::uint64_t bits = random_bits(random_bits(key, static_cast<std::uint64_t>(member)),
                                                   static_cast<std::uint64_t>(i));
            const int row = static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(m.rows));
            picked.insert({static_cast<int>((bits & 0xffffffff) % static_cast<std::uint64_t>(columns)),
                           row / a.band_rows});
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
            const std::uint64_t bits = random_bits(key, static_cast<std::uint64_t>(token * a.slots + slot));
            const auto other = static_cast<std::size_t>(slot) +
                               static_cast<std::size_t>(bits % static_cast<std::uint64_t>(experts - slot));
            std::swap(deck[static_cast<std::size_t>(slot)], deck[other]);
        }
        deck.resize(static_cast<std::size_t>(a.slots));
        auto* const row = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(a.ids)) + token * a.ids_nb1;
        on.write(row, std::as_bytes(std::span(deck)));
        ids.insert(ids.end(), deck.begin(), deck.end());
    }
    return ids;
}

/// The columns of a band: where each result lies and which activation row it reads.
struct column_place {
    std::int64_t x_row, dst_offset;
};

std::vector<column_place> columns_of(const matvec_args& a, const band& b) {
    const matvec_member& m = a.member[b.member];
    std::vector<column_place> places;
    if (b.column < 0) {
        for (int c = 0; c < a.columns; ++c) places.push_back({c, c * m.dst_nb1});
        return places;
    }
    const int token = b.column / a.slots, slot = b.column % a.slots;
    return {{std::int64_t{token} * a.x_slots + (a.x_slots == 1 ? 0 : slot),
             token * m.dst_nb2 + slot * m.dst_nb1}};
}

}  // namespace

step_result checker::run_matvec(int step, const matvec_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));
    const bool by_expert = a.ids != nullptr;

    const std::vector<std::int32_t> ids = by_expert ? seed_ids(on_, a, random_bits(key, 0))
                                                    : std::vector<std::int32_t>{};
    const std::vector<band> bands = sampled_bands(a, random_bits(key, 1), asked_.random_rows);
    const auto weight_of = [&](const band& b) {
        const matvec_member& m = a.member[b.member];
        const std::int64_t expert = by_expert ? ids[static_cast<std::size_t>(b.column)] : 0;
        return static_cast<const std::byte*>(m.weight) + expert * m.expert_bytes + b.first * m.row_bytes;
    };
    const auto dst_of = [&](const band& b, const column_place& c) {
        return reinterpret_cast<std::byte*>(a.member[b.member].dst + b.first) + c.dst_offset;
    };

    std::vector<std::uint32_t> blocks;
    for (const band& b : bands) {
        const matvec_member& m = a.member[b.member];
        blocks.push_back(b.block);
        std::vector<std::byte> rows(static_cast<std::size_t>((b.end - b.first) * row_bytes(m.type, a.k)));
        fill_random_blocks(m.type, random_bits(asked_.seed, where_.key(weight_of(b))), 0, rows);
        for (int r = 0; r < b.end - b.first; ++r)
            on_.write(const_cast<std::byte*>(weight_of(b)) + r * m.row_bytes,
                      std::span(rows).subspan(static_cast<std::size_t>(r * row_bytes(m.type, a.k)),
                                              static_cast<std::size_t>(row_bytes(m.type, a.k))));
        for (const column_place& c : columns_of(a, b)) write_values(on_, dst_of(b, c), poison(b.end - b.first));
    }

    step_result result;
    for (int i = 0; i < a.members; ++i) result.rows += double{1} * a.member[i].rows * a.columns;
    result.fault = launch(step, blocks);
    if (!result.fault.empty()) return result;

    // The activation as the step read it, and as the chain's row step would have it without quantising.
    const std::vector<double>& exact = activations_.at(s.chain);
    const std::int64_t x_rows = static_cast<std::int64_t>(exact.size()) / a.k;
    std::vector<double> read_x;
    for (std::int64_t r = 0; r < x_rows; ++r) {
        const auto bytes = read_bytes(on_, static_cast<const std::byte*>(a.x) + r * a.x_bytes,
                                      stored_bytes(format::q8_1, a.k));
        const auto row = decode_row<double>(format::q8_1, bytes, a.k);
        read_x.insert(read_x.end(), row.begin(), row.end());
    }

    nmse_sum same, against_exact;
    for (const band& b : bands) {
        const matvec_member& m = a.member[b.member];
        chain::matrix w{m.type, b.end - b.first, by_expert ? 1 : 0, {}};
        for (int r = 0; r < b.end - b.first; ++r) {
            const auto bytes = read_bytes(on_, weight_of(b) + r * m.row_bytes, row_bytes(m.type, a.k));
            const auto row = decode_row<double>(m.type, bytes, a.k);
            w.values.insert(w.values.end(), row.begin(), row.end());
        }
        const std::vector<column_place> columns = columns_of(a, b);
        chain::inputs in;
        in.k = a.k;
        in.rows = static_cast<std::int64_t>(columns.size());
        in.matrices.push_back(std::move(w));
        if (by_expert) in.ids = {0};
        const auto product = [&](const std::vector<double>& x) {
            std::vector<double> rows;
            for (const column_place& c : columns)
                rows.insert(rows.end(), x.begin() + c.x_row * a.k, x.begin() + (c.x_row + 1) * a.k);
            return chain::reference_from_activation(chain, in, rows).products[0];
        };
        const auto quantized_product = product(read_x);
        const auto exact_product = product(exact);
        std::size_t at = 0;
        for (const column_place& c : columns)
            for (const float found : read_values(on_, dst_of(b, c), b.end - b.first)) {
                same.add(static_cast<double>(found), quantized_product[at]);
                against_exact.add(static_cast<double>(found), exact_product[at]);
                ++at;
            }
        result.computed += static_cast<double>(at);
    }
    result.comparisons = {{"product, same activation", same.value(), same_activation_limit},
                          {"product, exact activation", against_exact.value(), exact_limit}};
    return result;
}

}  // namespace catena::tool
