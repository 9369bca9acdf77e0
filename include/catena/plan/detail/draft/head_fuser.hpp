// The launch of matrices turns their results and stores them in caches, if these are the heads of
// one token without norms, such as Q, K and V, and if that is legal and takes less time. Then no
// launch of heads follows.
#pragma once

#include "catena/match/detail/head_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class head_fuser : drafter {
  public:
    explicit head_fuser(draft& drafted) : drafter(drafted), find_(g_) {}

    /// Lets the step that is tried cover the heads that its matrices make. Returns them, one for
    /// each matrix. None: they do not pay, or no row turns them, and then the step is as it was.
    std::optional<std::vector<head_chain>> fuse(attempt& tried) {
        if (!may_turn(tried.step())) return std::nullopt;
        const std::int32_t first = first_of_heads(tried.step().what.product());
        if (first < 0) return std::nullopt;
        const std::vector<head_chain> all =
            find_.group(first, [this](std::int32_t i) { return !draft_.covered(i); });
        std::vector<head_chain> by_matrix;
        obstacle why = deal(all, tried.step().what.product(), by_matrix);
        if (!why.found()) why = take(tried, all, by_matrix);
        if (!why.found()) return by_matrix;
        why.node = first;
        draft_.leave(why);
        return std::nullopt;
    }

    /// Reports heads that step `maker` covers.
    void report(std::vector<head_chain>&& by_matrix, std::int32_t maker) {
        draft_.turned[maker] =
            draft_.add_activation(known_.heads, match_of_heads(view_, std::move(by_matrix)), maker);
    }

  private:
    const head_finder find_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    bool may_turn(const step& s) const {
        if (known_.turned < 0 || known_.heads < 0 || s.what.kind() != skeleton::matvec)
            return false;
        const product_problem& p = s.what.product();
        return !p.expert && p.columns == 1 && parts_of_heads.contains(p.needs.epilogue);
    }

    drafted_output& output_of(const product_problem& p, int member) {
        return *(draft_.outputs.end() - p.member_count + member);
    }

    /// The first of the ROPEs and SET_ROWS that alone read the results of the step; -1: something
    /// else reads one of them, or all are only stored: others are turned in another launch.
    std::int32_t first_of_heads(const product_problem& p) {
        std::int32_t first = view_.node_count;
        bool turns = false;
        for (int i = 0; i < p.member_count; ++i) {
            const std::int32_t n = g_.only_reader(output_of(p, i).what.result).node;
            const bool heads = n >= 0 && (g_.kind(n) == op::rope || g_.kind(n) == op::set_rows);
            if (!heads || draft_.covered(n)) return -1;
            first = std::min(first, n);
            turns = turns || g_.kind(n) == op::rope;
        }
        return turns ? first : -1;
    }

    /// Can a row turn and store these heads as elements of results?
    reason check(const head_chain& h) const {
        if (h.why.found()) return h.why.why;
        if (h.norm >= 0) return reason::norm_of_heads;
        if (h.join >= 0) return reason::heads_reshaped;
        if (h.rope >= 0 && (h.turn.numbers.positions() != 1 || h.turn.numbers.first != 0))
            return reason::rope_mode;
        if (h.written && !contiguous(view_.node(h.made_by()))) return reason::heads_reshaped;
        if (h.store >= 0 && !element_caches.has(view_.node(h.store).type))
            return reason::cache_format;
        return h.tokens == 1 && h.k % 2 == 0 ? reason::none : reason::no_heads_inside;
    }

    /// Gives each value to the matrix that makes all of it.
    obstacle deal(const std::vector<head_chain>& all, const product_problem& p,
                  std::vector<head_chain>& by_matrix) {
        by_matrix.resize(at(p.member_count));
        int dealt = 0;
        for (const head_chain& h : all) {
            if (const reason no = check(h); no != reason::none)
                return {h.why.node, no, h.rope >= 0 ? view_.node(h.rope).params[2] : 0};
            for (int i = 0; i < p.member_count; ++i) {
                const std::int32_t result = output_of(p, i).what.result;
                const bool makes = names_whole(view_, h.x, result) &&
                                   h.k * h.count == p.member[i].rows && contiguous(view_.at(h.x));
                if (makes) by_matrix[at(i)] = h, ++dealt;
            }
        }
        const bool one_each = dealt == p.member_count && all.size() == by_matrix.size();
        return one_each ? obstacle{} : obstacle{-1, reason::heads_apart};
    }

    /// The problem of the step with its heads.
    static product_problem turning(product_problem p, const std::vector<head_chain>& by_matrix) {
        for (int i = 0; i < p.member_count; ++i) {
            p.member[i].epilogue = p.member[i].epilogue | epilogue_part::heads;
            p.member[i].written = by_matrix[at(i)].written;
        }
        p.needs.epilogue = p.needs.epilogue | epilogue_part::heads;
        return p;
    }

    obstacle take(attempt& tried, const std::vector<head_chain>& all,
                  const std::vector<head_chain>& by_matrix) {
        product_problem& what = tried.step().what.product();
        const product_problem with = turning(what, by_matrix);
        const picked row = choices_.pick(with);
        if (row.row < 0) return {-1, reason::no_heads_inside};
        const row_problem alone = problem_of(view_, all);
        if (choices_.pick(alone).row >= 0) {
            const auto [inside_us, apart_us] =
                comparable(choices_.time(with), choices_.time(what) + choices_.time(alone));
            if (!(inside_us < apart_us))
                return {-1, reason::heads_slower, static_cast<std::int64_t>(inside_us * 1000),
                        static_cast<std::int64_t>(apart_us * 1000)};
        }
        if (const std::int32_t v = cover(tried, by_matrix); v >= 0)
            return {-1, reason::heads_split, v};
        for (int i = 0; i < with.member_count; ++i) {
            const head_chain& h = by_matrix[at(i)];
            output& o = output_of(with, i).what;
            if (h.made_by() < 0) continue;
            o.result = view_.nodes[h.made_by()];
            o.renamed = true;  // heads of a token have a dimension more than the matmul's result
        }
        what = with;
        run_by(tried.step(), row);
        return {};
    }

    /// Covers the heads, where the step stands or, if it writes no norm for others, at one of its
    /// nodes. Returns -1, or the node that forbids it; then the step covers what it did.
    std::int32_t cover(attempt& tried, const std::vector<head_chain>& by_matrix) {
        trial_step& trial = tried.trial();
        const trial_step before = trial;
        const product_problem& p = tried.step().what.product();
        for (int i = 0; i < p.member_count; ++i) {
            const std::int32_t result = output_of(p, i).what.result;
            for (covered_node& c : trial.nodes)
                if (view_.nodes[c.node] == result) c.elided = true;
            cover_head(g_, by_matrix[at(i)], g_.position(result), trial);
        }
        std::int32_t blocked = tried.blocker();
        // Who reads a norm that the step also writes was checked where the step stands.
        if (blocked >= 0 && p.needs.emits.empty()) blocked = tried.find_place();
        if (blocked >= 0) trial = before;
        return blocked;
    }
};

}  // namespace CATENA_NAMESPACE
