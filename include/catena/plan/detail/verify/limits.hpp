// What the kernel of a table row can be launched with, as kernel/args.hpp and kernel/layout.hpp
// say. A launch beyond that leaves results unwritten, or reads what is not there, whatever the
// values are.
#pragma once

#include "catena/kernel/layout.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/detail/verify/head_limits.hpp"
#include "catena/plan/detail/verify/launch_rules.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE::proof {

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
        rules.must(experts && a.slots == a.routing.numbers.chosen &&
                       a.columns == std::int64_t{a.slots} * a.routing.tokens,
                   "are not those of the tokens that are routed", a.columns, "its columns");
    }
    rules.must(p.turns == (a.heads.members > 0), "are nothing that its row does, or are missing", 0,
               "heads");
    if (p.turns) limit_heads(rules, a, p);
    if (rules.broken) return rules.broken;
    rules.must(!writes_norms(p) || a.norm_weight != nullptr, "is missing", 0,
               "the weight of a norm");
    rules.must((a.norm_f32 == nullptr && a.norm_q8_1 == nullptr) || writes_norms(p),
               "is nothing that its row writes", 0, "the norm");
    if (p.product == inner_product::fma && p.activation == activation_source::shared)
        rules.multiple(a.k, lane_floats, "elements of a column");
    if (a.gate.data != nullptr) limit_gate(rules, a, p);
    rules.must(a.begun_squares == nullptr || (ends_norms(p) && !experts),
               "is nothing that its row ends", 0, "the norm");
    bool meet = false;
    for (std::int32_t i = 0; i < a.members; ++i) {
        const matvec_member& m = a.member[i];
        const std::int64_t own = band_results(a, m);
        rules.must(m.begun_weight == nullptr || (begins_norms(p, experts) && m.q8_1 != nullptr &&
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
