// The planner: a table and options, asked for plans. It keeps no state between calls; any number of
// threads may use one.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/shared.hpp"

namespace CATENA_NAMESPACE {

class graph_index;
struct premises;

/// Counts an owner of what a planner knows, for plan/shared.hpp.
void add_owner(const premises* made) noexcept;
/// The last owner deletes it.
void drop_owner(const premises* made) noexcept;

/// Plans graphs with one table and one set of options. Copies share what is known of them.
class planner {
  public:
    /// A table with a bad state, or without rows, plans everything to the engine and plan::state()
    /// says why.
    explicit planner(const table& rows, const options& asked = {});

    /// Plans a graph after its memory was allocated. (Before that it plans too, but then it must
    /// assume that tensors may share memory, and the plan cannot be launched.) A malformed view is
    /// left to the engine whole; plan::state() names node and field. Out of memory
    /// terminates the program.
    /// If the table's device is at hand (table::prepare), the kernels of the plan are loaded there:
    /// plan while no stream is captured.
    catena::plan plan(const graph_view& view) const noexcept;

    /// Plans a view that was indexed already; the type of an index is no interface.
    catena::plan plan_indexed(const graph_index& index) const noexcept;

  private:
    shared<const premises> known_;
};

}  // namespace CATENA_NAMESPACE
