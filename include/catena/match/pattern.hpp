// The graph pattern of a chain, derived from its stages: which ops stand before the value that is
// emitted and quantized, and which matrices may read it.
#pragma once

#include "catena/chain/lowered.hpp"

namespace catena {

struct pattern {
    bool known = false;         ///< false: the stages have a shape that the matcher does not know
    bool residual = false;      ///< an ADD stands before the norm
    format_set sum_emits = {};  ///< formats of x + residual
    bool norm = false;
    bool scale = false;  ///< a MUL with a weight stands after it
    format_set emits = {};
    format activation = format::unknown;  ///< what the group reads; unknown: no group
    format_set dense = {};                ///< formats of MUL_MAT readers
    format_set expert = {};               ///< formats of MUL_MAT_ID readers

    /// Ops before the value.
    int length() const { return (residual ? 1 : 0) + (norm ? 1 : 0) + (scale ? 1 : 0); }
    bool has_group() const { return activation != format::unknown; }
};

/// Two chains of one family find the same places; they differ in the matrices that may read.
constexpr bool same_family(const pattern& a, const pattern& b) {
    return a.known == b.known && a.residual == b.residual && a.norm == b.norm &&
           a.scale == b.scale && a.sum_emits == b.sum_emits && a.emits == b.emits &&
           a.activation == b.activation;
}

/// The pattern of `[add(residual) emit*] [rms_norm] [mul(weight)] emit* [quantize<F> group]`, where
/// the norm may be missing only together with what stands around it (a value of the engine's that
/// is quantized).
constexpr pattern pattern_of(const lowered_chain& chain) {
    pattern out;
    int last = -1;
    for (int i = 0; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        int place = 0;
        switch (s.kind) {
            case stage_kind::add:
                if (s.reads != operand::residual || out.residual) return {};
                out.residual = true;
                place = 0;
                break;
            case stage_kind::rms_norm:
                if (out.norm) return {};
                out.norm = true;
                place = 1;
                break;
            case stage_kind::mul:
                if (s.reads != operand::weight || out.scale) return {};
                out.scale = true;
                place = 2;
                break;
            case stage_kind::glu:
            case stage_kind::epilogue:
                return {};
            case stage_kind::emit:
                if (out.residual && !out.norm) {
                    out.sum_emits = out.sum_emits | s.formats;
                    place = 0;
                } else {
                    out.emits = out.emits | s.formats;
                    place = 3;
                }
                break;
            case stage_kind::quantize:
                if (out.has_group() || s.formats.size() != 1) return {};
                for (int f = 1; f < format_count; ++f)
                    if (s.formats.has(static_cast<format>(f)))
                        out.activation = static_cast<format>(f);
                place = 4;
                break;
            case stage_kind::mul_mat:
                out.dense = out.dense | s.formats;
                place = 5;
                break;
            case stage_kind::mul_mat_id:
                out.expert = out.expert | s.formats;
                place = 5;
                break;
        }
        if (place < last) return {};
        last = place;
    }
    const bool around = out.residual || out.scale;
    const bool group = !out.dense.empty() || !out.expert.empty();
    out.known = (out.norm || !around) && group == out.has_group() && (out.norm || group);
    return out;
}

}  // namespace catena
