// From heads that were found to what is asked of the table and what is handed to the kernel.
#pragma once

#include "catena/plan/detail/find/request.hpp"
#include "catena/plan/detail/order/trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// The largest power of two up to 16 that divides all that a row reads and writes of the heads, as
/// if elements had 4 bytes. Blocks of a cache lie at any multiple of 2. The length of the first
/// part of a CONCAT says how the second is aligned.
inline int alignment_of(const graph_view& view, const head_chain& h) {
    std::uint64_t bits = 16;
    const auto reaches = [&](std::int32_t tensor, std::uint64_t strides, unsigned size) {
        const auto at = static_cast<std::uint64_t>(base_alignment(view.at(tensor)));
        bits |= (at | strides) * (4 / size);
    };
    const auto of_rows = [&](std::int64_t nb1, std::int64_t nb2) {
        return static_cast<std::uint64_t>((h.count > 1 ? nb1 : 0) | (h.tokens > 1 ? nb2 : 0));
    };
    if (h.x != no_tensor) reaches(h.x, of_rows(h.at.nb1, h.at.nb2), 4);
    if (h.weight != no_tensor) reaches(h.weight, 0, 4);
    if (h.written) {
        const tensor& t = view.node(h.made_by());
        reaches(view.nodes[h.made_by()], of_rows(t.nb[1], t.nb[2]), 4);
    }
    if (h.store >= 0) {
        const tensor& t = view.node(h.store);
        const auto size = static_cast<unsigned>(info(t.type).block_bytes);
        const bool values = info(t.type).block_elements == 1;
        if (values) reaches(view.nodes[h.store], static_cast<std::uint64_t>(t.nb[1]), size);
    }
    if (h.k % 4 != 0) bits |= 4;
    return static_cast<int>(bits & (~bits + 1));
}

/// The largest power of two up to 16 that divides all that a convolution reads and writes.
inline int alignment_of(const graph_view& view, const convolution& c) {
    std::uint64_t bits = c.channels % 4 == 0 ? 16 : 4;
    for (const std::int32_t t : {c.x, c.state, c.taps, c.bias})
        if (t != no_tensor) bits |= static_cast<std::uint64_t>(base_alignment(view.at(t)));
    for (const std::int32_t n : {c.keep, c.written ? c.made_by() : -1})
        if (n >= 0) bits |= static_cast<std::uint64_t>(base_alignment(view.node(n)));
    if (c.all_tokens() > 1) bits |= static_cast<std::uint64_t>(view.at(c.x).nb[0]);
    if (c.states > 1) bits |= static_cast<std::uint64_t>(c.state_nb);
    if (c.sequences > 1) bits |= static_cast<std::uint64_t>(c.next_state_nb);
    return static_cast<int>(bits & (~bits + 1));
}

/// The largest power of two up to 16 that divides all that a launch of the delta rule reads and
/// writes by rows.
inline int alignment_of(const graph_view& view, const delta_rule& d) {
    std::uint64_t bits = d.k % 4 == 0 ? 16 : 4;
    const auto reaches = [&](std::int32_t t) {
        bits |= static_cast<std::uint64_t>(base_alignment(view.at(t)));
    };
    const auto heads = [&](std::int32_t t, std::int64_t count, const row_strides& at) {
        reaches(t);
        bits |= static_cast<std::uint64_t>((count > 1 ? at.nb1 : 0) | at.nb2);
    };
    heads(d.queries, d.key_heads, d.queries_at), heads(d.keys, d.key_heads, d.keys_at);
    heads(d.values, d.heads, d.values_at);
    reaches(d.state), reaches(view.nodes[d.rule]);
    if (d.by_value) reaches(d.decay);
    if (d.keep >= 0) reaches(view.nodes[d.keep]);
    return static_cast<int>(bits & (~bits + 1));
}

/// The largest power of two up to 16 that divides all that a scan reads and writes by rows.
inline int alignment_of(const graph_view& view, const state_scan& s) {
    std::uint64_t bits = s.size % 4 == 0 ? 16 : 4;
    for (const std::int32_t t : {s.state, s.b, s.c})
        bits |= static_cast<std::uint64_t>(base_alignment(view.at(t)));
    if (s.keep >= 0) bits |= static_cast<std::uint64_t>(base_alignment(view.node(s.keep)));
    bits |= static_cast<std::uint64_t>(s.b_nb | s.c_nb);
    return static_cast<int>(bits & (~bits + 1));
}

