// Finds the routing of a layer: from the ARGSORT of its experts back to their logits, and on to
// their weights. `Rewrite A to B` above a rule says which nodes A the rule takes over, and which
// part B of a routing launch replaces them. Names in capitals are ggml's ops.
#pragma once

#include "catena/match/detail/match.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE {

class route_finder {
  public:
    explicit route_finder(const graph_index& g) : g_(g), view_(g.view) {}

    /// The routing that an ARGSORT belongs to. The ARGSORT sorts all experts, or those of a group.
    /// `open(position)` says that no step covers a node.
    template <class Open>
    const routing& around(std::int32_t sort, const Open& open) {
        for (std::int32_t i = std::min(view_.node_count, sort + reach) - 1; i > sort; --i) {
            if (g_.kind(i) != op::argsort || !open(i)) continue;
            const routing& r = of(i, open);
            if (!r.why.found() && r.has(sort)) return r;
        }
        return of(sort, open);
    }

    /// The routing whose experts the ARGSORT sorts.
    template <class Open>
    const routing& of(std::int32_t sort, const Open& open) {
        if (sort != last_.sort || !still_holds(open)) last_ = found(sort, open);
        return last_;
    }

    /// Does a name stand for the first experts of each row that node `sort` has sorted, one or more
    /// of them?
    bool names_first(std::int32_t name, std::int32_t sort) const {
        const tensor& t = view_.at(name);
        const tensor& whole = view_.node(sort);
        if (name == view_.nodes[sort]) return true;
        return t.kind == op::view && t.src[0] == view_.nodes[sort] && t.params[0] == 0 &&
               t.params[1] == 0 && t.type == format::i32 && t.nb[0] == 4 &&
               t.ne[0] <= whole.ne[0] && same_rows(t, whole) &&
               (t.ne[1] == 1 || t.nb[1] == whole.nb[1]) && (t.ne[2] == 1 || t.nb[2] == whole.nb[2]);
    }

  private:
    /// The distance, in nodes, from the first ARGSORT to the one that sorts all experts.
    static constexpr std::int32_t reach = 24;

    const graph_index& g_;
    const graph_view& view_;
    routing last_;  // the launches of a layer ask for its routing one after the other

    /// Is the last routing what it was? It is whole, from the logits on, if it makes their scores:
    /// then steps change it only where they cover one of its nodes.
    template <class Open>
    bool still_holds(const Open& open) const {
        return !last_.why.found() && last_.numbers.score != scoring::none &&
               std::all_of(last_.nodes.begin(), last_.nodes.end(), open);
    }

    template <class Open>
    routing found(std::int32_t sort, const Open& open) const {
        routing r;
        r.sort = sort;
        r.nodes.reserve(reach);
        r.nodes.push_back(sort);
        r.why = find(r, open);
        std::sort(r.nodes.begin(), r.nodes.end());
        const auto other = [&](std::int32_t n) {
            return !open(n) || view_.node(n).stream != view_.node(sort).stream;
        };
        if (!r.why.found() && std::any_of(r.nodes.begin(), r.nodes.end(), other))
            r.why = {sort, reason::taken};
        return r;
    }

    /// Rewrite ids = ARGSORT(choice) and weights = W(GET_ROWS(scores, ids)) to route(x, bias),
    /// where choice is scores, ADD(scores, bias), x or SIGMOID(x), without all but the best groups,
    /// scores is x or a function of x, and W is what weights_behind takes over.
    template <class Open>
    obstacle find(routing& r, const Open& open) const {
        const std::int32_t sort = r.sort;
        const tensor& ids = view_.node(sort);
        if (!sorts_down(sort)) return {sort, reason::routing_order};
        r.experts = ids.ne[0], r.tokens = ids.ne[1];
        if (ids.ne[2] != 1 || ids.ne[3] != 1 || r.experts < 2) return {sort, reason::routing_order};
        if (r.experts * r.tokens > max_values)
            return {sort, reason::too_large, r.experts * r.tokens, max_values};
        std::int32_t choice = value_behind(view_, ids.src[0]);
        if (const std::int32_t kept = maker(choice, op::set_rows); kept >= 0) {
            choice = ungrouped(kept, r);
            if (choice == no_tensor) return {sort, reason::routing_groups};
        }
        reason why = reason::routing_unweighed;
        const std::int32_t rows = rows_of_chosen(choice, r, why);
        if (rows < 0) return {sort, why};
        if (r.numbers.chosen > max_chosen)
            return {sort, reason::too_large, r.numbers.chosen, max_chosen};
        weights_behind(rows, r);
        scored(value_behind(view_, view_.node(rows).src[0]), r, open);
        const bool other_choice = r.numbers.choice != choosing::by_score;
        if (!closed(r) || (other_choice && r.numbers.score == scoring::none))
            return {sort, reason::routing_read};
        if (!same_shape(view_.at(r.x), ids)) return {sort, reason::routing_choice};
        return rows_fit(g_, sort, r.x);
    }

