// Ops of an engine's own as a table carries them: plain functions, by which the matcher and the
// proof know the nodes that compute them, and tests what they mean. kernel/own_ops.hpp makes the
// list.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/match/graph.hpp"

namespace catena {

/// One op: f(value) for each element of the first source of its node.
struct own_op {
    const char* name = "";
    bool (*match)(const tensor& node, op_numbers& numbers) = nullptr;
    double (*reference)(double value, const op_numbers& numbers) = nullptr;
};

struct own_ops {
    const own_op* first = nullptr;
    int count = 0;

    /// The op that a node computes, with its numbers; of function none: it computes no such op.
    own_call of(const tensor& node) const {
        for (int i = 0; i < count; ++i) {
            own_call call{own_function(i), {}};
            if (first[i].match(node, call.with)) return call;
        }
        return {};
    }
};

}  // namespace catena