/// What the row step of a state must compute, which has rows of k numbers.
template <class Made>
row_problem problem_of_state(const graph_view& view, const Made& by, stage_kind stage,
                             std::int64_t k) {
    row_problem p;
    p.needs.stages = stage_set::of(stage);
    p.needs.emits = format_set::of(format::f32);
    p.k = k;
    p.rows = by.heads * quotient(by.k, values_of_warp) * by.sequences;
    p.slots = by.tokens;
    p.sequences = by.sequences;
    p.alignment = alignment_of(view, by);
    return p;
}
inline row_problem problem_of(const graph_view& view, const delta_rule& d) {
    return problem_of_state(view, d, stage_kind::delta_rule, d.k);
}
inline row_problem problem_of(const graph_view& view, const state_scan& s) {
    return problem_of_state(view, s, stage_kind::ssm_scan, s.size);
}

/// Says how long heads are that have not all one length.
inline void set_lengths(const std::vector<head_chain>& all, row_problem& p) {
    const auto longest = [&p](const head_chain& h) { return h.k == p.k; };
    if (convolves(p.needs.stages) || std::all_of(all.begin(), all.end(), longest)) return;
    p.least_k = p.k;
    for (const head_chain& h : all) {
        const std::int64_t values = h.k * h.count * h.tokens;
        p.least_k = std::min(p.least_k, h.k);
        p.values += values;
        if (h.store >= 0) p.stored_values += values;
    }
}

/// What the row step of these heads must compute.
inline row_problem problem_of(const graph_view& view, const std::vector<head_chain>& all,
                              const convolution& by = {}) {
    row_problem p;
    if (by.found()) {
        p.needs.stages = stage_set::of(stage_kind::convolve);
        p.needs.emits = format_set::of(format::f32);
        p.slots = by.length;
        p.sequences = by.sequences;
        p.sum = by.written;
        p.alignment = alignment_of(view, by);
    }
    for (const head_chain& h : all) {
        const std::int64_t rows = h.count * (by.found() ? by.sequences : h.tokens);
        stage_set& stages = p.needs.stages;
        if (h.norm >= 0) stages = stages | stage_kind::rms_norm;
        if (h.mul >= 0) stages = stages | stage_kind::mul_weight;
        if (h.rope >= 0) stages = stages | stage_kind::rope;
        if (h.token_norm)
            p.slots = std::max(p.slots, 1 + quotient(h.k * h.count - 1, token_norm_values));
        if (h.written) p.needs.emits = p.needs.emits | format::f32;
        if (h.store >= 0) {
            stages = stages | stage_kind::store;
            p.needs.emits = p.needs.emits | view.node(h.store).type;
            p.stored += rows;
        }
        p.k = std::max(p.k, h.k);
        p.rows += rows;
        p.alignment = std::min(p.alignment, alignment_of(view, h));
    }
    set_lengths(all, p);
    return p;
}

inline convolution_args convolution_arguments(const graph_view& view, const convolution& by,
                                              addresses& at) {
    convolution_args a;
    a.x = at.floats(by.x);
    a.x_nb = view.at(by.x).nb[0];
    a.taps = at.floats(by.taps);
    a.bias = at.floats(by.bias);
    a.state = at.floats(by.state);
    a.state_ids = reinterpret_cast<const std::int32_t*>(at.of(by.state_ids));
    a.state_nb = by.state_nb, a.next_state_nb = by.next_state_nb;
    if (by.keep >= 0) a.next_state = at.floats(view.nodes[by.keep]);
    if (by.written) {
        a.f32 = at.floats(view.nodes[by.made_by()]);
        a.f32_nb = view.node(by.made_by()).nb[1];
    }
    a.channels = static_cast<std::int32_t>(by.channels);
    a.length = static_cast<std::int32_t>(by.length);
    a.states = static_cast<std::int32_t>(by.states);
    a.sequences = static_cast<std::int32_t>(by.sequences);
    if (by.act >= 0) a.function = gate_function::silu;
    return a;
}

/// The largest power of two up to 16 that divides all that attention reads and writes by rows.
inline int alignment_of(const graph_view& view, const attention& by,
                        const std::vector<head_chain>& all) {
    const tensor& t = view.node(by.node);
    std::uint64_t bits = static_cast<std::uint64_t>(base_alignment(t) | t.nb[1] | t.nb[2]);
    for (const head_chain& h : all) {
        bits |= static_cast<std::uint64_t>(alignment_of(view, h));
        if (h.store < 0) continue;
        const tensor& cache = view.node(h.store);
        bits |= static_cast<std::uint64_t>(base_alignment(cache) | cache.nb[1] | (2 * h.k));
    }
    return static_cast<int>(bits & (~bits + 1));
}

