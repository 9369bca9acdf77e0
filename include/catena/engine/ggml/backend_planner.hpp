// What a backend of ggml needs beside a view: what may be believed about a graph that it was
// handed, a plan before every walk, and an order before allocation. C++17, nothing is thrown.
#pragma once

#include "catena/engine/ggml.hpp"
#include "catena/plan/cache.hpp"
#include "catena/plan/optimize.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::ggml {

/// A graph as a backend gets it.
struct submission {
    ggml_cgraph* graph = nullptr;
    /// ggml's number of the graph (ggml_cgraph::uid). 0: a slice that was cut on the way, as the
    /// scheduler cuts one for each tensor that an eval callback looks at.
    std::uint64_t uid = 0;
    /// What the backend knows. `uses` are the counts that the graph itself holds; they are not
    /// asked for a graph without a number.
    knowledge known;
};

/// One for each context of a backend; one thread at a time.
class backend_planner {
  public:
    /// Keeps `plans` plans at most, as plan_cache does.
    explicit backend_planner(const table& rows, const options& asked = {},
                             std::size_t plans = plan_cache::enough)
        : cache_(planner(rows, asked), plans) {}

    /// Before allocation: the order of the graph's nodes. Its tensors are those of view().
    ordering order(const submission& s) noexcept {
        ordering out;
        out.state = view_.build(s.graph, s.known);
        if (!out.state.ok()) return out;
        out = optimize(view_.view());
        if (out.state.ok()) bound_ = std::max(bound_, out.workspace_bound);
        return out;
    }

    /// The plan for a walk that begins now. Ask before every walk that is no replay of a captured
    /// graph: nothing else notices that the graph is another. Null: `state` says why, and every
    /// node is the engine's. The plan lives as plan_cache::find says.
    const plan* before_walk(const submission& s, status& state) noexcept {
        ++walks_;
        if (const plan* known = cache_.find(s.uid)) return known;
        knowledge believed = s.known;
        if (s.uid == 0) believed.uses = nullptr;  // whoever cut it reads values without a flag
        state = view_.build(s.graph, believed);
        if (!state.ok()) return nullptr;
        const plan& found = cache_.plan_for(view_.view(), s.uid);
        bound_ = std::max(bound_, found.workspace_bytes());
        return &found;
    }

    /// The graph of the last `order` or `before_walk` that had to look at it.
    const view_builder& view() const { return view_; }

    /// Bytes of workspace that are enough for every order and every plan so far.
    std::int64_t workspace_bound() const { return bound_; }

    /// Calls of before_walk so far.
    std::int64_t walks() const { return walks_; }
    /// Plans made so far; the other walks found theirs in the cache.
    std::int64_t plans_made() const { return cache_.made(); }

  private:
    view_builder view_;
    plan_cache cache_;
    std::int64_t bound_ = 0, walks_ = 0;
};

}  // namespace CATENA_NAMESPACE::ggml
