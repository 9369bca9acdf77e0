// A launch of a value's readers while it is tried: one output opens it where it may stand, and
// others join it there.
#pragma once

#include "catena/plan/detail/draft/norm_beginner.hpp"
#include "catena/plan/detail/draft/outputs.hpp"
#include "catena/plan/detail/draft/quantizing_readers.hpp"
#include "catena/plan/detail/find/weigh.hpp"
#include "catena/plan/detail/order/trial.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// A value that an output of a step quantizes, with its readers and the family that lists them: the
/// output itself, or a norm of it that the step begins.
struct made_value {
    std::int32_t output = -1;
    const family* of;
    match value;
    bool begins = false;
};

class group_trial : drafter {
  public:
    group_trial(draft& drafted, output_finder& outputs, reader_judge& judge, weigher& weigh)
        : drafter(drafted),
          judge_(judge),
          weigh_(weigh),
          norms_(drafted, judge, weigh),
          readers_(drafted, outputs, weigh) {}

    /// Tries a step of an activation's readers, without outputs yet, for the matmul at a node and
    /// others like it.
    attempt begin(std::int32_t activation, std::int32_t matmul) {
        values_.clear();
        const shared_activation& read = draft_.activation(activation);
        const match& m = read.found;
        const reader& r =  // readers stand in node order
            *std::lower_bound(m.readers.begin(), m.readers.end(), matmul,
                              [](const reader& o, std::int32_t node) { return o.node < node; });
        attempt tried(draft_);
        tried.step().chain = activation;
        begin_group(tried.step().what.product(), view_, r.served_by, r.layout, r.node);
        tried.step().what.product().ends_norm = read.begun;
        if (r.quantized()) tried.reads(m);
        return tried;
    }

