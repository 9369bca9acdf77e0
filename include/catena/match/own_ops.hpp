// Ops of an engine's own as a table carries them: plain functions, by which the matcher and the
// proof know the nodes that compute them, and tests what they mean. kernel/own_ops.hpp makes the
// list.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/match/graph.hpp"

#include <string_view>

namespace CATENA_NAMESPACE {

/// One op: f(value) for each element of the first source of its node.
struct own_op {
    const char* name = "";
    bool (*match)(const tensor& node, op_numbers& numbers) = nullptr;
    double (*reference)(double value, const op_numbers& numbers) = nullptr;
};
inline bool operator==(const own_op& a, const own_op& b) {
    return a.match == b.match && a.reference == b.reference &&
           std::string_view(a.name) == std::string_view(b.name);
}

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

    /// The name of an op; "nothing" behind the last.
    const char* name_of(int i) const { return i < count ? first[i].name : "nothing"; }
};

/// The first place where two lists differ; negative: nowhere.
inline int difference(const own_ops& a, const own_ops& b) {
    for (int i = 0; i < a.count || i < b.count; ++i)
        if (i >= a.count || i >= b.count || !(a.first[i] == b.first[i])) return i;
    return -1;
}

}  // namespace CATENA_NAMESPACE
