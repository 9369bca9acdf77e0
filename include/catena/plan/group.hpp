// Groups: the readers of a place are dealt to launches, with as much of what follows each matmul as
// is legal.
#pragma once

#include "catena/plan/build.hpp"

#include <optional>

namespace catena {

/// An output that is tried in a step, and the place that its value becomes if it is quantized too.
struct plan_builder::attempt {
    output what;
    bool quantized = false;
    std::optional<match> value;  ///< the readers of the result, if it can be quantized
    bool written() const { return !quantized || value->f32_needed; }
};

/// By kind (dense, or one set of expert ids), then by the listed set of formats that holds most,
/// then by what is legal at the first member's position.
inline void plan_builder::group(const family& f, std::int32_t place) {
    std::vector<reader> left;
    left.reserve(places_[at(place)].found.readers.size());
    for (const reader& r : places_[at(place)].found.readers)
        if (r.servable()) left.push_back(r);
    while (!left.empty()) {
        const format_set set = largest_set(left);
        const reader first = left.front();
        std::vector<std::int32_t> matmuls;
        matmuls.reserve(left.size());
        const auto taken = [&](const reader& r) {
            const bool now = one_launch(first, r) && set.has(weight_type(r.node));
            if (now) matmuls.push_back(r.node);
            return now;
        };
        left.erase(std::remove_if(left.begin(), left.end(), taken), left.end());
        std::vector<output> outputs = outputs_of(f.common, matmuls);
        while (!outputs.empty()) open_step(f, place, outputs);
    }
}

/// Could one launch hold both, formats aside?
inline bool plan_builder::one_launch(const reader& a, const reader& b) const {
    const tensor& s = view_.node(a.node);
    const tensor& t = view_.node(b.node);
    const tensor& x = view_.at(s.src[1]);
    const tensor& y = view_.at(t.src[1]);
    const bool ids = !a.expert || (s.src[2] == t.src[2] && x.ne[1] == y.ne[1]);
    return s.kind == t.kind && x.ne[0] == y.ne[0] && ids && a.layout == b.layout &&
           a.served_by == b.served_by;
}

/// The rows' format set that holds most of the matrices that could run with the first; of equals
/// the first in the table.
inline format_set plan_builder::largest_set(const std::vector<reader>& readers) const {
    format_set best;
    std::ptrdiff_t most = 0;
    for (const listed_set& s : sets_) {
        if (s.kind != readers.front().served_by || s.activation != readers.front().layout) continue;
        if (!s.weights.has(weight_type(readers.front().node))) continue;
        const std::ptrdiff_t n = std::count_if(readers.begin(), readers.end(), [&](const reader& r) {
            return s.weights.has(weight_type(r.node)) && one_launch(readers.front(), r);
        });
        if (n > most) best = s.weights, most = n;
    }
    return best;
}

/// Every matmul with what follows it; two that one GLU gates are one output.
inline std::vector<output> plan_builder::outputs_of(
    const pattern& chain, const std::vector<std::int32_t>& matmuls) const {
    const epilogue_matcher follow(g_, chain.epilogue);
    std::vector<output> out;
    out.reserve(matmuls.size());
    for (const std::int32_t n : matmuls) out.push_back(follow.biased(n));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int32_t gate = follow.gate_of(out[i]);
        if (gate < 0 || follow.gate(out[i], out[i], gate)) continue;
        for (std::size_t j = i + 1; j < out.size(); ++j) {
            if (follow.gate_of(out[j]) != gate) continue;
            const bool first = follow.gate(out[i], out[j], gate);
            if (!first && !follow.gate(out[j], out[i], gate)) break;
            if (!first) out[i] = out[j];
            out.erase(out.begin() + static_cast<std::ptrdiff_t>(j));
            break;
        }
    }
    for (output& o : out) {
        follow.add_residual(o);
        const auto gone = [this](std::int32_t n) { return schedule_.covered(n); };
        if (std::any_of(o.nodes, o.nodes + o.node_count, gone)) o = follow.plain(o.matmul);
    }
    return out;
}

inline bool plan_builder::read_by_matmuls(std::int32_t value) const {
    const std::int32_t root = g_.root(value);
    return std::any_of(g_.readers_begin(root), g_.readers_end(root), [this](const use& u) {
        const op kind = view_.node(u.node).kind;
        return (kind == op::mul_mat || kind == op::mul_mat_id) && u.slot == 1 &&
               info(weight_type(u.node)).role == format_role::weight;
    });
}

/// The output, quantized as well if quantized matmuls read it.
inline plan_builder::attempt plan_builder::quantized(const family& f, const output& o) {
    attempt out;
    out.what = o;
    const tensor& result = view_.at(o.result);
    if (!f.common.epilogue.has(epilogue_part::quantize) || result.ne[0] % 32 != 0 ||
        !read_by_matmuls(o.result))
        return out;
    out.value = matcher(g_, f.common).at_value(o.result);
    match& m = *out.value;
    if (!m.found()) return out;
    left_over ignored;
    for (reader& r : m.readers) {
        judge(f.common, m, r, ignored);
        if (r.servable() && r.layout != format::q8_1) r.left.why = reason::no_row;
        m.f32_needed = m.f32_needed || !r.servable();
    }
    const bool row = m.quant_k == result.ne[0] ||
                     (m.whole_blocks && stored_elements(format::q8_1, result.ne[0]) == result.ne[0]);
    out.quantized = row && m.servable() > 0 && m.stream == view_.node(o.matmul).stream;
    return out;
}

