// The planner: a table and options, asked for plans. It keeps no state between calls; any number of threads
// may use one.
#pragma once

#include "catena/plan/plan.hpp"

namespace catena {

class planner {
  public:
    /// A table with a bad state, or without rows, plans everything to the engine and plan::state() says why.
    explicit planner(const table& rows, const options& asked = {}) : table_(rows), options_(asked) {}

    /// Plans a graph after its memory was allocated. (Before that it plans too, but then it must assume that
    /// tensors may share memory, and the plan cannot be launched.) A malformed view is left to the engine
    /// whole; plan::state() names node and field. Takes time linear in the nodes.
    inline catena::plan plan(const graph_view& view) const;

  private:
    table table_;
    options options_;
};

}  // namespace catena
