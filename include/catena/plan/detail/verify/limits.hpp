// What the kernel of a table row can be launched with, as kernel/args.hpp and kernel/layout.hpp
// say. A launch beyond that leaves results unwritten, or reads what is not there, whatever the
// values are.
#pragma once

#include "catena/kernel/layout.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// What is wrong with a launch: a sentence's end, and the byte that shows it.
struct fault {
    const char* why = nullptr;  ///< null: nothing is
    std::uint64_t byte = 0;
    const char* operand = "";
    explicit operator bool() const { return why != nullptr; }
};

/// Rules that a launch keeps, or the first that it breaks.
class launch_rules {
  public:
    explicit launch_rules(const step& s) : config_(s.config) {}

    fault broken;

    void must(bool holds, const char* why, std::int64_t have, const char* operand) {
        if (!holds && !broken) broken = {why, static_cast<std::uint64_t>(have), operand};
    }
    void multiple(std::int64_t n, std::int64_t of, const char* operand) {
        must(n % of == 0, "are no multiple of what its kernel takes together", n, operand);
    }
    void at_most(std::int64_t n, std::int64_t most, const char* operand) {
        must(n <= most, "are more than its kernel can do", n, operand);
    }

    /// A block has `width` times the threads of the policy, 1 to `widest`, and room in shared
    /// memory; a cluster of `most` blocks at most has them together.
    void block(std::int64_t threads, int widest, std::int64_t shared, int most) {
        must(config_.threads % threads == 0 && config_.threads / threads >= 1 &&
                 config_.threads / threads <= static_cast<std::uint32_t>(widest),
             "are not those of its kernel", config_.threads, "its threads");
        must(config_.shared_bytes >= shared, "is too little for its kernel", config_.shared_bytes,
             "its shared memory");
        must(config_.cluster >= 1 && (config_.cluster == 1 || config_.cluster <= unsigned(most)),
             "has more blocks than its kernel shares work among", config_.cluster, "its cluster");
    }
    std::int64_t cluster() const { return config_.cluster; }
    std::int64_t width(int threads) const { return config_.threads / unsigned(threads); }

  private:
    const launch_config& config_;
};

/// Elements that share a scale, of everything that is quantized to int8.
inline constexpr std::int64_t scaled_together = 32;

/// Does a row step or a member of a group write an activation into the workspace, in a layout of
/// int8 or of a matmul?
template <class Args>
bool quantizes_blocks(const Args& a) {
    return std::any_of(std::begin(layout_fields<Args>), std::end(layout_fields<Args>),
                       [&a](const layout_field<Args>& f) { return a.*f.to != nullptr; });
}

/// An activation row is made of whole norm rows, or a norm row of whole activation rows.
inline void limit_activation(launch_rules& rules, const row_args& a) {
    if (a.fp8_group.data != nullptr) rules.multiple(a.k, 128, "values of a scale");
    if (!quantizes_blocks(a)) return;
    rules.must(a.quant_k > 0, "has no elements", a.quant_k, "an activation row");
    if (rules.broken) return;
    rules.multiple(a.k, scaled_together, "elements of a row");
    rules.multiple(a.quant_k, scaled_together, "elements of an activation row");
    rules.must(a.quant_k % a.k == 0 || a.k % a.quant_k == 0, "is cut within a norm row", a.quant_k,
               "an activation row");
    rules.multiple(std::int64_t{a.rows} * a.k, a.quant_k, "values");
    if (a.q8_1 != nullptr)
        rules.must(a.quant_blocks * scaled_together == stored_elements(format::q8_1, a.quant_k),
                   "is padded otherwise than it is read", a.quant_blocks, "an activation row");
}

