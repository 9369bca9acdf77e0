// How an engine changes the policies of its own instances.
#pragma once

#include "catena/pick/row.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace catena::generator {

/// The policies of a computation, and those that are picked for a shape before all others.
struct policy_list : std::vector<policy> {
    using std::vector<policy>::vector;

    /// The policy joins the list, unless it is there.
    void prefer(const problem_shape& of, const policy& how) {
        if (std::find(begin(), end(), how) == end()) push_back(how);
        preferred.emplace_back(of, how);
    }

    std::vector<std::pair<problem_shape, policy>> preferred;
};

/// Changes the policies that Catena would compile a computation with on an arch: adds some, takes
/// some out, replaces them all, or prefers some for a shape. It is called for every computation of
/// the catalogue.
using policy_change = void (*)(const arch& target, const computation& computes, policy_list& all);

}  // namespace catena::generator
