// What the kernel of a table row of heads can be launched with, as kernel/args.hpp,
// kernel/layout.hpp and kernel/attention_layout.hpp say.
#pragma once

#include "catena/kernel/attention_layout.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/detail/verify/launch_rules.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// Sequences that have equally many tokens, each with a warp of a block.
inline void limit_sequences(launch_rules& rules, const row& r, const heads_args& a,
                            std::int64_t sequences) {
    rules.must(sequences > 0 && a.tokens % sequences == 0, "do not have equally many tokens",
               sequences, "sequences");
    rules.at_most(sequences, rows_of_block(r.policy.row()), "sequences");
}

/// A convolution whose channels are those of all values, by a row that convolves; or none.
inline void limit_convolution(launch_rules& rules, const row& r, const heads_args& a) {
    const row_computation& c = r.computes.row();
    const convolution_args& by = a.convolved;
    const bool convolves_here = by.channels > 0;
    rules.must(convolves_here == convolves(c.stages), "are nothing that its row does", by.channels,
               "convolved channels");
    if (!convolves_here) return;
    rules.must(by.length >= min_taps && by.length <= max_taps, "are not as many as its row has",
               by.length, "taps");
    limit_sequences(rules, r, a, by.sequences);
    rules.must(by.states >= (by.state_ids != nullptr ? 1 : by.sequences), "are not there",
               by.states, "states");
    const std::int64_t bytes = std::int64_t{4} * (by.length - 1) * by.channels;
    rules.must(by.state_nb >= bytes, "lie over each other", by.state_nb, "states");
    rules.must(by.function == gate_function::none || by.function == gate_function::silu,
               "is nothing that its row applies", static_cast<int>(by.function), "its function");
    std::int64_t channels = 0;
    for (std::int32_t i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        rules.must(m.first_channel == channels, "are not behind those of the values before",
                   m.first_channel, "channels");
        rules.must(m.weight == nullptr && !m.turned, "is nothing that its row does", i,
                   "a weight or a turn");
        channels += std::int64_t{m.k} * m.heads;
    }
    rules.must(channels == by.channels, "are not those of all values", by.channels, "its channels");
}

/// The delta rule of one value, by a row that recalls; or none.
inline void limit_delta_rule(launch_rules& rules, const row& r, const heads_args& a) {
    const delta_args& by = a.recalled;
    const bool recalls_here = by.key_heads > 0;
    rules.must(recalls_here == recalls(r.computes.row().stages), "are nothing that its row does",
               by.key_heads, "heads of keys");
    if (!recalls_here) return;
    const head_member& m = a.member[0];
    rules.must(a.members == 1, "are more than one", a.members, "values that are recalled");
    rules.multiple(m.k, values_of_warp, "elements of a head");
    rules.must(m.heads % by.key_heads == 0, "have not equally many heads of values", by.key_heads,
               "heads of keys");
    limit_sequences(rules, r, a, by.sequences);
    rules.must(by.states >= (by.state_ids != nullptr ? 1 : by.sequences), "are not there",
               by.states, "states");
    rules.must(!m.normed && !m.turned && m.cache == nullptr && m.f32 != nullptr,
               "is nothing that its row does", 0, "a norm, a turn or a cache");
    rules.must(!by.by_value || by.decay_factor == nullptr, "is nothing that its row does", 0,
               "a factor of each value's decay");
    rules.must(by.decay_factor != nullptr || by.decay_bias == nullptr,
               "is nothing that its row does", 0, "a bias of a decay without a factor");
    for (const std::int32_t abreast : {by.decay.abreast, by.beta.abreast})
        rules.must(abreast > 0 && m.heads % abreast == 0, "do not divide the heads", abreast,
                   "numbers abreast");
}

