// scale: a SCALE of the product. factor: a MUL of the product by a number in memory, or by a number
// of each expert.
#pragma once

#include "catena/match/detail/epilogue/part.hpp"
#include "catena/match/detail/expert_factor.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::scale> {
    static constexpr bool takes(op kind) { return kind == op::scale; }

    /// Rewrite SCALE(y, c) to scale(y, c). Nothing may stand between SCALE and matmul.
    static bool take(const epilogue_site& s, output& o, use u) {
        if (!s.allowed.has(epilogue_part::scale) || !o.parts.empty()) return false;
        if (engine_fuses(s.g, u.node)) return false;
        const tensor& t = s.view.node(u.node);
        if (t.src[0] != o.result || !finite(t.params[0]) || t.params[1] != 0 ||
            !s.follows(u.node, 1, o))
            return false;
        o.params.scale = float_of(t.params[0]);
        o.end(epilogue_part::scale, u.node, s.view.nodes[u.node]);
        return true;
    }
};

template <>
struct part_match<epilogue_part::factor> {
    static constexpr bool takes(op kind) { return kind == op::mul; }

    /// Rewrite MUL(y, factor), with one number in memory or one for each of a dense result's few
    /// columns, and MUL(y, GET_ROWS(factors, ids)), with a number for each expert, to
    /// factor(y, factor). Nothing may stand between MUL and matmul.
    static bool take(const epilogue_site& s, output& o, use u) {
        if (!s.allowed.has(epilogue_part::factor) || !o.parts.empty() || u.slot > 1) return false;
        const tensor& t = s.view.node(u.node);
        const std::int32_t factor = t.src[1 - u.slot];
        if (t.src[u.slot] != o.result || factor == no_tensor || factor == o.result ||
            !s.follows(u.node, 2, o))
            return false;
        if (s.before_combination(u.node)) return false;
        const tensor& numbers = s.view.at(factor);
        const bool plain = plain_rows(numbers) == reason::none;
        const bool number = plain && elements(numbers) == 1;
        const bool by_column = plain && !number && s.few_rows(t) && numbers.ne[0] == 1 &&
                               same_rows(numbers, t) && contiguous(numbers) &&
                               !has_matrices(s.view, s.view.node(o.matmul));
        const expert_factors own =
            number || by_column ? expert_factors{}
                                : expert_factors_at(s.g, factor, s.view.node(o.matmul), u.node);
        if (!number && !by_column && !own.found()) return false;
        o.reads[epilogue_part::factor].tensor = own.found() ? own.numbers : factor;
        o.many_factors = !number;
        take_gathering(s, o, own, u.node);
        o.end(epilogue_part::factor, u.node, s.view.nodes[u.node]);
        return true;
    }

    /// Why the MUL that reads the experts' output `o` by `u` is no part of it: what is wrong with
    /// the factors. A MUL by the weights of the slots, whose products are added up, is no such MUL.
    static obstacle left_behind(const graph_index& g, const output& o, use u) {
        const tensor& t = g.view.node(u.node);
        const tensor& matmul = g.view.node(o.matmul);
        if (t.kind != op::mul || u.slot > 1 || matmul.kind != op::mul_mat_id || !o.parts.empty() ||
            g.read_by(g.root(g.view.nodes[u.node]), op::add))
            return {};
        const std::int32_t factor = t.src[1 - u.slot];
        const bool apart = factor != no_tensor && elements(g.view.at(factor)) > 1 &&
                           g.view.at(factor).ne[0] == 1 && t.ne[0] > 1;
        return apart ? expert_factors_at(g, factor, matmul, u.node).why : obstacle{};
    }

  private:
    /// Takes over the nodes that gather factors of experts, if only node `reader` reads them.
    static void take_gathering(const epilogue_site& s, output& o, const expert_factors& f,
                               std::int32_t reader) {
        const auto alone_by = [&s](std::int32_t position, std::int32_t node) {
            return s.g.only_reader(s.view.nodes[position]).node == node;
        };
        if (!f.found() || !alone_by(f.pick, reader)) return;
        if (f.repeat >= 0 && alone_by(f.repeat, f.pick)) o.take(f.repeat);
        o.take(f.pick);
    }
};

}  // namespace CATENA_NAMESPACE
