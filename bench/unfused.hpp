// What Catena would take without being Catena: copies of a cut, each op in a launch of its own, by
// Catena's kernels.
#pragma once

#include "copies.hpp"

#include "catena/pick/choice.hpp"
#include "catena/pick/row.hpp"
#include "catena/runtime.hpp"

#include <string>
#include <vector>

namespace catena::bench {

class unfused_copies {
  public:
    /// Every matmul quantizes for itself, in its own launch where a row does that, else in one
    /// before; norms, their weights, sums and gates read and write f32. `sums` serves ADD
    /// (sums.hpp), `rows` all else.
    unfused_copies(const std::vector<small_graph>& copies, const table& rows, const table& sums);

    std::int64_t workspace_bytes() const { return workspace_bytes_; }

    /// Launches every copy.
    status launch(void* stream, void* workspace) const;

    int launches_of_one() const { return launches_; }

    /// Ops of one copy that no kernel of Catena computes alone, in the order of the graph; they are
    /// not launched.
    std::string left() const { return left_; }

  private:
    /// A node: the plan of a matmul by itself, or one launch of a row.
    struct single {
        plan matmul;
        table rows;
        picked how;
        row_args args;
    };
    std::vector<single> nodes_;
    std::int64_t workspace_bytes_ = 0;
    int launches_ = 0;
    std::string left_;
};

}  // namespace catena::bench
