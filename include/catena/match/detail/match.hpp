// What matching finds at a node: a place where a chain fits, with its operands and every reader of
// its value, or the reason why not.
#pragma once

#include "catena/match/detail/experts.hpp"
#include "catena/match/detail/gated.hpp"
#include "catena/match/detail/heads.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/match/detail/routing.hpp"

#include <algorithm>
#include <vector>

namespace CATENA_NAMESPACE {

inline constexpr std::int32_t no_stream = -1;

/// A node that a stage of a chain takes over.
struct taken_node {
    stage_kind stage;
    std::int32_t node;   ///< position
    bool aside = false;  ///< its result is not the chain's value, but the next node's operand
};

/// What a row step reads of a graph, by operand.
class row_operands {
  public:
    row_operand& operator[](operand o) { return all_[static_cast<int>(o)]; }
    const row_operand& operator[](operand o) const { return all_[static_cast<int>(o)]; }

  private:
    row_operand all_[operand_count];
};

struct match {
    obstacle why;                    ///< why.why is none when the chain fits
    stage_set stages = {};           ///< what makes the value; empty: somebody else does
    std::int32_t node = -1;          ///< position: its norm, or what makes a gated value
    std::vector<taken_node> taken;   ///< in the order in which the value passes them
    std::vector<head_chain> values;  ///< of a launch of heads, which has no other operands
    routing routed;                  ///< of a launch of routing, which has no others either
    combination experts;             ///< what x and the residual join, with nodes of its own
    row_operands reads;
    row_params params;
    std::int32_t sum = -1;                ///< position of the sum that a norm reads, or -1
    std::int32_t activation = no_tensor;  ///< the tensor that holds the chain's value
    std::int64_t quant_k = 0;             ///< elements of a row as the served quantized matmuls
                                          ///< read it; 0: there are none
    bool whole_blocks = true;         ///< rows of any served length put a block at the same place
    std::vector<reader> readers;      ///< of the activation through all its names, in node order
    std::int32_t stream = no_stream;  ///< of the engine, on which all of it runs
    bool sum_needed = false;          ///< somebody else reads, or may read, the sum
    bool f32_needed = false;          ///< the value is read, or may be, as it is, by who cannot be
                                      ///< served; the planner adds who multiplies numbers with it

    /// Takes over a node of a stage, behind those of the stages up to it.
    void take(taken_node n) {
        const auto behind = std::find_if(taken.begin(), taken.end(), [&n](const taken_node& other) {
            return other.stage > n.stage;
        });
        taken.insert(behind, n);
    }

    /// The first node of a stage that makes the chain's value, or -1.
    std::int32_t at(stage_kind stage) const {
        for (const taken_node& n : taken)
            if (n.stage == stage && !n.aside) return n.node;
        return -1;
    }

    /// Is the value only what a CONT copies, a gate without a function or an x?
    bool copies() const {
        return stages.has(stage_kind::glu) && params.function == gate_function::none &&
               reads[operand::x].tensor == no_tensor;
    }

    bool found() const { return !why.found(); }
    void quantize_rows(std::int64_t length) {
        quant_k = length;
        whole_blocks = stored_elements(format::q8_1, length) == length;
    }
    /// The layouts in which the value is quantized for its readers.
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

/// The tensor whose rows a step computes one by one: the value, or what a CONT gathers.
inline const tensor& rows_of(const graph_view& view, const match& m) {
    const tensor& value = view.at(m.activation);
    const bool copied = std::any_of(m.taken.begin(), m.taken.end(), [&](const taken_node& n) {
        return view.node(n.node).kind == op::cont;
    });
    if (!copied) return value;
    const tensor& from = view.at(m.reads[operand::gate].tensor);
    return contiguous(from) ? value : from;
}

}  // namespace CATENA_NAMESPACE