/// What the row step of a match that attends must compute.
inline row_problem problem_of_attention(const graph_view& view, const match& m) {
    row_problem p = problem_of(view, m.values);
    p.needs.stages = p.needs.stages | stage_kind::attend;
    p.needs.emits = p.needs.emits | m.layouts();
    if (m.f32_needed) p.needs.emits = p.needs.emits | format::f32;
    if (!m.layouts().empty()) p.quant_k = m.quant_k;
    const head_chain &queries = m.values.front(), &keys = m.values[1];
    p.rows = queries.count * queries.tokens;
    p.slots = quotient(p.rows, keys.count);
    p.positions = m.attended.positions;
    p.alignment = alignment_of(view, m.attended, m.values);
    return p;
}

/// The values as a plan reports them: by the first one.
inline match match_of_heads(const graph_view& view, std::vector<head_chain>&& some) {
    match m;
    const head_chain& first = some.front();
    m.stages = problem_of(view, some).needs.stages;
    m.node = first.made_by() >= 0 ? first.made_by() : first.store;
    m.activation = view.nodes[m.node];
    m.stream = view.node(m.node).stream;
    m.f32_needed = first.written;
    m.values = std::move(some);
    return m;
}

inline attention_args attention_arguments(const graph_view& view, const attention& by,
                                          addresses& at) {
    attention_args a;
    a.mask = reinterpret_cast<const std::uint16_t*>(at.of(by.mask));
    if (by.mask != no_tensor) a.mask_nb = view.at(by.mask).nb[1];
    a.sinks = at.floats(by.sinks);
    a.positions = static_cast<std::int32_t>(by.positions);
    a.first_row = static_cast<std::int32_t>(by.first_row);
    a.scale = by.scale;
    return a;
}

inline heads_args head_arguments(const graph_view& view, const std::vector<head_chain>& all,
                                 const convolution& by, addresses& at) {
    heads_args a;
    if (by.found()) a.convolved = convolution_arguments(view, by, at);
    a.tokens = static_cast<std::int32_t>(all.front().tokens);
    for (const head_chain& h : all) {
        head_member& m = a.member[a.members++];
        if (h.x != no_tensor) m.x = at.floats(h.x);
        m.x_nb1 = h.at.nb1, m.x_nb2 = h.at.nb2;
        m.first_channel = static_cast<std::int32_t>(h.first_channel);
        m.k = static_cast<std::int32_t>(h.k);
        m.heads = static_cast<std::int32_t>(h.count);
        m.first_row = a.rows;
        a.rows += m.heads * (by.found() ? a.convolved.sequences : a.tokens);
        m.normed = h.norm >= 0;
        m.token_norm = h.token_norm;
        m.weight = at.floats(h.weight);
        m.eps = h.eps;
        m.turned = h.rope >= 0;
        m.scale = h.scale;
        if (m.turned) {
            a.turn = rotation_of(h.turn.numbers);
            a.positions = reinterpret_cast<const std::int32_t*>(at.of(h.turn.positions));
            a.factors = at.floats(h.turn.factors);
        }
        if (h.written) {
            const tensor& t = view.node(h.made_by());
            m.f32 = at.floats(view.nodes[h.made_by()], 4 * h.first);
            m.f32_nb1 = t.nb[1], m.f32_nb2 = t.nb[2];
        }
        if (h.store < 0) continue;
        const tensor& t = view.node(h.store);
        m.cache = at.of(view.nodes[h.store], row_bytes(t.type, h.first));
        m.cache_ids = at.of(t.src[1]);
        m.cache_nb = t.nb[1];
        m.cache_rows = static_cast<std::int32_t>(t.ne[1]);
        m.cache_type = t.type;
        m.ids_of_64_bits = view.at(t.src[1]).type == format::i64;
    }
    return a;
}

/// Queries, keys and values, and what becomes of them; q8_1 is filled in at launch.
inline heads_args attending_arguments(const graph_view& view, const match& m, addresses& at) {
    heads_args a = head_arguments(view, m.values, convolution{}, at);
    a.attended = attention_arguments(view, m.attended, at);
    if (!m.f32_needed) return a;
    const tensor& t = view.node(m.node);
    head_member& queries = a.member[0];
    queries.f32 = at.floats(m.activation);
    queries.f32_nb1 = t.nb[1], queries.f32_nb2 = t.nb[2];
    return a;
}

inline head_numbers head_numbers_at(const float* first, const head_places& at) {
    return {first, at.nb1, at.nb2, static_cast<std::int32_t>(at.abreast)};
}