/// The scan of one value, by a row that scans; or none.
inline void limit_scan(launch_rules& rules, const row& r, const heads_args& a) {
    const scan_args& by = a.scanned;
    const bool scans_here = by.size > 0;
    rules.must(scans_here == scans(r.computes.row().stages), "are nothing that its row does",
               by.size, "numbers of a scanned state");
    if (!scans_here) return;
    const head_member& m = a.member[0];
    rules.must(a.members == 1, "are more than one", a.members, "values that are scanned");
    limit_sequences(rules, r, a, by.sequences);
    rules.multiple(m.k, values_of_warp, "elements of a head");
    rules.must(by.groups > 0 && m.heads % by.groups == 0, "have not equally many heads", by.groups,
               "groups");
    rules.must(by.states > 0, "are not there", by.states, "states");
    rules.must(!m.normed && !m.turned && m.scale == 1 && m.cache == nullptr && m.f32 != nullptr,
               "is nothing that its row does", 0, "a norm, a turn, a scale or a cache");
}

/// Keys or values that are attended to: in a cache of f16, whose rows have the heads of all tokens
/// without gaps.
inline void limit_attended_cache(launch_rules& rules, const heads_args& a, const head_member& m) {
    const head_member& queries = a.member[0];
    const attention_args& by = a.attended;
    rules.must(m.k == queries.k && m.heads == a.member[1].heads, "are not of its sizes", m.k,
               "keys or values");
    rules.must(m.cache != nullptr && m.cache_type == format::f16 && m.f32 == nullptr,
               "are not stored as f16, and nowhere else", static_cast<int>(m.cache_type),
               "keys or values");
    rules.must(m.cache_nb >= std::int64_t{2} * m.k * m.heads, "lie over each other", m.cache_nb,
               "rows of a cache");
    rules.must(by.first_row >= 0 && std::int64_t{by.first_row} + by.positions <= m.cache_rows,
               "are not all in the cache", by.first_row, "positions");
}

/// Clusters share the queries of a head of keys, and each has some. A block has shared memory for
/// its own, with their scores of its positions.
inline void limit_queries(launch_rules& rules, const row_policy& p, const heads_args& a) {
    const std::int64_t key_heads = a.member[1].heads, heads = a.member[0].heads;
    rules.must(key_heads > 0 && heads % key_heads == 0, "have not equally many queries", key_heads,
               "heads of keys");
    if (rules.broken) return;
    const std::int64_t blocks = key_heads * rules.cluster();
    const std::int64_t clusters = quotient(rules.blocks(), blocks);
    rules.must(clusters > 0 && clusters * blocks == rules.blocks(), "do not have all heads",
               rules.blocks(), "its blocks");
    const std::int64_t queries = quotient(heads, key_heads) * a.tokens;
    rules.must(queries > 0, "are not there", queries, "queries of a head of keys");
    rules.at_most(queries, clusters * most_queries, "queries of a head of keys");
    if (rules.broken) return;
    const int own = share_of_queries(static_cast<int>(queries), static_cast<int>(clusters));
    rules.must((clusters - 1) * own < queries, "leave one without", queries,
               "queries of a head of keys, of all clusters");
    rules.at_most(own, most_queries, "queries of a head of keys");
    const auto of_cluster = static_cast<int>(rules.cluster());
    const int share = share_of_positions(a.attended.positions, of_cluster);
    rules.at_most(std::int64_t{own} * share, most_scores, "scores of a block");
    if (rules.broken) return;
    rules.room(
        attention_room::of(head_values(p), rows_of_block(p), own, a.tokens, share, of_cluster)
            .bytes());
}

/// Attention of queries to keys and values, by a row that attends; or none.
inline void limit_attention(launch_rules& rules, const row& r, const heads_args& a) {
    const attention_args& by = a.attended;
    const bool attends_here = by.positions > 0;
    rules.must(attends_here == attends(r.computes.row().stages), "are nothing that its row does",
               by.positions, "positions");
    if (!attends_here || rules.broken) return;
    rules.must(a.members == 3, "are not queries, keys and values", a.members, "its values");
    if (rules.broken) return;
    const head_member& m = a.member[0];
    rules.must((m.f32 != nullptr || by.q8_1 != nullptr) && m.cache == nullptr,
               "is not written, or is stored", 0, "what is attended to");
    if (by.q8_1 != nullptr) {
        rules.must(r.computes.row().emits.has(format::q8_1), "is not written by its row", 0,
                   "q8_1");
        rules.multiple(m.k, info(format::q8_1).block_elements, "elements of a head");
    }
    for (std::int32_t i = 0; i < a.members; ++i)
        rules.must(!a.member[i].token_norm, "is nothing that its row does", i, "a norm of tokens");
    rules.multiple(m.k, attended_by_lane, "elements of a head");
    for (const int i : {1, 2}) limit_attended_cache(rules, a, a.member[i]);
    limit_queries(rules, r.policy.row(), a);
}

