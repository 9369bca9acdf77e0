// A second opinion on a finished plan, by something that did not make it: the engine's order and
// the plan's are replayed on a symbolic memory, where each byte holds a value. It looks at the
// graph and at the arguments with which steps launch, and shares no code with what matches and
// builds plans; only whether the view is well-formed is asked as the planner asks it.
#pragma once

#include "catena/plan/plan.hpp"

#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// A value that a graph overwrites although it still reads it.
struct value_overwritten {
    std::int32_t writer = -1;         ///< node that writes
    std::int32_t reader = -1;         ///< node behind it that reads; -1: the value is a weight
    std::int32_t tensor = no_tensor;  ///< tensor whose value it is
    std::int32_t buffer = no_buffer;  ///< buffer of the tensor
    std::uint64_t offset = 0;         ///< first byte written, in the buffer; in the tensor,
                                      ///< if it has no buffer
    std::uint64_t bytes = 0;          ///< number of bytes written from there on
};

/// What a proof looked at, and the first thing that is wrong: status_code::wrong_plan, wrong_graph
/// if no plan of the graph could be right, or invalid_argument if the view is malformed.
struct verification {
    status state;                   ///< names step, node and byte of the first fault
    bool proved = false;            ///< false without a fault: some tensor has no address
    std::int32_t step = -1;         ///< step with the fault; -1: no step has it
    std::int32_t node = -1;         ///< node with the fault, or where its step launches
    std::uint64_t byte = 0;         ///< an address, or a byte of the workspace
    std::int32_t steps = 0;         ///< steps replayed
    std::int32_t nodes = 0;         ///< nodes of the engine replayed
    std::int64_t reads = 0;         ///< reads that found the value which the graph says
    std::int64_t results = 0;       ///< results of steps, each the value of a node of the graph
    std::int64_t slots = 0;         ///< activations written into the workspace
    value_overwritten overwritten;  ///< the fault of a wrong graph
};

/// The tensors of a view with addresses where they have only a buffer and an offset, as in a bare
/// graph file: a plan of these can be verified, and is the plan of the view. Nothing lies there.
inline std::vector<tensor> with_addresses(const graph_view& view) {
    std::vector<tensor> out(view.tensors, view.tensors + view.tensor_count);
    for (tensor& t : out)
        if (t.data == nullptr && t.buffer != no_buffer)
            t.data = reinterpret_cast<void*>((static_cast<std::uintptr_t>(t.buffer) + 1) << 44 |
                                             static_cast<std::uintptr_t>(t.offset));
    return out;
}

/// The scratch of a view whose tensors have addresses by with_addresses: behind all buffers.
inline void* scratch_address(const graph_view& view) {
    std::int32_t last = no_buffer;
    for (std::int32_t t = 0; t < view.tensor_count; ++t)
        if (view.at(t).buffer > last) last = view.at(t).buffer;
    return reinterpret_cast<void*>((static_cast<std::uintptr_t>(last) + 2) << 44);
}

/// Proves a plan of this view right, or says what is wrong. First the graph: a node may write over
/// a value only behind all who read it, unless it names the value's memory (view_src). Then the
/// plan: every node of the engine and every step reads the values that the graph says, every result
/// is what its node computes, and is left where somebody may read it; activations in the workspace
/// live as long as they are read; what is read early is constant; addresses are aligned. Time and
/// memory grow with nodes and steps. Rounding is not looked at, nor time. The view of a plan that
/// takes over MOE_FFNs is proved, and its nodes are counted, with these written out.
verification verify(const graph_view& view, const plan& made);

}  // namespace CATENA_NAMESPACE