inline heads_args delta_arguments(const graph_view& view, const delta_rule& d, addresses& at) {
    heads_args a;
    delta_args& r = a.recalled;
    r.queries = at.floats(d.queries);
    r.queries_nb1 = d.queries_at.nb1, r.queries_nb2 = d.queries_at.nb2;
    r.keys = at.floats(d.keys);
    r.keys_nb1 = d.keys_at.nb1, r.keys_nb2 = d.keys_at.nb2;
    r.values = at.floats(d.values);
    r.values_nb1 = d.values_at.nb1, r.values_nb2 = d.values_at.nb2;
    r.decay = head_numbers_at(at.floats(d.decay), d.decay_at);
    r.decay_factor = at.floats(d.decay_factor);
    r.decay_bias = at.floats(d.decay_bias);
    r.beta = head_numbers_at(at.floats(d.beta), d.beta_at);
    r.state = at.floats(d.state);
    r.state_ids = reinterpret_cast<const std::int32_t*>(at.of(d.state_ids));
    if (d.keep >= 0) r.next_state = at.floats(view.nodes[d.keep]);
    r.key_heads = static_cast<std::int32_t>(d.key_heads);
    r.states = static_cast<std::int32_t>(d.states);
    r.sequences = static_cast<std::int32_t>(d.sequences);
    r.by_value = d.by_value;
    r.logit = d.sigmoid >= 0;
    r.neighbors = d.neighbors;
    head_member& m = a.member[a.members++];
    m.k = static_cast<std::int32_t>(d.k);
    m.heads = static_cast<std::int32_t>(d.heads);
    m.scale = 1 / std::sqrt(static_cast<float>(d.k));
    m.f32 = at.floats(view.nodes[d.rule]);
    m.f32_nb1 = 4 * d.k, m.f32_nb2 = 4 * d.k * d.heads;
    a.tokens = static_cast<std::int32_t>(d.all_tokens());
    a.rows = m.heads * (m.k / values_of_warp) * r.sequences;
    return a;
}

inline heads_args scan_arguments(const graph_view& view, const state_scan& s, addresses& at) {
    heads_args a;
    scan_args& by = a.scanned;
    by.x = at.floats(s.x), by.x_nb = s.x_nb;
    by.dt = at.floats(s.dt), by.dt_nb = s.dt_nb;
    by.dt_bias = at.floats(s.dt_bias);
    by.a = at.floats(s.a);
    by.b = at.floats(s.b), by.b_nb = s.b_nb;
    by.c = at.floats(s.c), by.c_nb = s.c_nb;
    by.d = at.floats(s.d);
    by.z = at.floats(s.z), by.z_nb = s.z_nb;
    by.state = at.floats(s.state);
    by.state_ids = reinterpret_cast<const std::int32_t*>(at.of(s.state_ids));
    if (s.keep >= 0) by.next_state = at.floats(view.nodes[s.keep]);
    by.size = static_cast<std::int32_t>(s.size);
    by.groups = static_cast<std::int32_t>(s.groups);
    by.states = static_cast<std::int32_t>(s.states);
    by.sequences = static_cast<std::int32_t>(s.sequences);
    head_member& m = a.member[a.members++];
    m.k = static_cast<std::int32_t>(s.k);
    m.heads = static_cast<std::int32_t>(s.heads);
    m.f32 = at.floats(view.nodes[s.made_by()]);
    m.f32_nb1 = 4 * s.k, m.f32_nb2 = 4 * s.k * s.heads;
    a.tokens = static_cast<std::int32_t>(s.all_tokens());
    a.rows = m.heads * (m.k / values_of_warp) * by.sequences;
    return a;
}

/// Heads that are the results of matrices, in the order of these, which write f32 themselves.
inline heads_args turned_arguments(const graph_view& view, std::vector<head_chain> by_matrix,
                                   addresses& at) {
    for (head_chain& h : by_matrix) h.x = no_tensor, h.at = {}, h.written = false;
    return head_arguments(view, by_matrix, convolution{}, at);
}

/// Lets a step cover the nodes of a convolution. The block that reads channels of states is the one
/// that replaces them, whichever states these are. A CPY reads nothing of where it writes.
inline void cover_convolution(const graph_index& g, const convolution& by, trial_step& trial) {
    std::int32_t before[convolution::most_nodes];
    std::int32_t* end = before;
    by.each_node([&](std::int32_t n) {
        covered_node c{n, true, fed_by(g, n, array_view<std::int32_t>{before, end})};
        if (n == by.keep) c.elided = false, c.internal |= 1u << 1;
        if (n == by.made_by()) c.elided = !by.written;
        if (by.keep >= 0 && n == (by.pick >= 0 ? by.pick : by.join))
            c.by_part = 1u << 0, c.part_bytes = 4 * by.state_size(), c.into = g.view.nodes[by.keep];
        trial.nodes.push_back(c);
        *end++ = n;
    });
}

