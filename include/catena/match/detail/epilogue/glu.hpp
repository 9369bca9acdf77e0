// glu: the result of one matmul gates that of another, or one half of a result the other half.
#pragma once

#include "catena/match/detail/epilogue/part.hpp"
#include "catena/match/detail/weight_scale.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::glu> {
    static constexpr bool takes(op kind) {
        return kind == op::glu || kind == op::unary || kind == op::mul;
    }

    /// The node that gates the result of `o`: a GLU, or the MUL behind a UNARY. -1: none.
    static std::int32_t node_of(const epilogue_site& s, const output& o) {
        if (!s.allowed.has(epilogue_part::glu)) return -1;
        const std::int32_t node = s.g.only_node(o.result);
        if (node < 0) return -1;
        const op kind = s.g.kind(node);
        if (kind == op::glu || kind == op::mul) return node;
        if (kind != op::unary) return -1;
        const use next = s.g.only_reader(s.view.nodes[node]);
        return next.node >= 0 && s.g.kind(next.node) == op::mul ? next.node : -1;
    }

    /// Rewrite GLU(y, z), MUL(UNARY(y), z) and MUL(y, z) to glu(y, z), where z is the result of a
    /// second matmul like that of y. Rewrite GLU(y), and the GLU of two views, to glu(a, b), where
    /// a and b are the halves of each column of y. `node` is the GLU or the MUL, which computes
    /// `v`.
    static bool take(const epilogue_site& s, output& gate, const output& up, std::int32_t node,
                     const gated& v) {
        if (v.why.found()) return false;
        const bool halves = gate.matmul == up.matmul;
        if (v.gate.tensor != gate.result || v.x.tensor != up.result) return false;
        if (halves != v.halves()) return false;
        if (!(halves ? can_split(s, gate) : alike(s, gate, up, node))) return false;
        if (!s.plain_result(node, gate.renamed)) return false;
        gate.params.function = v.function;
        gate.params.alpha = v.alpha;
        gate.params.limit = v.limit;
        if (halves) {
            gate.swapped = v.gate.offset != 0;
        } else {
            gate.up = up.matmul;
            for (const epilogue_part p : up.parts) gate.reads[p].of_up = up.reads[p].tensor;
            for (const std::int32_t n : up.nodes) gate.take(n);
        }
        if (v.unary >= 0) gate.take(v.unary);
        gate.end(epilogue_part::glu, node, s.view.nodes[node]);
        return true;
    }

  private:
    /// Can a launch multiply with the two halves of the rows apart, of each matrix if experts have
    /// one each?
    static bool can_split(const epilogue_site& s, const output& o) {
        const tensor& w = s.weight_of(o.matmul);
        return o.parts.empty() && w.ne[1] % 2 == 0 && scales_split(s, o.matmul);
    }

    /// Can the scales of the matmul's weight be split between the two halves of its rows?
    static bool scales_split(const epilogue_site& s, std::int32_t matmul) {
        const std::int32_t scales = scales_of(s.view, s.view.node(matmul));
        if (scales == no_tensor) return true;
        const tensor& w = s.weight_of(matmul);
        const std::int64_t rows = shape_of_scales(w, s.view.at(scales)).rows;
        return rows == w.ne[1] || w.ne[1] / 2 % rows == 0;
    }

    /// Are the two alike as a launch needs them? Only the gate may have a scale.
    static bool alike(const epilogue_site& s, const output& gate, const output& up,
                      std::int32_t node) {
        if (gate.parts.without(epilogue_part::scale) != up.parts) return false;
        if (gate.many_factors != up.many_factors) return false;
        const tensor& v = s.weight_of(gate.matmul);
        const tensor& w = s.weight_of(up.matmul);
        const tensor& a = s.view.node(gate.matmul);
        const tensor& b = s.view.node(up.matmul);
        return v.type == w.type && same_shape(v, w) && a.kind == b.kind && same_shape(a, b) &&
               same_ids(a, b) && same_scales(s.view, a, b) &&
               same_shape(s.view.node(node), s.view.at(up.result));
    }
};

}  // namespace CATENA_NAMESPACE
