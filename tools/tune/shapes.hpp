// What to tune: the launches that a planner asks for in real graphs, gathered to classes of one
// shape.
#pragma once

#include "expand.hpp"

#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <memory>
#include <string>
#include <vector>

namespace catena::tune {

/// The rows of a computation, and the set around them, as the catalogue and the policies say now.
class described_set {
  public:
    /// `compiled`: a set whose rows have counts of their machine code, or one without rows.
    explicit described_set(const arch& target, const table& compiled = {});

    /// A set that is compiled in, such as an engine's own: its rows take the place of the lists.
    explicit described_set(const table& t);

    table rows() const;

    /// The rows that are listed for a computation.
    std::vector<row> rows_of(const computation& c) const;

  private:
    const arch* target_;
    generator::catalogue catalogue_;
    std::vector<row> rows_;
};

struct shape {
    computation computes;  ///< of the row that the planner picked
    problem what;
    int places = 0;   ///< steps of the graphs that have it, or one of its class
    double work = 0;  ///< bytes that these move for one token
};

/// What is asked for, by name; empty: everything.
struct selection {
    std::vector<std::string> chains = {};  ///< of the catalogue: "norm_input", "norm_input.fp8"
    /// Weight formats of a launch: all of a problem's are listed.
    std::vector<std::string> formats = {};
};

/// Shapes of the steps of `graphs` (files), those with the most work first, matmuls last and at
/// columns of all classes. Of a class, which is a computation, k, columns and, to a factor of two,
/// rows, the shape with the most places stands for all. Throws std::runtime_error where a graph
/// cannot be planned or a name is not known.
std::vector<shape> shapes_of(const std::vector<std::string>& graphs, const described_set& set,
                             const selection& wanted);

}  // namespace catena::tune