/// A row step writes nothing that no node of an engine makes, nor norms as none does.
inline void limit_meaning(launch_rules& rules, const row_computation& c, const row_args& a) {
    const bool others =
        std::any_of(std::begin(scaled_output_fields), std::end(scaled_output_fields),
                    [&a](const scaled_output_field& f) {
                        return f.type != format::fp8_group && (a.*f.to).data != nullptr;
                    });
    rules.must(!others && a.int8_sums == nullptr && !a.one_plus_weight && a.f16 == nullptr &&
                   a.bf16 == nullptr && !c.stages.has(stage_kind::l2_norm),
               "is nothing that an engine's node computes", 0, "its result");
    rules.must(a.next_weight == nullptr ||
                   c.stages.has(stage_kind::next_norm) == c.stages.has(stage_kind::mul_next_weight),
               "is nothing that its row can do", 0, "the second norm");
    const bool experts = c.stages.has(stage_kind::combine) && a.experts.results != nullptr;
    rules.must(!experts || a.n1 == a.rows, "do not lie one behind the other", a.n1, "tokens");
}

inline fault beyond(const step& s, const row& r, const row_args& a) {
    const row_policy& p = r.policy.row();
    launch_rules rules(s);
    rules.block(p.threads, 1, row_shared_bytes(r.computes.row(), p), 1);
    rules.must(a.k > 0, "has no elements", a.k, "a row");
    if (p.values > 0)
        rules.at_most(a.k, std::int64_t{p.threads / rows_of_block(p)} * p.values,
                      "elements of a row");
    if (p.vector) rules.multiple(a.k, 4, "elements of a row");
    limit_activation(rules, a);
    limit_meaning(rules, r.computes.row(), a);
    return rules.broken;
}

/// A convolution whose channels are those of all values, by a row that convolves; or none.
inline void limit_convolution(launch_rules& rules, const row& r, const heads_args& a) {
    const row_computation& c = r.computes.row();
    const row_policy& p = r.policy.row();
    const convolution_args& by = a.convolved;
    const bool convolves_here = by.channels > 0;
    rules.must(convolves_here == convolves(c.stages), "are nothing that its row does", by.channels,
               "convolved channels");
    if (!convolves_here) return;
    rules.must(by.length >= min_taps && by.length <= max_taps, "are not as many as its row has",
               by.length, "taps");
    rules.must(by.sequences > 0 && a.tokens % by.sequences == 0, "do not have equally many tokens",
               by.sequences, "sequences");
    rules.at_most(by.sequences, rows_of_block(p), "sequences");
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
    rules.must(by.states > 0, "are not there", by.states, "states");
    rules.must(!m.normed && !m.turned && m.cache == nullptr && m.f32 != nullptr,
               "is nothing that its row does", 0, "a norm, a turn or a cache");
    rules.must(!by.by_value || by.decay_factor == nullptr, "is nothing that its row does", 0,
               "a factor of each value's decay");
}

/// Are the numbers of a turn those of pairs in a head of k elements?
inline bool turns_pairs(const rotation& t, std::int64_t k) {
    return t.dims > 0 && t.dims % 2 == 0 && t.first >= 0 && t.first % 2 == 0 &&
           t.first + t.dims <= k;
}