/// Are the numbers of a turn those of pairs in a head of k elements?
inline bool turns_pairs(const rotation& t, std::int64_t k) {
    return t.dims > 0 && t.dims % 2 == 0 && t.first >= 0 && t.first % 2 == 0 &&
           t.first + t.dims <= k;
}

/// Elements that a warp holds in each row: of a head, or of a state that makes its values.
inline std::int64_t held_together(const heads_args& a, const head_member& m) {
    return a.scanned.size > 0 ? a.scanned.size : m.k;
}

/// Sequences with a state each, of which a block has the same part of a head; 1: there are no
/// states.
inline std::int32_t sequences_of(const heads_args& a) {
    if (a.convolved.channels > 0) return a.convolved.sequences;
    if (a.recalled.key_heads > 0) return a.recalled.sequences;
    return a.scanned.size > 0 ? a.scanned.sequences : 1;
}

/// Warps that share a value.
inline std::int64_t warps_of(const heads_args& a, const head_member& m) {
    const std::int64_t heads = m.heads;
    if (a.convolved.channels > 0) return heads * sequences_of(a);
    const bool made = a.recalled.key_heads > 0 || a.scanned.size > 0;
    return heads * (made ? m.k / values_of_warp * sequences_of(a) : a.tokens);
}

inline fault beyond(const step& s, const row& r, const heads_args& a) {
    const row_policy& p = r.policy.row();
    const row_computation& c = r.computes.row();
    launch_rules rules(s);
    rules.block(p.threads, 1, row_shared_bytes(c, p), p.cluster);
    rules.must(a.members >= 1 && a.members <= max_head_members, "are none or too many", a.members,
               "values with heads");
    if (rules.broken) return rules.broken;
    limit_convolution(rules, r, a);
    limit_delta_rule(rules, r, a);
    limit_scan(rules, r, a);
    limit_attention(rules, r, a);
    if (rules.broken) return rules.broken;
    std::int64_t rows = 0;
    for (std::int32_t i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        rules.must(m.first_row == rows, "are not behind those of the values before", m.first_row,
                   "heads");
        rows += warps_of(a, m);
        rules.must(m.k > 0 && m.heads > 0 && a.tokens > 0, "has no elements", m.k, "a head");
        rules.at_most(held_together(a, m), head_values(p), "elements of a head");
        if (p.vector) rules.multiple(held_together(a, m), 4, "elements of a head");
        rules.must(m.f32 == nullptr || c.emits.has(format::f32), "is not written by its row", 0,
                   "f32");
        rules.must(!m.turned || (turns_pairs(a.turn, m.k) && c.stages.has(stage_kind::rope)),
                   "are nothing that its row turns", a.turn.dims, "pairs of a head");
        rules.must(!m.normed || c.stages.has(stage_kind::rms_norm),
                   "is nothing that its row can do", 0, "the norm of a head");
        rules.must(
            !m.token_norm || (m.normed && m.x != nullptr && m.x_nb1 == std::int64_t{4} * m.k),
            "are not next to each other", m.x_nb1, "heads of a token that is normed");
        if (m.cache == nullptr) continue;
        const bool stores = c.stages.has(stage_kind::store) && c.emits.has(m.cache_type) &&
                            m.cache_type != format::unknown;
        rules.must(stores, "is nothing that its row stores", static_cast<int>(m.cache_type),
                   "the format of a cache");
        if (stores) rules.multiple(m.k, info(m.cache_type).block_elements, "elements of a head");
        rules.must(m.cache_rows > 0, "has no rows", m.cache_rows, "a cache");
    }
    rules.must(rows == a.rows, "are not those of all values", a.rows, "its heads");
    if (a.attended.positions > 0) return rules.broken;
    const std::int64_t in_block = rows_of_block(p, sequences_of(a));
    rules.must(s.config.blocks == (rows + in_block - 1) / in_block, "do not have all heads",
               s.config.blocks, "its blocks");
    return rules.broken;
}

}  // namespace CATENA_NAMESPACE::proof
