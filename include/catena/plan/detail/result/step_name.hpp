// The engine's names of a step's tensors, for the step's name in logs and times.
#pragma once

#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"

#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// " attn_norm-3", and of a product " attn_norm-3 -> blk.3.attn_q.weight, blk.3.attn_k.weight".
inline std::string tensors_of(const step& s, const plan& p, const graph_view& g) {
    std::string out;
    const auto add = [&](const char* before, std::int32_t t) {
        if (t != no_tensor && *g.at(t).name != 0) out.append(before).append(g.at(t).name);
    };
    add(" ", p.chains()[static_cast<std::size_t>(s.chain)].activation);
    const char* before = " -> ";
    for (const std::int32_t n : p.covered(s)) {
        if (!is_matmul(g.node(n).kind)) continue;
        add(before, g.node(n).src[0]);
        before = ", ";
    }
    return out;
}

/// Tensors of every step. The names of the view are copied.
inline std::vector<std::string> tensors_of_steps(const plan& p, const graph_view& g) {
    std::vector<std::string> out;
    for (const step& s : p.steps()) out.push_back(tensors_of(s, p, g));
    return out;
}

}  // namespace detail

}  // namespace CATENA_NAMESPACE