/// Adds an output to a step that is open. `joined`, the node that forbids it, or `unserved`: no row
/// serves them together.
inline std::int32_t plan_builder::join(move& step, draft& d, const attempt& a) {
    const output& o = a.what;
    const std::size_t before = step.nodes.size();
    for (int i = 0; i < o.node_count; ++i)  // an ADD of two matmuls follows both
        if (schedule_.covered(o.nodes[i]) || step.has(o.nodes[i])) return o.nodes[i];
    for (int i = 0; i < o.node_count; ++i) {
        const std::int32_t n = o.nodes[i];
        const tensor& t = view_.node(n);
        const bool result = view_.nodes[n] == o.result;
        covered_node c{n, !result || !a.written(), 0, 0};
        if (t.kind == op::mul_mat || t.kind == op::mul_mat_id) {
            c.internal = 2u;  // source 1 comes from the workspace
        } else {
            for (int j = 0; j < o.node_count; ++j) c.internal |= fed_by(n, o.nodes[j]);
            for (int s = 0; s < 2; ++s)
                if (o.residual != no_tensor && t.src[s] == o.residual) c.by_element |= 1u << s;
        }
        step.nodes.push_back(c);
    }
    const auto undo = [&step, before] { step.nodes.resize(before); };
    if (const std::int32_t v = schedule_.blocker(step, before); v >= 0) {
        undo();
        return v;
    }
    const computation needs = d.what.needs;
    const int alignment = d.what.alignment;
    add_member(view_, d.what, o, a.quantized, a.written());
    const picked& pick = picks_.pick(d.what);
    if (pick.row < 0) {
        undo();
        d.what.needs = needs;
        d.what.alignment = alignment;
        d.what.member[--d.what.member_count] = {};
        return unserved;
    }
    d.pick = pick;
    d.outputs.push_back({o, -1});
    return joined;
}

/// Opens a step with an output, at its first node or at its last. False: it can be nowhere.
inline bool plan_builder::open(move& step, draft& d, attempt& a) {
    const output& o = a.what;
    const bool can_quantize = a.quantized;
    const auto [first, last] = std::minmax_element(o.nodes, o.nodes + o.node_count);
    for (const std::int32_t position : {*first, *last}) {
        for (const bool quantize : {true, false}) {
            if (quantize && !can_quantize) continue;
            a.quantized = quantize;
            step.launch_at = position;
            if (join(step, d, a) == joined) return true;
        }
    }
    return false;
}

/// One launch: the first of `left`, and every other that may join it where it stands. Takes them
/// out of `left`.
inline void plan_builder::open_step(const family& f, std::int32_t place,
                                    std::vector<output>& left) {
    const epilogue_matcher follow(g_, f.common.epilogue);
    const reader& lead = *std::find_if(
        places_[at(place)].found.readers.begin(), places_[at(place)].found.readers.end(),
        [&left](const reader& r) { return r.node == left.front().matmul; });
    move step;
    draft d;
    d.place = place;
    d.outputs.reserve(left.size());
    step.nodes.reserve(4 * left.size());
    start_group(view_, d.what, lead.served_by, lead.layout, lead.node);
    std::vector<attempt> taken;
    taken.reserve(left.size());
    const output first = left.front();
    left.erase(left.begin());
    taken.push_back(quantized(f, first));
    if (!open(step, d, taken[0])) {
        leave({first.matmul, reason::epilogue_apart, first.matmul});
        if (first.up >= 0) left.insert(left.begin(), follow.plain(first.up));
        taken[0] = quantized(f, follow.plain(first.matmul));
        if (!open(step, d, taken[0])) return;
    }
    for (auto o = left.begin(); o != left.end() && d.what.member_count < max_members;) {
        attempt a = quantized(f, *o);
        std::int32_t blocked = join(step, d, a);
        if (blocked != joined && a.quantized) {
            a.quantized = false;
            blocked = join(step, d, a);
        }
        if (blocked != joined && o->node_count > 1 && o->up < 0 && !o->halves()) {
            const std::int32_t by = blocked;
            a = {follow.plain(o->matmul), false, std::nullopt};
            blocked = join(step, d, a);
            if (blocked == joined) leave({o->matmul, reason::epilogue_apart, by});
        }
        if (blocked != joined) {
            if (blocked != unserved) leave({o->matmul, reason::group_split, blocked});
            ++o;
            continue;
        }
        taken.push_back(std::move(a));
        o = left.erase(o);
    }
    const std::int32_t index = accept(std::move(step), std::move(d));
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (!taken[i].quantized) continue;
        catena::place made;
        made.found = std::move(*taken[i].value);
        made.made_by = index;
        made.layouts = format_set::of(format::q8_1);
        const std::int32_t p = add_place(f, std::move(made));
        drafts_[at(index)].outputs[i].makes = p;
        group(f, p);
    }
}

}  // namespace catena
