// The launch of experts sends its tokens to them itself, if that is legal and takes less time: each
// of its blocks finds the expert that it multiplies with, and one for each token writes all of them
// and their weights for later readers.
#pragma once

#include "catena/match/detail/route_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/route_request.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace CATENA_NAMESPACE {

class route_fuser : drafter {
  public:
    explicit route_fuser(draft& drafted) : drafter(drafted), find_(drafted.routings) {}

    /// Lets the step that is tried cover the routing of the tokens that pick its matrices. None: it
    /// has no such tokens, or it does not pay, and then the step is as it was.
    std::optional<routing> fuse(attempt& tried) {
        const step& s = tried.step();
        if (s.what.kind() != skeleton::matvec) return std::nullopt;
        const std::int32_t sort = sort_of(s.what.product());
        if (sort < 0) return std::nullopt;
        const routing& r = find_.of(sort, [this](std::int32_t i) { return !draft_.covered(i); });
        if (r.why.found() || !of_tokens(s.what.product(), r)) return std::nullopt;
        const obstacle why = take(tried, r);
        if (!why.found()) return r;
        draft_.leave(why);
        return std::nullopt;
    }

    /// Reports a routing that step `maker` covers.
    void report(routing&& r, std::int32_t maker) {
        draft_.routed[maker] =
            draft_.add_activation(known_.routed_experts, routed_match(view_, std::move(r)), maker);
    }

  private:
    route_finder& find_;

    /// The ARGSORT whose first numbers pick the matrices of the tokens, or -1.
    std::int32_t sort_of(const product_problem& what) const {
        const bool first = what.expert && !combined(what);
        if (known_.routed_experts < 0 || !first) return -1;
        const drafted_output& lead = *(draft_.outputs.end() - what.member_count);
        const tensor& matmul = view_.node(lead.what.matmul);
        const std::int32_t ids = matmul.kind == op::mul_mat_id ? matmul.src[2] : no_tensor;
        const std::int32_t sort = ids == no_tensor ? -1 : g_.position(g_.root(ids));
        const bool open = sort >= 0 && g_.kind(sort) == op::argsort && !draft_.covered(sort);
        return open && find_.names_first(ids, sort) ? sort : -1;
    }

    /// Are the matrices those of the experts that are sorted, and as many read as are weighed?
    static bool of_tokens(const product_problem& what, const routing& r) {
        const problem_member* const end = what.member + what.member_count;
        return r.tokens == what.tokens && r.numbers.chosen == slots_of(what) &&
               std::all_of(what.member, end, [&](const problem_member& m) {
                   return !by_ids(what, m) || m.experts == r.experts;
               });
    }

    obstacle take(attempt& tried, const routing& r) {
        if (choices_.same_bits()) return {r.sort, reason::same_bits};
        product_problem& what = tried.step().what.product();
        const row_problem alone = problem_of(r);
        product_problem with = what;
        with.needs.stages = alone.needs.stages;
        const picked row = choices_.pick(with);
        if (row.row < 0) return {r.sort, reason::no_routing_inside};
        if (choices_.pick(alone).row >= 0) {
            const auto [inside_us, apart_us] =
                comparable(choices_.time(with), choices_.time(what) + choices_.time(alone));
            if (!(inside_us < apart_us))
                return {r.sort, reason::routing_slower, static_cast<std::int64_t>(inside_us * 1000),
                        static_cast<std::int64_t>(apart_us * 1000)};
        }
        trial_step& trial = tried.trial();
        const std::vector<covered_node> before = trial.nodes;
        for (covered_node& c : trial.nodes)  // each block finds the ids, and weights in memory
            if (g_.kind(c.node) != op::mul && g_.kind(c.node) != op::add)
                c.internal |= fed_by(g_, c.node, r.nodes);
        cover_routing(g_, r, trial);
        trial.at_once = false;  // other blocks read the logits, too
        if (const std::int32_t v = tried.blocker(before.size()); v >= 0) {
            trial.nodes = before;
            return {r.sort, reason::routing_split, v};
        }
        what = with;
        run_by(tried.step(), row);
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
