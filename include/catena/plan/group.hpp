// Groups: the readers of a place are dealt to launches, with as much of what follows each matmul as
// is legal.
#pragma once

#include "catena/plan/build.hpp"

namespace catena {

/// By kind (dense, one set of expert ids, or both of one token), then by the listed set of formats
/// that holds most, then by what is legal at the first member's position.
inline void plan_builder::group(const family& f, std::int32_t place) {
    std::vector<reader>& all = places_[at(place)].found.readers;
    reader* const end = all.data() + all.size();  // stays where it is when there are more places
    for (reader* r = all.data(); r != end; ++r) {
        if (r->dealt || !r->servable()) continue;
        const std::size_t first = waiting_.size();
        wait(f.common, r, end);
        while (waiting_.size() > first) open_step(f, place, first);
    }
}

/// Could one launch hold both, formats aside? A matvec of one token has dense matrices beside its
/// experts.
inline bool plan_builder::one_launch(const reader& a, const reader& b) const {
    const tensor& s = view_.node(a.node);
    const tensor& t = view_.node(b.node);
    const tensor& x = view_.at(s.src[1]);
    const tensor& y = view_.at(t.src[1]);
    const bool kinds = a.expert != b.expert
                           ? a.served_by == skeleton::matvec && elements(x) == x.ne[0] &&
                                 elements(y) == y.ne[0]
                           : !a.expert || (s.src[2] == t.src[2] && x.ne[1] == y.ne[1]);
    return kinds && x.ne[0] == y.ne[0] && a.layout == b.layout && a.served_by == b.served_by;
}

/// The rows' format set that holds most of the readers that could run with the first; of equals the
/// first in the table.
inline format_set plan_builder::largest_set() const {
    const reader& first = *mates_.front();
    format_set best;
    std::ptrdiff_t most = 0;
    for (const row_run& run : known_.rows.groups_of(first.weight)) {
        const computation& c = run.computes;
        if (c.kind != first.served_by || c.activation != first.layout || is_norm(c.value)) continue;
        const std::ptrdiff_t n = std::count_if(mates_.begin(), mates_.end(), [&c](const reader* r) {
            return c.weights.has(r->weight);
        });
        if (n > most) best = c.weights, most = n;
        if (most == static_cast<std::ptrdiff_t>(mates_.size())) break;
    }
    return best;
}

/// Takes the readers that run with the first, each with what follows it; two that one GLU gates are
/// one output.
inline void plan_builder::wait(const pattern& chain, reader* first, reader* end) {
    const epilogue_matcher follow(sums_, chain.epilogue);
    mates_.clear();
    mates_.push_back(first);
    const reader* picked = first->expert ? first : nullptr;  // whose ids the launch has
    for (reader* r = first + 1; r != end; ++r) {
        if (r->dealt || !r->servable() || !one_launch(*first, *r)) continue;
        if (picked != nullptr && !one_launch(*picked, *r)) continue;
        if (picked == nullptr && r->expert) picked = r;
        mates_.push_back(r);
    }
    const format_set set = largest_set();
    const std::size_t mine = waiting_.size();
    for (const bool by_ids : {true, false})  // dense members stand behind the others
        for (reader* r : mates_) {
            if (r->expert != by_ids || !set.has(r->weight)) continue;
            r->dealt = true;
            waiting_.push_back(follow.biased(r->node));
        }
    for (std::size_t i = mine; i < waiting_.size(); ++i) {
        output& o = waiting_[i];
        const std::int32_t gate = follow.gate_of(o);
        if (gate < 0) continue;
        const auto up = std::find_if(
            waiting_.begin() + static_cast<std::ptrdiff_t>(i) + 1, waiting_.end(),
            [&](const output& other) { return follow.gate_of(other) == gate; });
        const bool alone = up == waiting_.end();
        if (alone && g_.kind(gate) != op::glu) continue;
        const gated value = gated_at(g_, gate);
        if (follow.gate(o, o, gate, value) || alone) continue;
        const bool first_gates = follow.gate(o, *up, gate, value);
        if (!first_gates && !follow.gate(*up, o, gate, value)) continue;
        if (!first_gates) o = *up;
        waiting_.erase(up);
    }
    for (auto o = waiting_.begin() + static_cast<std::ptrdiff_t>(mine); o != waiting_.end(); ++o) {
        output made = *o;
        if (follow.activate(made) && !gated_later(follow, *o)) *o = made;
        output sum = *o;  // of two matmuls the first that is planned takes the ADD
        if (follow.add_residual(sum) && !schedule_.covered(sum.nodes[sum.node_count - 1])) *o = sum;
    }
}

/// Is there a MUL that a row step does together with the function of `o`: of a value on its way to
/// matmuls, or to what experts made?
inline bool plan_builder::gated_later(const epilogue_matcher& follow, const output& o) const {
    const std::int32_t node = follow.gate_of(o);
    if (node < 0 || g_.kind(node) != op::mul) return false;
    if (follow.before_combination(node)) return true;
    if (!read_by_matmuls(view_.nodes[node])) return false;
    const gated v = gated_at(g_, node);
    return v.why.why == reason::none && v.unary >= 0 &&
           g_.root(view_.node(v.unary).src[0]) == o.result;
}

inline bool plan_builder::read_by_matmuls(std::int32_t value) const {
    const std::int32_t root = g_.root(value);
    return std::any_of(g_.readers_begin(root), g_.readers_end(root), [this](const use& u) {
        return is_matmul(view_.node(u.node).kind) && u.slot == 1 &&
               (info(weight_type(u.node)).role == format_role::weight ||
                warpgroup_layout(weight_type(u.node)) != format::unknown);
    });
}

/// The readers of an output, if the skeleton that makes it can quantize it for all that are served:
/// a matvec as q8_1, a matmul for matmuls, whose layouts depend on the rows.
inline std::optional<match> plan_builder::quantized(const family& f, skeleton maker,
                                                    const output& o) {
    const tensor& result = view_.at(o.result);
    if (!f.common.epilogue.has(epilogue_part::quantize) || o.renamed || result.ne[0] % 32 != 0 ||
        !read_by_matmuls(o.result))
        return std::nullopt;
    match m = matcher(g_, f.common).at_value(o.result);
    if (!m.found()) return std::nullopt;
    const bool tiled = maker == skeleton::matmul;
    const format_set writes =
        tiled ? format_set::of(format::q8_1_mmq_d4) | format::q8_1_mmq_ds4 | format::bf16_mma |
                    format::f16_mma
              : format_set::of(format::q8_1);
    left_over ignored;
    for (reader& r : m.readers) {
        judge(f.common, m, r, ignored);
        if (r.servable() && r.numbers()) r.left.why = reason::no_row;  // they read f32
        if (r.servable() && !writes.has(r.layout)) return std::nullopt;
        m.f32_needed = m.f32_needed || !r.servable();
    }
    agree(f.common, m);
    const bool row = m.quant_k == result.ne[0] ||
                     (!tiled && m.whole_blocks &&
                      stored_elements(format::q8_1, result.ne[0]) == result.ne[0]);
    if (!row || m.servable() == 0 || m.stream != view_.node(o.matmul).stream) return std::nullopt;
    return m;
}

/// Adds an output to the step that is tried; `value`: its readers, if it is quantized too.
/// `joined`, the node that forbids it, or `unserved`: no row serves them together.
inline std::int32_t plan_builder::join(step& s, const output& o, const match* value) {
    const bool written = value == nullptr || value->f32_needed;
    const bool alone = o.parts.has(epilogue_part::combine) || combined(s.what);
    if (alone && s.what.member_count > 0) return unserved;
    const std::size_t before = trial_.nodes.size();
    for (int i = 0; i < o.node_count; ++i)  // an ADD of two matmuls follows both
        if (schedule_.covered(o.nodes[i]) || trial_.has(o.nodes[i])) return o.nodes[i];
    if (value != nullptr)  // from the workspace: no conflict in memory tells who reads too early
        for (const reader& r : value->readers)
            if (r.servable() && r.node < trial_.launch_at) return r.node;
    for (int i = 0; i < o.node_count; ++i) {
        const std::int32_t n = o.nodes[i];
        const tensor& t = view_.node(n);
        const bool result = view_.nodes[n] == o.result;
        covered_node c{n, !result || !written, 0, 0};
        if (is_matmul(t.kind)) {
            const bool lies = s.what.needs.activation == format::f32 && !makes_norm(s.what) &&
                              !copies_inside(places_[at(s.chain)].found);
            c.internal = lies ? 0u : 2u;  // source 1 comes from the workspace, or is made inside
        } else {
            for (int j = 0; j < o.node_count; ++j) c.internal |= fed_by(n, o.nodes[j]);
            for (int slot = 0; slot < 2; ++slot)
                if (o.residual != no_tensor && t.src[slot] == o.residual)
                    c.by_element |= 1u << slot;
        }
        trial_.nodes.push_back(c);
    }
    const std::size_t unproved = s.what.member_count == 0 ? 0 : before;
    if (const std::int32_t v = schedule_.blocker(trial_, unproved); v >= 0) {
        trial_.nodes.resize(before);
        return v;
    }
    problem& what = s.what;
    const computation needs = what.needs;
    const int alignment = what.alignment;
    add_member(view_, what, o, value != nullptr, written);
    const picked& found = pick(what);
    if (found.row < 0) {
        trial_.nodes.resize(before);
        what.needs = needs;
        what.alignment = alignment;
        what.member[--what.member_count] = {};
        return unserved;
    }
    run_by(s, found);
    outputs_.push_back({o, -1});
    return joined;
}

/// Opens the step that is tried with an output, at its first node or at its last (of a sum of slots,
/// before its ADDs), quantized too if that can be. False: it can be nowhere.
inline bool plan_builder::open(step& s, const output& o, std::optional<match>& value) {
    const auto [first, last] = std::minmax_element(o.nodes, o.nodes + o.node_count);
    for (const std::int32_t position : {*first, o.latest >= 0 ? o.latest : *last}) {
        trial_.launch_at = position;
        if (value && join(s, o, &*value) == joined) return true;
        if (join(s, o, nullptr) != joined) continue;
        value.reset();
        return true;
    }
    return false;
}

/// Tries a step of a place's readers, without outputs yet, for the matmul at a node and others like
/// it.
inline step& plan_builder::begin_group(std::int32_t place, std::int32_t matmul) {
    const std::vector<reader>& all = places_[at(place)].found.readers;
    const reader& r = *std::find_if(all.begin(), all.end(),
                                    [matmul](const reader& o) { return o.node == matmul; });
    step& s = begin_trial(false);
    s.chain = place;
    start_group(view_, s.what, r.served_by, r.layout, r.node);
    return s;
}

/// One launch: the output that waits at `first`, and every other behind it that may join it where
/// it stands.
inline void plan_builder::open_step(const family& f, std::int32_t place, std::size_t first) {
    step& s = begin_group(place, waiting_[first].matmul);
    std::vector<made_value> values;
    if (fill_step(f, s, first, values))
        close_step(f, values);
    else
        abandon();
}

/// Gives the step that is tried its outputs; `values`: those that it quantizes. False: the first
/// can be nowhere.
inline bool plan_builder::fill_step(const family& f, step& s, std::size_t first,
                                    std::vector<made_value>& values) {
    const epilogue_matcher follow(sums_, f.common.epilogue);
    const auto place_in_line = waiting_.begin() + static_cast<std::ptrdiff_t>(first);
    const output lead = *place_in_line;
    waiting_.erase(place_in_line);
    const skeleton kind = s.what.needs.kind;
    const auto joined_with = [&](std::optional<match>& value) {
        if (value)
            values.push_back({static_cast<std::int32_t>(outputs_.size()) - 1, std::move(*value)});
    };
    std::optional<match> value;
    if (output sum = lead; waiting_.size() == first && follow.combine(sum) &&
                           combining_pays(s.what, lead, sum) && open(s, sum, value))
        return true;
    value = quantized(f, kind, lead);
    if (!open(s, lead, value)) {
        leave({lead.matmul, reason::epilogue_apart, lead.matmul});
        if (lead.up >= 0)
            waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(first),
                            plain_output(view_, lead.up));
        const output bare = plain_output(view_, lead.matmul);
        value = quantized(f, kind, bare);
        if (!open(s, bare, value)) return false;
    }
    joined_with(value);
    for (std::size_t i = first; i < waiting_.size() && s.what.member_count < max_members;) {
        const output& o = waiting_[i];
        value = quantized(f, kind, o);
        std::int32_t blocked = join(s, o, value ? &*value : nullptr);
        if (blocked != joined && value) {
            value.reset();
            blocked = join(s, o, nullptr);
        }
        if (blocked != joined && o.node_count > 1 && o.up < 0 && !o.halves()) {
            const std::int32_t by = blocked;
            blocked = join(s, plain_output(view_, o.matmul), nullptr);
            if (blocked == joined) leave({o.matmul, reason::epilogue_apart, by});
        }
        if (blocked != joined) {
            if (blocked != unserved) leave({o.matmul, reason::group_split, blocked});
            ++i;
            continue;
        }
        joined_with(value);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return true;
}

/// Accepts the step that is tried, and groups the readers of what it quantizes.
inline void plan_builder::close_step(const family& f, std::vector<made_value>& values) {
    const std::int32_t index = accept();
    for (made_value& m : values) {
        const std::int32_t p = add_place(f, std::move(m.value), index);
        outputs_[at(m.output)].makes = p;
        group(f, p);
    }
}

}  // namespace catena