    std::int32_t maker(std::int32_t value, op kind) const {
        const std::int32_t node = value == no_tensor ? -1 : g_.position(value);
        return node >= 0 && g_.kind(node) == kind ? node : -1;
    }

    /// Is the node an ARGSORT of f32 rows, the largest first, with a result of its own?
    bool sorts_down(std::int32_t node) const {
        constexpr int descending = 1;
        const tensor& t = view_.node(node);
        if (t.kind != op::argsort || t.src[0] == no_tensor || has_more_sources(t, 1)) return false;
        const tensor& s = view_.at(t.src[0]);
        return (t.flags & flag_compute) != 0 && t.params[0] == descending &&
               t.type == format::i32 && t.reachable && t.view_src == no_tensor && contiguous(t) &&
               words_aligned(t) && elements(t) > 0 && !g_.written_in_place(view_.nodes[node]) &&
               s.type == format::f32 && same_shape(s, t);
    }

    /// Is the node a GET_ROWS of single numbers: those that node `sort` has put first in each row?
    bool gathers(std::int32_t node, std::int32_t sort) const {
        if (g_.kind(node) != op::get_rows || node_fits(g_, node, 2).found()) return false;
        const tensor& t = view_.node(node);
        const tensor& from = view_.at(t.src[0]);
        const tensor& ids = view_.at(t.src[1]);
        const tensor& all = view_.node(sort);
        const bool single = from.type == format::f32 && contiguous(from) && from.ne[0] == 1 &&
                            from.ne[1] == all.ne[0] && from.ne[2] == all.ne[1] &&
                            from.ne[3] == all.ne[2] && all.ne[3] == 1;
        return single && names_first(t.src[1], sort) && contiguous(t) && t.ne[0] == 1 &&
               t.ne[1] == ids.ne[0] && t.ne[2] == ids.ne[1] && t.ne[3] == ids.ne[2];
    }

    /// The GET_ROWS of the chosen experts' scores, or -1. Another GET_ROWS may gather factors of
    /// the experts.
    std::int32_t rows_of_chosen(std::int32_t choice, routing& r, reason& why) const {
        for (const use& u : g_.readers(view_.nodes[r.sort])) {
            if (u.slot != 1 || !gathers(u.node, r.sort)) continue;
            const std::int32_t scores = value_behind(view_, view_.node(u.node).src[0]);
            why = reason::routing_choice;
            if (scores != choice && !biased(choice, scores, r) && !by_logits(choice, scores, r))
                continue;
            r.numbers.chosen = static_cast<std::int32_t>(view_.node(u.node).ne[1]);
            r.nodes.push_back(u.node);
            return u.node;
        }
        return -1;
    }

    /// Rewrite choice = ADD(scores, bias), with a bias for each expert, to the routing's bias.
    bool biased(std::int32_t choice, std::int32_t scores, routing& r) const {
        const std::int32_t node = maker(choice, op::add);
        if (node < 0 || node_fits(g_, node, 2).found()) return false;
        const tensor& t = view_.node(node);
        const tensor& b = view_.at(t.src[1]);
        const bool vector = plain_rows(b) == reason::none && b.ne[0] == r.experts &&
                            elements(b) == r.experts && t.ne[0] == r.experts;
        if (!vector || value_behind(view_, t.src[0]) != scores) return false;
        r.bias = t.src[1];
        r.nodes.push_back(node);
        return true;
    }

    /// Rewrite choice = x or SIGMOID(x), where scores are a function of x, to what the routing
    /// sorts experts by.
    bool by_logits(std::int32_t choice, std::int32_t scores, routing& r) const {
        const made_scores s = function_of(scores, r), c = function_of(choice, r);
        const std::int32_t x = value_behind(view_, s.x);
        if (s.by == scoring::none) return false;
        if (choice == x) {
            r.numbers.choice = choosing::by_logit;
            return true;
        }
        if (c.by != scoring::sigmoid || value_behind(view_, c.x) != x) return false;
        r.numbers.choice = choosing::by_sigmoid;
        r.nodes.push_back(c.nodes[0]);
        return true;
    }

    /// The function that made scores of x, and its nodes; or none, and the scores as x.
    struct made_scores {
        scoring by = scoring::none;
        std::int32_t x = no_tensor;
        std::vector<std::int32_t> nodes;
    };