    /// Gives the step the first of the outputs and those behind it that may join. The others stay
    /// in `waiting`. False: no position is legal for the first.
    bool fill(const family& f, attempt& tried, std::vector<output>& waiting) {
        const output& lead = waiting.front();
        bool opened = open_with(f, tried, lead, waiting.size() == 1);
        std::size_t kept = 0, next = 1;
        if (!opened) {
            draft_.leave({lead.matmul, reason::epilogue_apart, lead.matmul});
            opened = open_with(f, tried, plain_output(view_, lead.matmul), false);
            if (lead.up >= 0) waiting[--next] = plain_output(view_, lead.up);
        }
        for (; next < waiting.size(); ++next) {
            const bool room = opened && tried.step().what.product().member_count < max_members;
            if (room && join_with(f, tried, waiting[next])) continue;
            if (kept != next) waiting[kept] = waiting[next];
            ++kept;
        }
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(kept), waiting.end());
        if (opened) run_by(tried.step(), choices_.pick(tried.step().what.product()));
        return opened;
    }

    /// Hands over the values that the step quantizes.
    std::vector<made_value> take_values() { return std::exchange(values_, {}); }

  private:
    reader_judge& judge_;
    weigher& weigh_;
    norm_beginner norms_;
    quantizing_readers readers_;
    std::vector<made_value> values_;

    /// The answers to a trial that are not the node which forbids it.
    static constexpr std::int32_t joined = -1, unserved = -2;

    /// Does the step read the source of a CONT in place of the CONT's result?
    bool reads_what_is_copied(attempt& tried) const {
        const match& m = draft_.activation(tried.step().chain).found;
        return m.copies() && tried.trial().has(m.node);
    }

    /// Opens the step that is tried with an output: with the sum over its slots, if it is `alone`,
    /// or as it is. False: no position is legal.
    bool open_with(const family& f, attempt& tried, const output& o, bool alone) {
        if (alone) {
            const epilogue_site site{sums_, f.common.epilogue,
                                     tried.step().what.product().needs.kind,
                                     draft_.accepted.actions()};
            output sum = o;
            if (part_match<epilogue_part::combine>::take(site, sum)) {
                std::optional<made_value> norm = begun(f, tried, sum);
                if (open(tried, sum, norm, &o)) {
                    keep(norm);
                    return true;
                }
            }
        }
        std::optional<made_value> value = quantized(f, tried, o), written;
        const product_problem& group = tried.step().what.product();
        // Beside others that the launch quantizes, nothing is gained.
        if (alone && value && !value->begins &&
            readers_.take_less_time(f, group, o, value->value) && open(tried, o, written))
            return true;
        if (!open(tried, o, value)) return false;
        keep(value);
        return true;
    }

    /// Joins an output to the step that is tried if it can be there, without what follows its
    /// matmul if that is what forbids it.
    bool join_with(const family& f, attempt& tried, const output& o) {
        std::optional<made_value> value = quantized(f, tried, o);
        product_problem together = tried.step().what.product();
        add_member(view_, together, o, value.has_value(), true);
        if (!weigh_.beside_pays(together)) return false;
        std::int32_t blocked = join(tried, o, value ? &*value : nullptr);
        if (blocked != joined && value) {
            value.reset();
            blocked = join(tried, o, nullptr);
        }
        if (blocked != joined && o.nodes.size() > 1 && o.up < 0 && !o.halves()) {
            const std::int32_t by = blocked;
            blocked = join(tried, plain_output(view_, o.matmul), nullptr);
            if (blocked == joined) draft_.leave({o.matmul, reason::epilogue_apart, by});
        }
        if (blocked == joined)
            keep(value);
        else if (blocked != unserved)
            draft_.leave({o.matmul, reason::group_split, blocked});
        return blocked == joined;
    }

    /// Opens the step that is tried with an output, at its first matmul or at its last node (what
    /// gathers factors may stand before the activation is there); a sum of slots stands before its
    /// ADDs. The output is quantized too if that is possible. `apart`: the output without that sum,
    /// which must take longer. False: no position is legal.
    bool open(attempt& tried, const output& o, std::optional<made_value>& value,
              const output* apart = nullptr) {
        const std::size_t before = tried.trial().nodes.size();
        if (cover(tried, o) >= 0) return false;
        const auto opened = [&] {
            if (apart != nullptr &&
                (draft_.accepted.meets_itself(tried.trial()) ||
                 !weigh_.combining_pays(tried.step().what.product(), *apart, o)))
                return false;
            const std::int32_t first = o.up >= 0 ? std::min(o.matmul, o.up) : o.matmul,
                               last = *std::max_element(o.nodes.begin(), o.nodes.end());
            const auto opens_with = [&](const made_value* by) {
                for (const std::int32_t position : {first, o.latest >= 0 ? o.latest : last}) {
                    tried.trial().launch_at = position;
                    if (join_covered(tried, o, by, before) == joined) return true;
                }
                return false;
            };
            if (value && opens_with(&*value)) return true;
            value.reset();
            return opens_with(nullptr);
        };
        if (opened()) return true;
        tried.trial().nodes.resize(before);
        return false;
    }

    /// Adds an output to the step that is tried. `value`: the output's readers, if it is quantized
    /// too. Returns `joined`, the node that forbids it, or `unserved` if no row serves them
    /// together.
    std::int32_t join(attempt& tried, const output& o, const made_value* value) {
        const product_problem& group = tried.step().what.product();
        const bool alone = o.parts.has(epilogue_part::combine) || combined(group);
        if (alone && group.member_count > 0) return unserved;
        const std::size_t before = tried.trial().nodes.size();
        std::int32_t result = cover(tried, o);
        if (result >= 0) return result;
        result = join_covered(tried, o, value, before);
        if (result != joined) tried.trial().nodes.resize(before);
        return result;
    }

    /// Does what join does, for an output that the step covers already, by its nodes from `first`
    /// on.
    std::int32_t join_covered(attempt& tried, const output& o, const made_value* value,
                              std::size_t first) {
        if (value !=
            nullptr) {  // from the workspace: no conflict in memory tells who reads too early
            for (const reader& r : value->value.readers)
                if (r.servable() && r.node < tried.trial().launch_at) return r.node;
            if (tried.trial().launch_at < draft_.slot_of(value->value).from)
                return tried.trial().launch_at;
        }
        const bool begins = value != nullptr && value->begins;
        const bool written = value == nullptr || begins || value->value.f32_needed;
        for (std::size_t i = first; i < tried.trial().nodes.size(); ++i) {
            covered_node& c = tried.trial().nodes[i];
            if (view_.nodes[c.node] == o.result) c.elided = !written;
        }
        product_problem& what = tried.step().what.product();
        const std::size_t unproved = what.member_count == 0 ? 0 : first;
        const std::size_t without_norm = tried.trial().nodes.size();
        const auto refused = [&](std::int32_t why) {
            tried.trial().nodes.resize(without_norm);
            return why;
        };
        if (begins) cover_norm(tried, o.result, value->value);
        if (const std::int32_t v = tried.blocker(unproved); v >= 0) return refused(v);
        const bool quantizes = what.needs.epilogue.has(epilogue_part::quantize);
        if (value != nullptr && quantizes && begins != what.begins_norm) return refused(unserved);
        const product_computation needs = what.needs;
        const int alignment = what.alignment;
        const bool began = std::exchange(what.begins_norm, what.begins_norm || begins);
        add_member(view_, what, o, value != nullptr, written);
        if (choices_.serves(what)) {
            tried.add(o);
            return joined;
        }
        what.needs = needs;
        what.alignment = alignment;
        what.begins_norm = began;
        what.member[--what.member_count] = {};
        return refused(unserved);
    }

    /// Lets the step that is tried cover a norm that it begins, of one of its results. Nobody
    /// writes the norm as f32.
    void cover_norm(attempt& tried, std::int32_t of, const match& norm) {
        std::int32_t before = g_.position(of);
        for (const taken_node& n : norm.taken) {
            tried.trial().nodes.push_back({n.node, true, fed_by(g_, n.node, before), ~0u});
            before = n.node;
        }
    }

    /// Lets the step that is tried cover an output. Returns -1, or the node that another step
    /// covers already; then it covers nothing.
    std::int32_t cover(attempt& tried, const output& o) {
        for (const std::int32_t n : o.nodes)  // an ADD of two matmuls follows both
            if (draft_.covered(n) || tried.trial().has(n)) return n;
        const product_problem& what = tried.step().what.product();
        const bool lies = what.needs.activation == format::f32 && !makes_norm(what) &&
                          !gates_inside(what) && !reads_what_is_copied(tried);
        for (const std::int32_t n : o.nodes) tried.trial().nodes.push_back(node_of(g_, o, n, lies));
        return -1;
    }

    /// Could a step quantize an output?
    bool quantizes(const family& f, const output& o) const {
        return f.common.epilogue.has(epilogue_part::quantize) && !o.renamed &&
               view_.at(o.result).ne[0] % 32 == 0;
    }

    /// The norm of an output that the step could begin.
    std::optional<made_value> begun(const family& f, attempt& tried, const output& o) {
        if (!quantizes(f, o)) return std::nullopt;
        std::optional<begun_norm> norm = norms_.of(tried.step().what.product(), o);
        if (!norm) return std::nullopt;
        return made_value{-1, norm->of, std::move(norm->value), true};
    }

    /// The value that the step could quantize of an output: a norm of it, or itself.
    std::optional<made_value> quantized(const family& f, attempt& tried, const output& o) {
        const product_problem& group = tried.step().what.product();
        if (!quantizes(f, o)) return std::nullopt;
        if (std::optional<made_value> norm = begun(f, tried, o)) return norm;
        std::optional<match> own = quantized_itself(f, group.needs.kind, o);
        if (!own) return std::nullopt;
        return made_value{-1, &f, *std::move(own), false};
    }

    /// The readers of an output, if the skeleton that makes it can quantize it for all that are
    /// served: a matvec as q8_1, a matmul for matmuls, whose layouts depend on the rows.
    std::optional<match> quantized_itself(const family& f, skeleton maker, const output& o) {
        const tensor& result = view_.at(o.result);
        if (!read_as_copy(g_, o.result)) return std::nullopt;
        match m = matcher(g_, f.common).at_value(o.result);
        if (!m.found()) return std::nullopt;
        const bool tiled = maker == skeleton::matmul;
        const format_set writes = tiled
                                      ? format_set::of(format::q8_1_mmq_d4) | format::q8_1_mmq_ds4 |
                                            format::bf16_mma | format::f16_mma
                                      : format_set::of(format::q8_1);
        left_over ignored;
        for (reader& r : m.readers) {
            judge_.judge(f.common, m, r, ignored);
            if (r.servable() && r.float_weight()) r.left.why = reason::no_row;  // they read f32
            if (r.servable() && !writes.has(r.layout)) return std::nullopt;
            m.f32_needed = m.f32_needed || !r.servable();
        }
        judge_.agree(f.common, m);
        const bool row = m.quant_k == result.ne[0] ||
                         (!tiled && m.whole_blocks() &&
                          stored_elements(format::q8_1, result.ne[0]) == result.ne[0]);
        if (!row || m.servable() == 0 || m.stream != view_.node(o.matmul).stream)
            return std::nullopt;
        return m;
    }

    /// Keeps the readers of the step's last output, if it is quantized for any.
    void keep(std::optional<made_value>& value) {
        if (!value) return;
        value->output = static_cast<std::int32_t>(draft_.outputs.size()) - 1;
        values_.push_back(*std::move(value));
    }
};

}  // namespace CATENA_NAMESPACE
