// Matmul steps: of every matrix the first, the last and, if random rows are asked for, a random
// tile of rows, times the first, the last and a random tile of columns; of experts, all columns of
// a few of them. All of K.
#include "pieces.hpp"

#include <algorithm>
#include <set>

namespace catena::tool {
namespace {

/// Where column `c` of the launch reads and writes.
column_place place_of(const matmul_args& a, std::int64_t c) {
    if (!has_experts(a)) return {c, c, 0, c};
    const std::int64_t token = c / a.slots, slot = c % a.slots;
    return {token * a.x_slots + (a.x_slots == 1 ? 0 : slot), slot, token, c};
}

/// The blocks that are looked at: a row tile of a member and, dense, a column tile or an expert.
std::vector<piece_of_product> sampled_pieces(const matmul_args& a, const matmul_policy& how,
                                             const std::vector<std::int32_t>& ids,
                                             std::uint64_t key, bool random_tile) {
    const bool dense = !has_experts(a);
    const std::int64_t column_tiles = (a.columns + how.columns - 1) / how.columns;
    std::vector<piece_of_product> all;
    for (int member = 0; member < a.members; ++member) {
        const matvec_member& m = a.member[member];
        const int rows = tile_rows(how) / (m.up != nullptr ? 2 : 1);
        const int tiles = (m.rows + rows - 1) / rows;
        const std::uint64_t bits = random_bits(key, static_cast<std::uint64_t>(member));
        const auto random = static_cast<std::int64_t>(bits >> 32);
        const auto expert_block = [&](std::int64_t c) {  // without ids a block has a token
            return a.ids == nullptr ? c / a.slots : ids[static_cast<std::size_t>(c)];
        };
        std::set<std::pair<int, std::int64_t>> picked;  // row tile, column tile or expert
        if (dense)
            picked = {{0, column_tiles - 1}, {tiles - 1, 0}};
        else
            picked = {{0, expert_block(a.columns - 1)}, {tiles - 1, expert_block(0)}};
        if (dense && random_tile)
            picked.insert({static_cast<int>(random % tiles), random % column_tiles});
        for (const auto& [tile, second] : picked) {
            const std::int64_t block = dense ? (m.first_band + tile) * column_tiles + second
                                             : second * a.tiles + m.first_band + tile;
            piece_of_product p{member, tile * rows, std::min((tile + 1) * rows, m.rows),
                               dense ? -1 : second % m.experts, static_cast<std::uint32_t>(block)};
            for (std::int64_t c = 0; c < a.columns; ++c)
                if (second == (dense ? c / how.columns : expert_block(c)))
                    p.columns.push_back(place_of(a, c));
            all.push_back(std::move(p));
        }
    }
    return all;
}

}  // namespace

std::vector<piece_data> checker::seed_pieces(const matmul_args& a,
                                             std::vector<piece_of_product> sampled) {
    std::vector<piece_data> pieces;
    for (piece_of_product& p : sampled) {
        const matvec_member& m = a.member[p.member];
        pieces.emplace_back(m, a.k, plan_.rows().ops, std::move(p));
        pieces.back().seed(on_, asked_.seed, where_);
    }
    for (piece_data& p : pieces) p.keep_operands(on_);
    return pieces;
}

step_result checker::run_matmul(int step, const matmul_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const row& picked = plan_.rows().rows[s.row];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));

    const std::vector<std::int32_t> ids =
        has_experts(a) ? seed_ids(on_, a, a.columns / a.slots, random_bits(key, 0))
                       : std::vector<std::int32_t>{};
    const bool float_weights = s.what.product().needs.activation == format::f32;
    if (float_weights && maker_of(step) < 0) seed_activation(a, a.x_rows, random_bits(key, 2));
    std::vector<piece_data> pieces =
        seed_pieces(a, sampled_pieces(a, picked.policy.matmul(), ids, random_bits(key, 1),
                                      asked_.random_rows > 0));
    std::vector<std::uint32_t> blocks;  // the first of a cluster; it brings the others along
    for (const piece_data& p : pieces) blocks.push_back(p.at.block * s.config.cluster);
    const auto multiplied =  // before the launch: a residual may be the same tensor
        float_weights ? read_f32(a, a.x_rows) : std::vector<double>{};

    step_result result;
    result.fault = launch(step, blocks);
    if (result.fault.empty() && !float_weights && activations_.count(s.chain) == 0)
        result.fault = "no step before it made the activation that it reads";
    if (!result.fault.empty()) return result;

    const std::vector<double>& exact = float_weights ? multiplied : activations_.at(s.chain);
    const std::vector<double> read =
        float_weights ? exact : read_activation(a, picked.computes.product().activation);
    // Launches of float weights that read f32 round it themselves, and those that decode round
    // weights.
    const format layout = picked.computes.product().activation;
    const bool fp8 = layout == format::fp8_group;
    const bool same_sums =
        fp8 || layout == format::q8_1_mmq_d4 || layout == format::q8_1_mmq_ds4 ||
        (in_mma_blocks(layout) && has_float_weights(picked.computes.product().weights));
    const double limit = fp8 ? fp8_limit : exact_limit;
    std::map<int, made_activation> made;  // by member
    compared_products products;
    for (const piece_data& p : pieces) {
        const matvec_member& m = p.member;
        const auto rows = static_cast<std::size_t>(p.rows());
        const auto should = p.reference(on_, chain, read);
        const auto exact_product = p.reference(on_, chain, exact);
        for (std::size_t c = 0; c < p.at.columns.size(); ++c) {
            const column_place& column = p.at.columns[c];
            const auto wanted = std::span(should).subspan(c * rows, rows);
            const auto exact_wanted = std::span(exact_product).subspan(c * rows, rows);
            products.add(on_, p, column, wanted, exact_wanted);
            if (!quantized_outputs(m, a.columns, 0).empty())
                made.try_emplace(p.at.member, on_, a.columns, m,
                                 same_sums ? same_rule_limit : limit)
                    .first->second.add(on_, column.made_row, p.at.first,
                                       same_sums ? wanted : exact_wanted);
        }
        result.computed += static_cast<double>(should.size());
    }
    products.report(same_sums, limit, result.comparisons);
    keep(step, key, made, result);
    return result;
}

/// The same block of all rows lies together; of fp8 rows lie one after the other, then their
/// scales.
std::vector<double> checker::read_activation(const matmul_args& a, format layout) const {
    if (layout == format::fp8_group)
        return read_fp8({const_cast<void*>(a.x), bytes_at(a.x, a.x_rows * a.x_bytes)}, a.x_rows,
                        a.k);
    const std::int64_t block = info(layout).block_bytes;
    const std::int64_t blocks = stored_elements(layout, a.k) / info(layout).block_elements;
    std::vector<double> out;
    for (std::int64_t r = 0; r < a.x_rows; ++r) {
        std::vector<std::byte> row;
        for (std::int64_t b = 0; b < blocks; ++b) {
            const auto* const at = static_cast<const std::byte*>(a.x) + (b * a.x_rows + r) * block;
            const auto part = read_bytes(on_, at, block);
            row.insert(row.end(), part.begin(), part.end());
        }
        const auto values = decode_row<double>(layout, row, stored_elements(layout, a.k));
        out.insert(out.end(), values.begin(), values.begin() + a.k);
    }
    return out;
}

}  // namespace catena::tool
