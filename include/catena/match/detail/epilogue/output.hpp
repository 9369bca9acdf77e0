// One result of a group's launch: a matmul, or two that a GLU gates, and the nodes behind them that
// the launch takes over as the result's epilogue.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/match/detail/index.hpp"

#include <cassert>
#include <cstdint>

namespace CATENA_NAMESPACE {

/// The most nodes that follow a matmul one after the other in its launch, sums of slots aside. Its
/// own: a scale or a factor, a bias. Of its output: two that gate, an engine's own op, a residual.
inline constexpr int max_followers_of_matmul = 2, max_followers_of_output = 4;
inline constexpr int max_followers = max_followers_of_matmul + max_followers_of_output;

/// A short list of positions. A copy copies only those in use, because copies are made often.
class node_list {
  public:
    /// The most nodes of one matmul: itself, its followers, REPEAT and GET_ROWS of factors of
    /// experts.
    static constexpr int max_biased = 1 + max_followers_of_matmul + 2;
    static constexpr int max_slots = 32;  ///< most results of experts that are added up
    /// The most nodes of an output: two matmuls, its followers, GET_ROWS of its only row, the
    /// weights' MUL and the ADDs of all slots.
    static constexpr int max_nodes = 2 * max_biased + max_followers_of_output + 1 + max_slots;

    node_list() {}
    node_list(const node_list& o) { *this = o; }
    node_list& operator=(const node_list& o) {
        count_ = o.count_;
        for (int i = 0; i < count_; ++i) nodes_[i] = o.nodes_[i];
        return *this;
    }
    void push_back(std::int32_t position) {
        assert(count_ < max_nodes);
        nodes_[count_++] = position;
    }

    int size() const { return count_; }
    const std::int32_t* begin() const { return nodes_; }
    const std::int32_t* end() const { return nodes_ + count_; }
    std::int32_t back() const { return nodes_[count_ - 1]; }

  private:
    std::int32_t nodes_[max_nodes];
    int count_ = 0;
};

/// What a part reads in memory: its operand for the first matmul, and for the second one of a GLU.
struct part_tensors {
    std::int32_t tensor = no_tensor, of_up = no_tensor;
};

/// The operands of all parts.
class part_reads {
  public:
    part_tensors& operator[](epilogue_part p) { return all_[static_cast<int>(p)]; }
    const part_tensors& operator[](epilogue_part p) const { return all_[static_cast<int>(p)]; }

  private:
    part_tensors all_[epilogue_part_count];
};

struct output {
    static constexpr int max_slots = node_list::max_slots;

    epilogue_set parts;
    std::int32_t matmul = -1;  ///< position
    std::int32_t up = -1;  ///< position of a GLU's second matmul; -1: none, or halves of one matrix
    node_list nodes;       ///< every position covered, the matmuls included
    std::int32_t result = no_tensor;  ///< tensor that the launch writes
    epilogue_params params;
    part_reads reads;
    bool swapped = false;       ///< halves of one matrix: the gate is the second
    bool renamed = false;       ///< the result's shape is not the matmul's: neither has gaps
    bool many_factors = false;  ///< each expert has a factor and one for `up`, or each column
    std::int32_t slot_weights = no_tensor;  ///< weights of the slots; no_tensor: each is 1
    std::int32_t latest = -1;  ///< last position of the combined nodes, without the sum's ADDs

    bool halves() const { return parts.has(epilogue_part::glu) && up < 0; }
    void take(std::int32_t position) { nodes.push_back(position); }

    /// The part takes node `position` over, which makes `tensor`: that is the result now.
    void end(epilogue_part part, std::int32_t position, std::int32_t tensor) {
        take(position);
        parts = parts | part;
        result = tensor;
    }

    /// Does a thread of the launch read an element of the tensor before it writes that of the
    /// result? A bias that several columns share is a constant, so it lies under no result.
    bool reads_by_element(std::int32_t tensor) const {
        for (const epilogue_part p : parts)
            if (info(p).reads != part_operand::number && reads[p].tensor == tensor) return true;
        return false;
    }
};

/// The output that is a matmul without an epilogue.
inline output plain_output(const graph_view& view, std::int32_t matmul) {
    output out;
    out.matmul = matmul;
    out.result = view.nodes[matmul];
    out.take(matmul);
    return out;
}

}  // namespace CATENA_NAMESPACE