/// Lets a step cover the nodes of what makes heads of states, the delta rule or a scan; `made_by`:
/// the node whose result these are. Source `slot` of node `reader` has the states. The block that
/// reads rows of states is the one that replaces them, whichever states these are. A CPY reads
/// nothing of where it writes.
template <class Made>
void cover_states(const graph_index& g, const Made& by, std::int32_t made_by, std::int32_t reader,
                  int slot, trial_step& trial) {
    std::int32_t before[Made::most_nodes];
    std::int32_t* end = before;
    by.each_node([&](std::int32_t n) {
        covered_node c{n, n != made_by && n != by.keep,
                       fed_by(g, n, array_view<std::int32_t>{before, end})};
        if (n == by.keep) c.internal |= 1u << 1;
        if (n == reader && by.keep >= 0)
            c.by_part = 1u << slot, c.part_bytes = 4 * by.state_size(),
            c.into = g.view.nodes[by.keep];
        trial.nodes.push_back(c);
        *end++ = n;
    });
    std::sort(trial.nodes.begin(), trial.nodes.end(),
              [](const covered_node& a, const covered_node& b) { return a.node < b.node; });
}
inline void cover_delta_rule(const graph_index& g, const delta_rule& d, trial_step& trial) {
    const bool picks = d.pick >= 0;
    cover_states(g, d, d.rule, picks ? d.pick : d.rule, picks ? 0 : 5, trial);
}
inline void cover_scan(const graph_index& g, const state_scan& s, trial_step& trial) {
    cover_states(g, s, s.made_by(), s.scan, 0, trial);
}

/// Lets a step cover the nodes of one value, which node `before` of the step makes; -1: it is
/// there. `beside`: the node of the step that makes the value behind it in a CONCAT, or -1. A
/// SET_ROWS reads nothing of the cache that it writes into. A CONCAT's rows are longer than those
/// that it reads, so that it is not written over them. All warps of a token read what it norms,
/// which has not the shape of heads, so that none of these is written over it.
inline void cover_head(const graph_index& g, const head_chain& h, std::int32_t before,
                       trial_step& trial, std::int32_t beside = -1) {
    constexpr unsigned cache = 1u << 2;
    h.each_node([&](std::int32_t n) {
        unsigned internal = before < 0 ? 0 : fed_by(g, n, before);
        if (n == h.join && beside >= 0) internal |= fed_by(g, n, beside);
        if (n == h.store) internal |= cache;
        const bool written = n == h.store || (n == h.made_by() && h.written);
        const bool moves = n == h.store || n == h.join;
        trial.nodes.push_back({n, !written, internal, moves ? 0 : ~0u});
        before = n;
    });
}

/// Lets a step cover the nodes of heads.
inline void cover_heads(const graph_index& g, const std::vector<head_chain>& all,
                        const convolution& by, trial_step& trial) {
    if (by.found()) cover_convolution(g, by, trial);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool front = all[i].join >= 0 && !all[i].joins_front();
        const std::int32_t beside = front ? all[i + 1].heads_by() : -1;
        cover_head(g, all[i], by.found() ? by.made_by() : -1, trial, beside);
    }
    std::sort(trial.nodes.begin(), trial.nodes.end(),
              [](const covered_node& a, const covered_node& b) { return a.node < b.node; });
}

/// Lets a step cover attention, where it is, with the nodes of its heads. Its blocks read only what
/// they have stored themselves of what the step stores. All rows that they read lie in the caches
/// that the step writes: who meets these reads meets the write, too.
inline void cover_attention(const graph_index& g, const match& m, trial_step& trial) {
    constexpr unsigned queries = 1u << 0, caches = 1u << 1 | 1u << 2;
    for (const head_chain& h : m.values) cover_head(g, h, -1, trial);
    trial.nodes.push_back({m.node, !m.f32_needed, queries | caches});
    trial.from = std::max(trial.from, m.node);
    std::sort(trial.nodes.begin(), trial.nodes.end(),
              [](const covered_node& a, const covered_node& b) { return a.node < b.node; });
}

}  // namespace CATENA_NAMESPACE
