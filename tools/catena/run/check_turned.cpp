// Matvecs that turn their results: the blocks that have the first and the last pairs of every
// matrix, and those of random rows. What a block turns lies in one or two heads, or in more if
// these are short: those heads are seeded whole, and computed in double.
#include "heads.hpp"
#include "pieces.hpp"

#include "catena/chain/ops/rope.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace catena::tool {
namespace {

/// The rows of a block, and the heads that these are of.
struct turned_band {
    int member;
    std::uint32_t block;
    std::vector<int> rows;
    piece_data heads;
};

/// The element of a head that is first or second of a pair, as kernel/args.hpp says.
int element_of(const rotation& turn, bool turned, int pair, bool second) {
    const int half = turned && turn.pairs != pairing::neighbors ? turn.dims / 2 : 0;
    return pair < half ? pair + (second ? half : 0) : 2 * pair + (second ? 1 : 0);
}

turned_band band_at(const matvec_args& a, std::int32_t member, int index) {
    const matvec_member& m = a.member[member];
    const head_member& h = a.heads.member[member];
    const int pairs = a.band_rows / 2, in_head = h.k / 2;
    const int first = index * pairs, end = std::min(first + pairs, m.rows / 2);
    std::vector<int> rows;
    for (int p = first; p < end; ++p)
        for (const bool second : {false, true})
            rows.push_back(p / in_head * h.k +
                           element_of(a.heads.turn, h.turned, p % in_head, second));
    const auto block = static_cast<std::uint32_t>(m.first_band + index);
    const int heads_end = (end + in_head - 1) / in_head;
    return {member, block, std::move(rows),
            piece_data(m, a.k, nullptr,
                       {.member = member,
                        .first = first / in_head * h.k,
                        .end = heads_end * h.k,
                        .block = block,
                        .columns = {{0, 0, 0, 0}}})};
}

std::vector<turned_band> bands_of(const matvec_args& a, std::uint64_t key, int random_rows) {
    std::vector<turned_band> all;
    for (std::int32_t member = 0; member < a.members; ++member) {
        const int count = (a.member[member].rows + a.band_rows - 1) / a.band_rows;
        std::set<int> picked = {0, std::max(0, count - 2), count - 1};
        for (int i = 0; i < random_rows / 8; ++i) {
            const std::uint64_t bits =
                random_bits(random_bits(key, static_cast<std::uint64_t>(member)),
                            static_cast<std::uint64_t>(i));
            picked.insert(static_cast<int>(bits % static_cast<std::uint64_t>(count)));
        }
        for (const int index : picked) all.push_back(band_at(a, member, index));
    }
    return all;
}

}  // namespace

chain::inputs checker::seed_turn(int step, const head_group& a) {
    chain::inputs in;
    in.rope = turn_of(plan_.steps()[static_cast<std::size_t>(step)]);
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 0; i < std::int64_t{a.tokens} * in.rope.positions(); ++i)
        positions.push_back(11 + 3 * i);
    in.positions.assign(positions.begin(), positions.end());
    if (a.positions != nullptr) write_numbers<std::int32_t>(on_, a.positions, positions);
    if (a.factors != nullptr) {
        const std::uint64_t key = random_bits(asked_.seed, where_.key(a.factors));
        write_values(on_, const_cast<float*>(a.factors), seeded(key, in.rope.dims / 2, 2, 0.1f));
        const auto factors = read_values(on_, a.factors, in.rope.dims / 2);
        in.factors.assign(factors.begin(), factors.end());
    }
    for (std::int32_t i = 0; i < a.members; ++i)
        if (const head_member& m = a.member[i]; m.cache != nullptr)
            write_cache_rows(on_, m, cache_rows_for(a, m));
    return in;
}

step_result checker::run_turned(int step, const matvec_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];
    seed_inputs(step, a, 1);
    const chain::inputs turn = seed_turn(step, a.heads);
    std::vector<turned_band> bands =
        bands_of(a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)), asked_.random_rows);
    std::vector<std::uint32_t> blocks;
    for (const turned_band& b : bands)
        blocks.push_back(b.block), b.heads.seed(on_, asked_.seed, where_);
    for (turned_band& b : bands) b.heads.keep_operands(on_);
    const auto multiplied = multiplied_by(step, a, 1);
    step_result result;
    result.fault = launch(step, blocks);
    if (!result.fault.empty()) return result;

    const read_activations x = activations_of(step, a, multiplied);
    nmse_sum same, exact, stored;
    double limit = 0;
    for (const turned_band& b : bands) {
        const head_member& h = a.heads.member[b.member];
        const auto turned = [&](const std::vector<double>& read) {
            std::vector<double> v = b.heads.reference(on_, chain, read);
            if (h.turned) chain::turn_heads(turn, h.k, std::ssize(v) / h.k, v);
            for (double& one : v) one *= double{h.scale};
            return v;
        };
        const std::vector<double> wanted = turned(x.read), unquantized = turned(x.exact);
        std::vector<double> found;
        if (h.cache != nullptr) {
            const auto* const row = static_cast<const std::byte*>(h.cache) +
                                    cache_rows_for(a.heads, h).front() * h.cache_nb;
            found = decode_row<double>(
                h.cache_type, read_bytes(on_, row, row_bytes(h.cache_type, b.heads.member.rows)),
                b.heads.member.rows);
            limit = std::max(limit, limit_of_cache(h.cache_type));
        }
        for (const int row : b.rows) {
            const auto at = static_cast<std::size_t>(row - b.heads.at.first);
            if (b.heads.member.dst != nullptr) {
                const auto v = double{read_values(on_, b.heads.member.dst + row, 1).front()};
                same.add(v, wanted[at]);
                exact.add(v, unquantized[at]);
            }
            if (h.cache != nullptr) stored.add(found[static_cast<std::size_t>(row)], wanted[at]);
        }
        result.computed += static_cast<double>(b.rows.size());
    }
    if (same.count() > 0) {
        result.comparisons.push_back(
            {"turned, same activation", same.value(), same_activation_limit});
        result.comparisons.push_back(of_exact(exact, exact_limit));
    }
    if (stored.count() > 0)
        result.comparisons.push_back(
            {"stored heads", stored.value(), std::max(limit, same_activation_limit)});
    return result;
}

}  // namespace catena::tool
