// What matching finds at a node: a place where a chain fits, with its operands and every reader of
// its value, or the reason why not.
#pragma once

#include "catena/match/experts.hpp"
#include "catena/match/gated.hpp"
#include "catena/match/reader.hpp"

#include <vector>

namespace catena {

inline constexpr std::int32_t no_stream = -1;

struct match {
    finding why;            ///< why.why is none when the chain fits
    stage_set stages = {};  ///< what makes the value; empty: somebody else does
    std::int32_t add = -1, norm = -1, mul = -1;  ///< node positions; -1: not part of the chain
    std::int32_t x_scale = -1, norm_scale = -1;  ///< the SCALE of x, of the norm behind its weight
    std::int32_t sum_mul = -1;                   ///< the MUL by a number where `add` joins the norm
    std::int32_t bias_add = -1;                  ///< the ADD of the norm's bias
    std::int32_t next_norm = -1, next_mul = -1;  ///< of the sum, where `add` stands behind `mul`
    std::int32_t glu = -1, unary = -1;           ///< the same of a gated value: GLU or MUL, UNARY
    std::int32_t copy = -1;                      ///< the CONT of its gate
    combination experts;                         ///< what x and the residual join
    row_operand x, residual, gate;               ///< what the chain reads
    std::int32_t weight = no_tensor, bias = no_tensor, next_weight = no_tensor;
    std::int32_t sum_factor = no_tensor;
    float eps = 0, next_eps = 0, alpha = 0, limit = 0;
    float x_times = 1, norm_times = 1;
    gate_function function = gate_function::none;
    std::int32_t activation = no_tensor;  ///< the tensor that holds the chain's value
    std::int64_t quant_k = 0;             ///< elements of a row as the served quantized matmuls
                                          ///< read it; 0: there are none
    bool whole_blocks = true;         ///< rows of any served length put a block at the same place
    std::vector<reader> readers;      ///< of the activation through all its names, in node order
    std::int32_t stream = no_stream;  ///< of the engine, on which all of it runs
    bool sum_needed = false;  ///< somebody else reads, or may read, the sum that a norm reads
    bool f32_needed = false;  ///< the value is read, or may be, as it is, by who cannot be
                              ///< served; the planner adds who multiplies numbers with it

    /// Is the residual added to the weighted norm, not to x?
    bool joins() const { return stages.has(stage_kind::join_residual); }

    /// The node whose result is the sum with the residual.
    std::int32_t sum() const { return sum_mul >= 0 ? sum_mul : add; }

    /// Is it what a CONT copies, and nothing else?
    bool copies() const { return copy >= 0 && copy == glu; }

    /// The node that stands for the place in reports.
    std::int32_t node() const { return norm >= 0 ? norm : glu; }

    /// Leaves the SCALE of x to somebody else.
    void leave_scale(const graph_view& view) {
        const std::int32_t made = view.nodes[x_scale];
        x = {made, 0, strides_of(view.at(made))};
        x_scale = -1, x_times = 1;
    }

    bool found() const { return why.fits(); }
    void quantize_rows(std::int64_t length) {
        quant_k = length;
        whole_blocks = stored_elements(format::q8_1, length) == length;
    }
    /// In which the value is quantized for its readers.
    format_set layouts() const {
        format_set out;
        for (const reader& r : readers)
            if (r.quantized()) out = out | r.layout;
        return out;
    }
    int servable() const {
        int n = 0;
        for (const reader& r : readers) n += r.servable() ? 1 : 0;
        return n;
    }
};

/// Whose rows a step makes one by one: the value's, or those that a CONT gathers.
inline const tensor& rows_of(const graph_view& view, const match& m) {
    const tensor& value = view.at(m.activation);
    if (m.copy < 0) return value;
    const tensor& from = view.at(m.gate.tensor);
    return contiguous(from) ? value : from;
}

}  // namespace catena