inline fault beyond(const step& s, const row& r, const heads_args& a) {
    const row_policy& p = r.policy.row();
    const row_computation& c = r.computes.row();
    launch_rules rules(s);
    rules.block(p.threads, 1, row_shared_bytes(c, p), 1);
    rules.must(a.members >= 1 && a.members <= max_head_members, "are none or too many", a.members,
               "values with heads");
    if (rules.broken) return rules.broken;
    limit_convolution(rules, r, a);
    limit_delta_rule(rules, r, a);
    if (rules.broken) return rules.broken;
    const bool recalled = a.recalled.key_heads > 0;
    const bool convolved = a.convolved.channels > 0;
    std::int64_t rows = 0;
    for (std::int32_t i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        rules.must(m.first_row == rows, "are not behind those of the values before", m.first_row,
                   "heads");
        rows += std::int64_t{m.heads} * (convolved  ? a.convolved.sequences
                                         : recalled ? m.k / values_of_warp
                                                    : a.tokens);
        rules.must(m.k > 0 && m.heads > 0 && a.tokens > 0, "has no elements", m.k, "a head");
        rules.at_most(m.k, head_values(p), "elements of a head");
        if (p.vector) rules.multiple(m.k, 4, "elements of a head");
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
    const std::int64_t in_block = rows_of_block(p, convolved ? a.convolved.sequences : 1);
    rules.must(std::int64_t{s.config.blocks} == (rows + in_block - 1) / in_block,
               "do not have all heads", s.config.blocks, "its blocks");
    return rules.broken;
}

/// A routing of up to `most` experts, by a row with these stages.
inline void limit_routing(launch_rules& rules, const route_args& a, stage_set stages,
                          std::int64_t most) {
    const routing_numbers& n = a.numbers;
    rules.must(a.experts > 0 && a.tokens > 0, "are none", a.experts, "experts");
    rules.at_most(a.experts, most, "experts");
    rules.must(n.chosen > 0 && n.chosen <= a.experts, "are not there", n.chosen, "chosen experts");
    rules.at_most(n.chosen, max_chosen, "chosen experts");
    rules.must(n.groups > 0 && n.groups_chosen > 0 && n.groups_chosen <= n.groups, "are not there",
               n.groups_chosen, "groups of experts");
    rules.at_most(n.groups, max_groups, "groups of experts");
    if (rules.broken) return;
    rules.multiple(a.experts, n.groups, "experts");
    rules.must(n.groups == 1 || a.experts >= 2 * n.groups, "have one expert each", n.groups,
               "groups of experts");
    const bool weighs = n.soft_max_chosen || n.normalized || n.scale != 1;
    const bool scores = n.score != scoring::none || n.choice == choosing::by_sigmoid;
    rules.must(
        (!scores || stages.has(stage_kind::score)) && (!weighs || stages.has(stage_kind::weigh)),
        "are nothing that its row makes", 0, "weights");
}

inline fault beyond(const step& s, const row& r, const route_args& a) {
    const row_policy& p = r.policy.row();
    const row_computation& c = r.computes.row();
    launch_rules rules(s);
    rules.block(p.threads, 1, row_shared_bytes(c, p), 1);
    limit_routing(rules, a, c.stages, routed_experts(p));
    if (rules.broken) return rules.broken;
    rules.must(s.config.blocks == static_cast<std::uint32_t>(a.tokens), "do not have all tokens",
               s.config.blocks, "its blocks");
    return rules.broken;
}

/// A member's matrices lie within the bytes of its tensor, its rows have whole blocks, and its
/// scales are those of whole pieces of the rows.
template <class Args>
void limit_member(launch_rules& rules, const Args& a, const matvec_member& m,
                  std::int64_t scale_unit) {
    const std::int64_t others = m.experts > 0 ? m.experts - 1 : 0;
    const std::int64_t bytes =
        others * m.expert_bytes + (m.rows - std::int64_t{1}) * m.row_bytes + row_bytes(m.type, a.k);
    rules.must(m.rows > 0 && m.weight_bytes >= bytes, "has bytes that are not read", m.weight_bytes,
               "a matrix");
    rules.multiple(a.k, info(m.type).block_elements, "elements of a weight row");
    if (m.weight_scale == nullptr) return;
    rules.must(m.scale_rows > 0 && m.scale_values > 0, "are of no values", 0, "scales");
    if (!rules.broken && m.scale_values != a.k)
        rules.multiple(m.scale_values, scale_unit, "values of a scale");
}

/// Ids pick one of the slots of whole tokens; members with one matrix stand behind all others.
template <class Args>
void limit_columns(launch_rules& rules, const Args& a) {
    rules.must(a.k > 0 && a.columns > 0 && a.slots > 0, "are none", a.columns, "its columns");
    rules.must(a.x_slots == 1 || a.x_slots == a.slots, "are neither one nor all", a.x_slots,
               "slots of the activation");
    rules.must(a.members >= 1 && a.members <= max_members, "are none or too many", a.members,
               "its matrices");
    if (rules.broken) return;
    for (std::int32_t i = 1; i < a.members; ++i)
        rules.must(a.member[i].experts == 0 || a.member[i - 1].experts > 0,
                   "stands behind one of a single matrix", i, "an expert matrix");
}

/// The results of a matvec as the heads of one token.
inline void limit_heads(launch_rules& rules, const matvec_args& a, const matvec_policy& p) {
    const head_group& all = a.heads;
    const bool by_one = all.turn.pairs == pairing::neighbors || all.turn.pairs == pairing::halves;
    rules.must(all.members == a.members && all.members <= max_head_members, "has no matrix",
               all.members, "a value of heads");
    rules.must(all.tokens == 1 && a.columns == 1, "are not those of one token", all.tokens,
               "its heads");
    rules.multiple(a.band_rows, 2, "rows of a band");
    rules.at_most(a.band_rows, std::int64_t{most_groups(p)} * p.rows * (p.threads / warp_size),
                  "rows of a band");
    if (rules.broken) return;
    for (std::int32_t i = 0, rows = 0; i < all.members; ++i) {
        const head_member& h = all.member[i];
        rules.must(h.first_row == rows, "are not behind those of the values before", h.first_row,
                   "heads");
        rows += h.heads;
        rules.must(h.k > 0 && std::int64_t{h.k} * h.heads == a.member[i].rows,
                   "are not the results of a matrix", h.k, "elements of its heads");
        rules.multiple(h.k, 2, "elements of a head");
        rules.must(h.x == nullptr && h.f32 == nullptr && !h.normed, "is nothing that its row does",
                   i, "a norm or a copy of heads");
        rules.must(!h.turned || (by_one && all.turn.first == 0 && turns_pairs(all.turn, h.k)),
                   "are nothing that its row turns", all.turn.dims, "pairs of a head");
        if (h.cache == nullptr) continue;
        rules.must(element_caches.has(h.cache_type), "is nothing that its row stores",
                   static_cast<int>(h.cache_type), "the format of a cache");
        rules.must(h.cache_rows > 0, "has no rows", h.cache_rows, "a cache");
    }
}

/// The gate of an activation.
inline void limit_gate(launch_rules& rules, const matvec_args& a, const matvec_policy& p) {
    const std::int64_t head = a.gate.k;
    rules.must(gates(p) && a.columns == 1, "is nothing that its row does", a.columns,
               "the gate of its activation");
    rules.must(head > 0 && a.k % head == 0, "does not divide its rows", head,
               "a head that is gated");
    rules.multiple(head, 4, "elements of a head that is gated");
    rules.must(a.norm_weight == nullptr || norms_in_warp(head), "is nothing that its row does",
               head, "the norm of a head");
}

inline fault beyond(const step& s, const row& r, const matvec_args& a) {
    const matvec_policy& p = r.policy.matvec();
    launch_rules rules(s);
    limit_columns(rules, a);
    if (rules.broken) return rules.broken;
    const bool experts = has_experts(a), makes = p.placement != norm_placement::producer;
    rules.must(!experts || !makes, "stand in a launch that makes its norm", 0, "experts");
    if (!experts) rules.at_most(a.columns, p.columns, "its columns");
    rules.must(!a.combined || slots_added(p) > 1, "is nothing that its row can do", a.slots,
               "the sum of slots");
    if (a.combined) rules.at_most(a.slots, slots_added(p), "slots that are added up");
    rules.must(!a.combined || experts, "are added up without experts", 0, "slots");
    rules.must(p.routes == (a.routing.tokens > 0), "is nothing that its row does, or is missing", 0,
               "the choice of experts");
    if (p.routes) {
        limit_routing(rules, a.routing, r.computes.product().stages, routed_experts(p));
        rules.must(a.routing.tokens == 1 && experts && a.columns == a.slots &&
                       a.slots == a.routing.numbers.chosen,
                   "are not those of one token", a.columns, "its columns");
    }
    rules.must(p.turns == (a.heads.members > 0), "are nothing that its row does, or are missing", 0,
               "heads");
    if (p.turns) limit_heads(rules, a, p);
    if (rules.broken) return rules.broken;
    rules.must((a.norm_f32 == nullptr && a.norm_q8_1 == nullptr) || a.columns == 1,
               "is written for several columns", a.columns, "the norm");
    if (a.gate.data != nullptr) limit_gate(rules, a, p);
    rules.must(a.begun_squares == nullptr || (ends_norms(p) && !experts),
               "is nothing that its row ends", 0, "the norm");
    bool meet = false;
    for (std::int32_t i = 0; i < a.members; ++i) {
        const matvec_member& m = a.member[i];
        const std::int64_t own = band_results(a, m);
        rules.must(m.begun_weight == nullptr || (ends_norms(p) && !experts && m.q8_1 != nullptr &&
                                                 m.begun_squares != nullptr),
                   "is nothing that its row begins", i, "the next norm");
        limit_member(rules, a, m, 8);
        rules.must(!a.combined || m.experts > 0, "are added up in a matrix of all tokens", i,
                   "slots");
        if (a.combined) rules.at_most(own, a.finished, "added-up results of a band");
        rules.multiple(own, rules.cluster(), "results of a band");
        rules.must(m.up == nullptr || p.rows % 2 == 0, "are nothing that its row can do", p.rows,
                   "two matrices");
        if (m.up != nullptr) rules.multiple(a.band_rows, 2, "rows of a band");
        meet = meet || a.combined || quantizes_blocks(m);
        if (!quantizes_blocks(m)) continue;
        rules.multiple(m.rows, scaled_together, "results");
        rules.multiple(own, scaled_together, "results of a band");
        rules.at_most(own, a.finished, "quantized results of a band");
    }
    if (meet) rules.at_most(a.finished, max_finished_rows, "results that meet in a block");
    const std::int64_t width = std::max<std::int64_t>(rules.width(p.threads), 1);
    matvec_policy wide = p;
    wide.threads *= static_cast<int>(std::min<std::int64_t>(width, 64));
    const std::int64_t columns = a.combined ? a.slots : experts ? 1 : a.columns;
    const int widest = makes ? 1 : std::max(p.min_blocks, 1);
    rules.block(p.threads, widest,
                matvec_shared_bytes(wide, r.computes.product().weights, a.k, columns,
                                    meet ? a.finished : 0),
                p.cluster);
    rules.must((rules.cluster() & (rules.cluster() - 1)) == 0, "is no power of two",
               rules.cluster(), "its cluster");
    return rules.broken;
}

inline fault beyond(const step& s, const row& r, const matmul_args& a) {
    const matmul_policy& p = r.policy.matmul();
    const product_computation& c = r.computes.product();
    launch_rules rules(s);
    limit_columns(rules, a);
    if (rules.broken) return rules.broken;
    rules.block(p.threads, 1, matmul_shared_bytes(p, c.weights), p.cluster);
    rules.must(rules.cluster() == 1 || !has_experts(a), "has the matrices of experts",
               rules.cluster(), "its cluster");
    if (c.activation == format::f32) rules.multiple(a.k, 32, "elements of a weight row");
    if (c.activation == format::fp8_group) rules.multiple(a.k, 128, "elements of a weight row");
    std::int64_t most = 0;
    for (std::int32_t i = 0; i < a.members; ++i) {
        const matvec_member& m = a.member[i];
        most = std::max<std::int64_t>(most, m.experts);
        limit_member(rules, a, m, 128);
        if (!quantizes_blocks(m)) continue;
        rules.multiple(m.rows, scaled_together, "results");
        rules.multiple(tile_rows(p) / (m.up != nullptr ? 2 : 1), scaled_together,
                       "results of a tile");
    }
    const bool parts = has_experts(a) && a.ids == nullptr;
    rules.must(a.experts >= most && (!parts || std::int64_t{a.experts} * a.slots >= a.columns),
               "are left out", a.experts, "matrices");
    return rules.broken;
}

}  // namespace CATENA_NAMESPACE::proof