    /// Rewrite SOFT_MAX(x), SIGMOID(x) or SQRT(SOFTPLUS(x)) to a scoring of x.
    made_scores function_of(std::int32_t scores, const routing& r) const {
        constexpr std::int32_t one = 0x3f800000;
        const made_scores none{scoring::none, scores, {}};
        const auto is_function = [&](std::int32_t node) {
            if (node < 0 || node_fits(g_, node, 1).found()) return false;
            const tensor& t = view_.node(node);
            return t.ne[0] == r.experts && same_shape(view_.at(t.src[0]), t);
        };
        const std::int32_t node = g_.position(scores);
        if (!is_function(node)) return none;
        const tensor& t = view_.node(node);
        if (t.kind == op::soft_max && t.params[0] == one && t.params[1] == 0)
            return {scoring::soft_max, t.src[0], {node}};
        if (t.kind == op::unary && t.sub == sub_op::sigmoid)
            return {scoring::sigmoid, t.src[0], {node}};
        const std::int32_t of_root = t.kind == op::sqrt ? g_.position(t.src[0]) : -1;
        if (!is_function(of_root) || view_.node(of_root).sub != sub_op::softplus) return none;
        return {scoring::sqrt_softplus, view_.node(of_root).src[0], {node, of_root}};
    }

    /// Rewrite scores = f(x) to the routing's scoring. If the scores have other readers, they are
    /// x.
    template <class Open>
    void scored(std::int32_t scores, routing& r, const Open& open) const {
        const made_scores s = function_of(scores, r);
        const std::size_t before = r.nodes.size();
        r.nodes.insert(r.nodes.end(), s.nodes.begin(), s.nodes.end());
        const bool whole = std::all_of(s.nodes.begin(), s.nodes.end(), [&](std::int32_t n) {
            return open(n) && inside(view_.nodes[n], r);
        });
        if (!whole) r.nodes.resize(before);
        if (whole) r.numbers.score = s.by;
        r.x = whole ? s.x : scores;
    }

    /// Rewrite weights = SCALE(DIV(w, SUM_ROWS(w)), c), where w is the chosen scores or their
    /// SOFT_MAX, to the numbers of the routing. Each of these nodes may be missing.
    void weights_behind(std::int32_t rows, routing& r) const {
        r.weigh = rows;
        if (const std::int32_t node = reader(r.weigh, op::soft_max); node >= 0) {
            constexpr std::int32_t one = 0x3f800000;
            const tensor& t = view_.node(node);
            if (!node_fits(g_, node, 1).found() && t.params[0] == one && t.params[1] == 0 &&
                row_of_token(t, r))
                take(node, r), r.numbers.soft_max_chosen = true;
        }
        normalized(r);
        if (const std::int32_t node = reader(r.weigh, op::scale); node >= 0)
            if (const std::optional<float> by = scale_at(g_, node))
                take(node, r), r.numbers.scale = *by;
    }

    void take(std::int32_t node, routing& r) const {
        r.nodes.push_back(node);
        r.weigh = node;
    }
    /// The node of this kind that alone reads what a node makes, or -1.
    std::int32_t reader(std::int32_t node, op kind) const {
        const use u = g_.only_reader(view_.nodes[node]);
        return u.node >= 0 && u.slot == 0 && g_.kind(u.node) == kind ? u.node : -1;
    }
    static bool row_of_token(const tensor& t, const routing& r) {
        return t.ne[0] == r.numbers.chosen && t.ne[1] == r.tokens && t.ne[2] == 1 && t.ne[3] == 1 &&
               contiguous(t);
    }

    /// Rewrite DIV(w, SUM_ROWS(w)) and DIV(w, CLAMP(SUM_ROWS(w), least)) to normalized weights.
    void normalized(routing& r) const {
        const std::int32_t weights = view_.nodes[r.weigh];
        if (g_.reader_count(weights) != 2 || g_.read_outside(weights) || g_.output(weights)) return;
        std::int32_t sum = -1, quotient = -1;
        for (const use& u : g_.readers(weights)) {
            if (g_.kind(u.node) == op::sum_rows) sum = u.node;
            if (g_.kind(u.node) == op::div && u.slot == 0) quotient = u.node;
        }
        if (sum < 0 || quotient < 0 || node_fits(g_, sum, 1).found() ||
            node_fits(g_, quotient, 2).found())
            return;
        const tensor& of = view_.at(view_.node(sum).src[0]);
        if (!row_of_token(of, r) || !row_of_token(view_.node(quotient), r)) return;
        use next = g_.only_reader(view_.nodes[sum]);
        std::int32_t bound = -1;
        float least = r.numbers.least;
        if (next.node >= 0 && g_.kind(next.node) == op::clamp) {
            constexpr std::int32_t infinite = 0x7f800000;
            const tensor& c = view_.node(next.node);
            if (node_fits(g_, next.node, 1).found() || !finite(c.params[0]) ||
                c.params[1] != infinite)
                return;
            bound = next.node;
            least = float_of(c.params[0]);
            next = g_.only_reader(view_.nodes[bound]);
        }
        if (next.node != quotient || next.slot != 1) return;
        r.nodes.push_back(sum);
        if (bound >= 0) r.nodes.push_back(bound);
        take(quotient, r);
        r.numbers.normalized = true;
        r.numbers.least = least;
    }

