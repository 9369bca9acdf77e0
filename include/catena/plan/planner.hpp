// The planner: a table and options, asked for plans. It keeps no state between calls; any number of
// threads may use one.
#pragma once

#include "catena/plan/find/premises.hpp"
#include "catena/plan/log.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/result/launch.hpp"
#include "catena/plan/result/report.hpp"
#include "catena/plan/result/step_name.hpp"
#include "catena/plan/verify.hpp"

namespace CATENA_NAMESPACE {

/// Plans graphs with one table and one set of options.
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

    /// Plans a view that was indexed already.
    catena::plan plan_indexed(const graph_index& index) const noexcept;

  private:
    premises known_;

    const table& rows() const { return known_.rows.rows(); }
    catena::plan planned(const graph_index& index) const;
    status build(const graph_index& index, catena::plan& out) const;
    status prepared(const catena::plan& made) const;
    catena::plan dropped(const graph_view& view, const status& why) const;
    verification verified(const graph_view& view, const catena::plan& made) const;
    catena::plan all_to_engine(const graph_view& view) const;
    status ready() const;
};

}  // namespace CATENA_NAMESPACE

#if !defined(CATENA_SEPARATE_COMPILATION)
#include "catena/plan/planning.hpp"
#endif
