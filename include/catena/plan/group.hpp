// Groups: the readers of a place are dealt to launches, with as much of what follows each matmul as
// is legal.
#pragma once

#include "catena/match/epilogue.hpp"
#include "catena/plan/draft.hpp"
#include "catena/plan/readers.hpp"
#include "catena/plan/trial.hpp"
#include "catena/plan/weigh.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace catena {

/// A value that an output of the step being tried quantizes, and its readers.
struct made_value {
    std::int32_t output;
    match value;
};

/// Which readers of a match are in the launch that computes its activation, and what that launch
/// writes for other readers.
struct inside_scope {
    bool norm = false;     ///< the activation is a norm, not a value that is quantized
    bool numbers = false;  ///< float weights read the norm, and are held
    format_set weights;    ///< of the matvecs that make their activation
    format_set written;

    bool holds(const reader& r) const {
        return numbers ? r.servable() && r.numbers() && !r.expert && weights.has(r.weight)
                       : r.quantized();
    }
    void make(problem& p) const {
        if (norm)
            p.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight, p.needs.emits = written;
        else
            p.needs.activation = format::f32;
    }
};

class grouper {
  public:
    grouper(draft& drafted, const premises& known, choices& rows, reader_judge& judge,
            slot_sums& sums)
        : g_(drafted.g),
          view_(g_.view),
          known_(known),
          draft_(drafted),
          choices_(rows),
          judge_(judge),
          sums_(sums),
          weigh_(g_, rows) {}

    /// Deals the readers of a place to steps.
    inline void group(const family& f, std::int32_t place);

    /// Makes an activation and its readers one step and takes the match, if that is legal and takes
    /// less time. Else it says why not and changes nothing. `f32_by_others`: somebody reads the f32
    /// that the step writes.
    inline finding fuse_inside(const family& f, match& m, bool f32_by_others);

  private:
    const graph_index& g_;
    const graph_view& view_;
    const premises& known_;
    draft& draft_;
    choices& choices_;
    reader_judge& judge_;
    slot_sums& sums_;
    weigher weigh_;
    std::vector<output> waiting_;  // for a launch: those of the innermost group last
    std::vector<reader*> mates_;   // scratch: readers that one launch could hold, formats aside

    static constexpr std::int32_t joined = -1, unserved = -2;  ///< or the node that forbids it

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    inline format_set largest_set() const;
    inline void wait(const pattern& chain, reader* first, reader* end);
    inline bool gated_later(const epilogue_matcher& follow, const output& o) const;
    inline bool read_as_copy(std::int32_t value) const;
    inline std::optional<match> quantized(const family& f, skeleton maker, const output& o);
    inline step& begin_group(std::int32_t place, std::int32_t matmul);
    inline void open_step(const family& f, std::int32_t place, std::size_t first);
    inline bool fill_step(const family& f, step& s, std::size_t first,
                          std::vector<made_value>& values);
    inline bool open_with(const family& f, step& s, const output& o, bool alone,
                          std::vector<made_value>& values);
    inline bool join_with(const family& f, step& s, const output& o,
                          std::vector<made_value>& values);
    inline void take_value(std::optional<match>& value, std::vector<made_value>& values);
    inline void close_step(const family& f, std::vector<made_value>& values);
    inline std::int32_t cover(const step& s, const output& o);
    inline std::int32_t join(step& s, const output& o, const match* value);
    inline std::int32_t join_covered(step& s, const output& o, const match* value,
                                     std::size_t first);
    inline bool open(step& s, const output& o, std::optional<match>& value,
                     const output* apart = nullptr);

    // Activations made in the launch of their readers: plan/inside.hpp.
    inline finding inside_fits(const match& m, const inside_scope& scope) const;
    inline bool try_inside(const family& f, std::int32_t place, const inside_scope& scope,
                           std::vector<made_value>& values);
    inline bool copies_inside(const match& m) const;
    inline bool writes_f32(match& m, step& s);
};

/// Deals readers by kind (dense, one set of expert ids, or both with one token), then by the listed
/// set of formats that holds most of them, then by what is legal at the first member's position.
inline void grouper::group(const family& f, std::int32_t place) {
    std::vector<reader>& all = draft_.places[at(place)].found.readers;
    reader* const end = all.data() + all.size();  // stays where it is when there are more places
    for (reader* r = all.data(); r != end; ++r) {
        if (r->dealt || !r->servable()) continue;
        const std::size_t first = waiting_.size();
        wait(f.common, r, end);
        while (waiting_.size() > first) open_step(f, place, first);
    }
}