    /// Do only nodes of the routing read `value`?
    bool inside(std::int32_t value, const routing& r) const {
        const array_view<use> all = g_.readers(value);
        return !g_.read_outside(value) && !g_.output(value) &&
               std::all_of(all.begin(), all.end(), [&](const use& u) { return r.has(u.node); });
    }
    bool closed(const routing& r) const {
        return std::all_of(r.nodes.begin(), r.nodes.end(), [&](std::int32_t n) {
            return r.writes(n) || inside(g_.root(view_.nodes[n]), r);
        });
    }

    /// Rewrite SET_ROWS(FILL(choice, -inf), GET_ROWS(choice, best), best), where best are the first
    /// of ARGSORT(goodness of groups), to choice and the numbers of groups. `kept` is the SET_ROWS.
    /// The result is the choice, or no_tensor if the nodes are others.
    std::int32_t ungrouped(std::int32_t kept, routing& r) const {
        const tensor& t = view_.node(kept);
        if (t.src[1] == no_tensor || t.src[2] == no_tensor || has_more_sources(t, 3) ||
            (t.flags & flag_compute) == 0)
            return no_tensor;
        const std::int32_t rows = maker(t.src[0], op::get_rows), fill = maker(t.src[2], op::fill);
        const std::int32_t best = maker(g_.root(t.src[1]), op::argsort);
        constexpr std::int32_t minus_infinity = static_cast<std::int32_t>(0xff800000u);
        if (rows < 0 || fill < 0 || best < 0 || view_.node(fill).params[0] != minus_infinity)
            return no_tensor;
        const tensor& groups = view_.node(fill);  // [size, groups, tokens]
        const tensor& some = view_.node(rows);    // [size, groups_chosen, tokens]
        const tensor& ids = view_.at(t.src[1]);
        const std::int64_t size = groups.ne[0], count = groups.ne[1];
        const bool shaped = same_shape(groups, t) && contiguous(groups) && size >= 2 &&
                            count <= max_groups && size * count == r.experts &&
                            groups.ne[2] == r.tokens && groups.ne[3] == 1 && some.ne[0] == size &&
                            some.ne[1] == ids.ne[0] && some.ne[2] == r.tokens && some.ne[3] == 1 &&
                            t.view_src == t.src[2] && view_.node(rows).src[1] == t.src[1] &&
                            sorts_down(best) && view_.node(best).ne[0] == count &&
                            view_.node(best).ne[1] == r.tokens && names_first(t.src[1], best);
        if (!shaped || view_.node(fill).src[0] == no_tensor) return no_tensor;
        const std::int32_t choice = value_behind(view_, view_.node(fill).src[0]);
        if (value_behind(view_, some.src[0]) != choice ||
            !same_shape(view_.at(some.src[0]), groups))
            return no_tensor;
        r.nodes.insert(r.nodes.end(), {kept, rows, fill, best});
        if (!best_two(view_.node(best).src[0], choice, groups, r)) return no_tensor;
        r.numbers.groups = static_cast<std::int32_t>(count);
        r.numbers.groups_chosen = static_cast<std::int32_t>(ids.ne[0]);
        return choice;
    }

    /// Is `goodness` SUM_ROWS(GET_ROWS(choice, first two of ARGSORT(choice))) for each group: the
    /// sum of its two best choices?
    bool best_two(std::int32_t goodness, std::int32_t choice, const tensor& groups,
                  routing& r) const {
        const std::int32_t sum = maker(value_behind(view_, goodness), op::sum_rows);
        if (sum < 0 || node_fits(g_, sum, 1).found()) return false;
        const std::int32_t two = maker(value_behind(view_, view_.node(sum).src[0]), op::get_rows);
        if (two < 0 || view_.node(two).src[1] == no_tensor) return false;
        const std::int32_t sorted = maker(g_.root(view_.node(two).src[1]), op::argsort);
        if (sorted < 0 || !sorts_down(sorted) || !gathers(two, sorted)) return false;
        const tensor& s = view_.at(view_.node(sum).src[0]);
        r.nodes.insert(r.nodes.end(), {sum, two, sorted});
        return view_.node(two).ne[1] == 2 && same_shape(view_.node(sorted), groups) &&
               s.ne[0] == 2 && s.ne[1] == groups.ne[1] && s.ne[2] == groups.ne[2] &&
               value_behind(view_, view_.node(sorted).src[0]) == choice &&
               value_behind(view_, view_.node(two).src[0]) == choice;
    }
};

}  // namespace CATENA_NAMESPACE
