// Steps that attend: all queries of all tokens are computed, and all that is written is compared.
#include "head_values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

/// What an engine gives attention: caches that hold positions of several sequences and are not
/// full, and tokens that see the earlier positions of their own sequence.
class attended_data {
  public:
    attended_data(machine& on, const heads_args& a, std::uint64_t key)
        : on_(on), a_(a), by_(a.attended), key_(key) {}

    void seed() const {
        for (const int i : {1, 2}) {
            const head_member& m = a_.member[i];
            write_cache_rows(on_, m, rows());
            for (std::int64_t p = 0; p < by_.positions; ++p)
                cache(i).seed_cache_row(by_.first_row + p, drawn(i, p));
        }
        for (std::int64_t t = 0; t < a_.tokens && by_.mask != nullptr; ++t)
            on_.write(const_cast<std::uint16_t*>(by_.mask) + t * by_.mask_nb / 2,
                      encode_row(format::f16, mask_of(t)));
    }

    /// The rows of the tokens: the last positions in use, each one's own if there are enough.
    std::vector<std::int64_t> rows() const {
        std::vector<std::int64_t> all;
        for (std::int64_t t = 0; t < a_.tokens; ++t) all.push_back(by_.first_row + position(t));
        return all;
    }

    /// What the reference reads before the launch, besides queries.
    chain::inputs read(const chain::outputs& keys, const chain::outputs& values) const {
        const head_member& m = a_.member[0];
        chain::inputs in;
        in.k = m.k, in.rows = std::int64_t{m.heads} * a_.tokens, in.heads = m.heads;
        in.key_heads = a_.member[1].heads;
        in.positions_attended = by_.positions;
        in.score_scale = static_cast<double>(by_.scale);
        in.keys = attended(1, keys), in.values = attended(2, values);
        for (std::int64_t t = 0; t < a_.tokens && by_.mask != nullptr; ++t) {
            const std::vector<float> of_token = mask_of(t);
            in.mask.insert(in.mask.end(), of_token.begin(), of_token.end());
        }
        if (by_.sinks != nullptr) in.sinks = read_numbers(on_, by_.sinks, m.heads);
        return in;
    }

  private:
    machine& on_;
    const heads_args& a_;
    const attention_args& by_;
    const std::uint64_t key_;

    std::uint64_t drawn(int what, std::int64_t which) const {
        return random_bits(random_bits(key_, static_cast<std::uint64_t>((1 << 16) + what)),
                           static_cast<std::uint64_t>(which));
    }
    member_data cache(int member) const { return {on_, a_, a_.member[member]}; }

    std::int64_t position(std::int64_t token) const {
        const std::int64_t in_use = std::max<std::int64_t>(by_.positions - by_.positions / 4, 1);
        return (in_use - 1 + by_.positions - (a_.tokens - 1 - token) % by_.positions) %
               by_.positions;
    }
    /// A token sees its own position, and two of three before it.
    std::vector<float> mask_of(std::int64_t token) const {
        std::vector<float> mask;
        for (std::int64_t p = 0; p < by_.positions; ++p) {
            const bool other_sequence = p != position(token) && drawn(3, p) % 3 == 0;
            const bool seen = p <= position(token) && !other_sequence;
            mask.push_back(seen ? 0 : -std::numeric_limits<float>::infinity());
        }
        return mask;
    }
    /// The positions of a cache, as they should be behind the launch.
    std::vector<double> attended(int member, const chain::outputs& stored) const {
        const head_member& m = a_.member[member];
        std::vector<double> all;
        for (std::int64_t p = 0; p < by_.positions; ++p) {
            std::vector<double> row = cache(member).cache_row(by_.first_row + p);
            const auto own = stored.stored.find(by_.first_row + p);
            if (own != stored.stored.end())
                row = decode_row<double>(
                    m.cache_type,
                    encode_row(m.cache_type,
                               std::vector<float>(own->second.begin(), own->second.end())),
                    std::ssize(row));
            all.insert(all.end(), row.begin(), row.end());
        }
        return all;
    }
};

/// What is quantized of all queries, as rows of their tokens.
row_args quantized_rows(const heads_args& a) {
    row_args rows;
    rows.q8_1 = a.attended.q8_1;
    rows.k = rows.quant_k = a.member[0].k * a.member[0].heads;
    rows.rows = a.tokens;
    rows.quant_blocks = static_cast<std::int32_t>(q8_1_row_blocks(rows.quant_k));
    return rows;
}

}  // namespace

step_result checker::run_attended(int step, const heads_args& a) {
    std::vector<chain::inputs> heads = seed_heads(step, a);
    const attended_data data(on_, a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)));
    data.seed();
    if (a.attended.sinks != nullptr) seed_constant(a.attended.sinks, a.member[0].heads, 0, 1);
    std::vector<chain::outputs> made;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        if (!heads[i].cache_rows.empty()) heads[i].cache_rows = data.rows();
        made.push_back(reference_of(a.member[i], heads[i]));
    }
    chain::inputs in = data.read(made[1], made[2]);
    in.x = made[0].value;
    lowered_chain attends;
    attends.stages[attends.count++] = {.kind = stage_kind::attend};
    attends.stages[attends.count++] = {.kind = stage_kind::emit,
                                       .formats = format_set::of(format::f32)};
    const chain::outputs wanted = chain::reference(attends, in);
    activations_[plan_.steps()[static_cast<std::size_t>(step)].chain] = wanted.value;
    return launch_and_compare(step, a, [&](step_result& result) {
        member_data(on_, a, a.member[0]).compare("attention", wanted, result);
        compare_value(quantized_rows(a), wanted.value, result);
        member_data(on_, a, a.member[1]).compare("keys", made[1], result);
        member_data(on_, a, a.member[2]).compare("values", made[2], result);
    });
}

}  // namespace catena::tool