/// The format set of the table's rows that holds most of the readers that could run with the first.
/// Among equals it is the first in the table.
inline format_set grouper::largest_set() const {
    const reader& first = *mates_.front();
    format_set best;
    std::ptrdiff_t most = 0;
    for (const row_run& run : known_.rows.groups_of(first.weight)) {
        const computation& c = run.computes;
        if (c.kind != first.served_by || c.activation != first.layout || has_norm(c.stages))
            continue;
        const std::ptrdiff_t n = std::count_if(mates_.begin(), mates_.end(), [&c](const reader* r) {
            return c.weights.has(r->weight);
        });
        if (n > most) best = c.weights, most = n;
        if (most == static_cast<std::ptrdiff_t>(mates_.size())) break;
    }
    return best;
}

/// Takes the readers near the first that run with it, each with what follows it; two that one GLU
/// gates are one output.
inline void grouper::wait(const pattern& chain, reader* first, reader* end) {
    const epilogue_matcher follow(sums_, chain.epilogue);
    mates_.clear();
    mates_.push_back(first);
    const reader* picked = first->expert ? first : nullptr;  // whose ids the launch has
    reader* const until = end - first > readers_together ? first + readers_together : end;
    for (reader* r = first + 1; r != until; ++r) {
        if (r->dealt || !r->servable() || !one_launch(view_, *first, *r)) continue;
        if (picked != nullptr && !one_launch(view_, *picked, *r)) continue;
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
        const auto up =
            std::find_if(waiting_.begin() + static_cast<std::ptrdiff_t>(i) + 1, waiting_.end(),
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
        use next = g_.only_reader(o->result);
        const bool function = next.node >= 0 && g_.kind(next.node) == op::unary;
        if (function && !gated_later(follow, *o) && follow.activate(*o))
            next = g_.only_reader(o->result);
        const bool left = next.node >= 0 && !draft_.covered(next.node);  // by another matmul
        if (left) follow.add_residual(*o);
    }
}

/// Is there a MUL that a row step does together with the function of `o`: of a value on its way to
/// matmuls, or to what experts made?
inline bool grouper::gated_later(const epilogue_matcher& follow, const output& o) const {
    const std::int32_t node = follow.gate_of(o);
    if (node < 0 || g_.kind(node) != op::mul) return false;
    if (follow.before_combination(node)) return true;
    if (!read_as_copy(view_.nodes[node])) return false;
    const gated v = gated_at(g_, node);
    return v.why.fits() && v.unary >= 0 && g_.root(view_.node(v.unary).src[0]) == o.result;
}

/// Is the value the activation of a matmul that may read a quantized or rounded copy of it?
inline bool grouper::read_as_copy(std::int32_t value) const {
    const range<use> readers = g_.readers(g_.root(value));
    return std::any_of(readers.begin(), readers.end(), [this](const use& u) {
        return is_matmul(view_.node(u.node).kind) && u.slot == 1 &&
               (info(weight_type(view_, u.node)).role == format_role::weight ||
                warpgroup_layout(weight_type(view_, u.node)) != format::unknown);
    });
}

/// The readers of an output, if the skeleton that makes it can quantize it for all that are served:
/// a matvec as q8_1, a matmul for matmuls, whose layouts depend on the rows.
inline std::optional<match> grouper::quantized(const family& f, skeleton maker, const output& o) {
    const tensor& result = view_.at(o.result);
    if (!f.common.epilogue.has(epilogue_part::quantize) || o.renamed || result.ne[0] % 32 != 0 ||
        !read_as_copy(o.result))
        return std::nullopt;
    match m = matcher(g_, f.common).at_value(o.result);
    if (!m.found()) return std::nullopt;
    const bool tiled = maker == skeleton::matmul;
    const format_set writes = tiled ? format_set::of(format::q8_1_mmq_d4) | format::q8_1_mmq_ds4 |
                                          format::bf16_mma | format::f16_mma
                                    : format_set::of(format::q8_1);
    left_over ignored;
    for (reader& r : m.readers) {
        judge_.judge(f.common, m, r, ignored);
        if (r.servable() && r.numbers()) r.left.why = reason::no_row;  // they read f32
        if (r.servable() && !writes.has(r.layout)) return std::nullopt;
        m.f32_needed = m.f32_needed || !r.servable();
    }
    judge_.agree(f.common, m);
    const bool row =
        m.quant_k == result.ne[0] ||
        (!tiled && m.whole_blocks && stored_elements(format::q8_1, result.ne[0]) == result.ne[0]);
    if (!row || m.servable() == 0 || m.stream != view_.node(o.matmul).stream) return std::nullopt;
    return m;
}

/// Lets the step that is tried cover an output. Returns -1, or the node that another step covers
/// already; then it covers nothing.
inline std::int32_t grouper::cover(const step& s, const output& o) {
    for (const std::int32_t n : o.nodes)  // an ADD of two matmuls follows both
        if (draft_.covered(n) || draft_.trial.has(n)) return n;
    for (const std::int32_t n : o.nodes) {
        const tensor& t = view_.node(n);
        covered_node c{n, view_.nodes[n] != o.result, 0, 0};
        if (is_matmul(t.kind)) {
            const bool lies = s.what.needs.activation == format::f32 && !makes_norm(s.what) &&
                              !copies_inside(draft_.places[at(s.chain)].found);
            c.internal = lies ? 0u : 2u;  // source 1 comes from the workspace, or is made inside
        } else {
            c.internal = fed_by(g_, n, {o.nodes.begin(), o.nodes.end()});
            for (int slot = 0; slot < 2; ++slot)
                if (o.residual != no_tensor && t.src[slot] == o.residual)
                    c.by_element |= 1u << slot;
        }
        draft_.trial.nodes.push_back(c);
    }
    return -1;
}

/// Adds an output to the step that is tried. `value`: the output's readers, if it is quantized too.
/// Returns `joined`, the node that forbids it, or `unserved` if no row serves them together.
inline std::int32_t grouper::join(step& s, const output& o, const match* value) {
    const bool alone = o.parts.has(epilogue_part::combine) || combined(s.what);
    if (alone && s.what.member_count > 0) return unserved;
    const std::size_t before = draft_.trial.nodes.size();
    std::int32_t result = cover(s, o);
    if (result >= 0) return result;
    result = join_covered(s, o, value, before);
    if (result != joined) draft_.trial.nodes.resize(before);
    return result;
}

/// Does what join does, for an output that the step covers already, by its nodes from `first` on.
inline std::int32_t grouper::join_covered(step& s, const output& o, const match* value,
                                          std::size_t first) {
    if (value != nullptr) {  // from the workspace: no conflict in memory tells who reads too early
        for (const reader& r : value->readers)
            if (r.servable() && r.node < draft_.trial.launch_at) return r.node;
        if (draft_.trial.launch_at < draft_.slot_of(*value).from) return draft_.trial.launch_at;
    }
    const bool written = value == nullptr || value->f32_needed;
    for (std::size_t i = first; i < draft_.trial.nodes.size(); ++i) {
        covered_node& c = draft_.trial.nodes[i];
        if (view_.nodes[c.node] == o.result) c.elided = !written;
    }
    const std::size_t unproved = s.what.member_count == 0 ? 0 : first;
    if (const std::int32_t v = draft_.blocker(unproved); v >= 0) return v;
    problem& what = s.what;
    const computation needs = what.needs;
    const int alignment = what.alignment;
    add_member(view_, what, o, value != nullptr, written);
    const picked& found = choices_.pick(what);
    if (found.row < 0) {
        what.needs = needs;
        what.alignment = alignment;
        what.member[--what.member_count] = {};
        return unserved;
    }
    run_by(s, found);
    draft_.outputs.emplace_back(o);
    return joined;
}

/// Opens the step that is tried with an output, at its first node or at its last; a sum of slots
/// stands before its ADDs. The output is quantized too if that is possible. `apart`: the output
/// without that sum, which must take longer. False: no position is legal.
inline bool grouper::open(step& s, const output& o, std::optional<match>& value,
                          const output* apart) {
    const std::size_t before = draft_.trial.nodes.size();
    if (cover(s, o) >= 0) return false;
    const auto opened = [&] {
        if (apart != nullptr && (draft_.accepted.meets_itself(draft_.trial) ||
                                 !weigh_.combining_pays(s.what, *apart, o)))
            return false;
        const auto [first, last] = std::minmax_element(o.nodes.begin(), o.nodes.end());
        for (const std::int32_t position : {*first, o.latest >= 0 ? o.latest : *last}) {
            draft_.trial.launch_at = position;
            if (value && join_covered(s, o, &*value, before) == joined) return true;
            if (join_covered(s, o, nullptr, before) != joined) continue;
            value.reset();
            return true;
        }
        return false;
    };
    if (opened()) return true;
    draft_.trial.nodes.resize(before);
    return false;
}

/// Tries a step of a place's readers, without outputs yet, for the matmul at a node and others like
/// it.
inline step& grouper::begin_group(std::int32_t place, std::int32_t matmul) {
    const std::vector<reader>& all = draft_.places[at(place)].found.readers;
    const reader& r =  // readers stand in node order
        *std::lower_bound(all.begin(), all.end(), matmul,
                          [](const reader& o, std::int32_t node) { return o.node < node; });
    step& s = draft_.begin(false);
    s.chain = place;
    start_group(view_, s.what, r.served_by, r.layout, r.node);
    if (r.quantized()) draft_.reads(draft_.places[at(place)].found);
    return s;
}

/// Makes one launch of the output that waits at `first` and every later one that may join it there.
inline void grouper::open_step(const family& f, std::int32_t place, std::size_t first) {
    step& s = begin_group(place, waiting_[first].matmul);
    std::vector<made_value> values;
    if (fill_step(f, s, first, values))
        close_step(f, values);
    else
        draft_.abandon();
}

/// Opens the step that is tried with an output: with the sum over its slots, if it is `alone`, or
/// as it is. False: no position is legal.
inline bool grouper::open_with(const family& f, step& s, const output& o, bool alone,
                               std::vector<made_value>& values) {
    std::optional<match> value;
    if (alone) {
        const epilogue_matcher follow(sums_, f.common.epilogue);
        if (output sum = o; follow.combine(sum) && open(s, sum, value, &o)) return true;
    }
    value = quantized(f, s.what.needs.kind, o);
    if (!open(s, o, value)) return false;
    take_value(value, values);
    return true;
}

/// Joins an output to the step that is tried if it can be there, without what follows its matmul if
/// that is what forbids it.
inline bool grouper::join_with(const family& f, step& s, const output& o,
                               std::vector<made_value>& values) {
    std::optional<match> value = quantized(f, s.what.needs.kind, o);
    std::int32_t blocked = join(s, o, value ? &*value : nullptr);
    if (blocked != joined && value) {
        value.reset();
        blocked = join(s, o, nullptr);
    }
    if (blocked != joined && o.nodes.size() > 1 && o.up < 0 && !o.halves()) {
        const std::int32_t by = blocked;
        blocked = join(s, plain_output(view_, o.matmul), nullptr);
        if (blocked == joined) draft_.leave({o.matmul, reason::epilogue_apart, by});
    }
    if (blocked == joined)
        take_value(value, values);
    else if (blocked != unserved)
        draft_.leave({o.matmul, reason::group_split, blocked});
    return blocked == joined;
}

/// Keeps the readers of the step's last output, if it is quantized for any.
inline void grouper::take_value(std::optional<match>& value, std::vector<made_value>& values) {
    if (value)
        values.push_back({static_cast<std::int32_t>(draft_.outputs.size()) - 1, std::move(*value)});
}

/// Gives the step that is tried the output that waits at `first` and those behind it that may join.
/// `values`: those that it quantizes. Others wait on. False: no position is legal for the first.
inline bool grouper::fill_step(const family& f, step& s, std::size_t first,
                               std::vector<made_value>& values) {
    const output& lead = waiting_[first];
    bool opened = open_with(f, s, lead, waiting_.size() == first + 1, values);
    std::size_t kept = first, next = first + 1;
    if (!opened) {
        draft_.leave({lead.matmul, reason::epilogue_apart, lead.matmul});
        opened = open_with(f, s, plain_output(view_, lead.matmul), false, values);
        if (lead.up >= 0) waiting_[--next] = plain_output(view_, lead.up);
    }
    for (; next < waiting_.size(); ++next) {
        const bool room = opened && s.what.member_count < max_members;
        if (room && join_with(f, s, waiting_[next], values)) continue;
        if (kept != next) waiting_[kept] = waiting_[next];
        ++kept;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(kept), waiting_.end());
    return opened;
}

/// Accepts the step that is tried, and groups the readers of what it quantizes.
inline void grouper::close_step(const family& f, std::vector<made_value>& values) {
    const std::int32_t index = draft_.accept();
    for (std::size_t o = at(draft_.first_output.back()); o < draft_.outputs.size(); ++o)
        draft_.leave(unaligned_behind(g_, draft_.outputs[o].what));
    for (made_value& m : values) {
        const std::int32_t p =
            draft_.add_place(choices_.chain_of(f, m.value), std::move(m.value), index);
        draft_.outputs[at(m.output)].makes = p;
        group(f, p);
    }
}

}  // namespace catena

#include "catena/plan/inside.hpp"
