// What the programs of this folder share. What is wrong they print; their exit code is the number
// of such findings.
#pragma once

#include "catena/exec/host.hpp"
#include "catena/planning.hpp"
#include "catena_test/graph_builder.hpp"

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace catena_test {

inline int wrong = 0;

inline void expect(bool right, const std::string& what) {
    if (right) return;
    std::printf("%s\n", what.c_str());
    ++wrong;
}

/// The graph is planned in two steps, of which `step` computes the nodes, and the plan is proved.
inline void expect_plan(const catena::table& rows, graph_builder& g,
                        std::initializer_list<id> nodes, int step) {
    catena::options o;
    o.verify = true;
    const catena::plan p = catena::planner(rows, o).plan(g.view());
    expect(p.state().ok(), std::string("the plan: ") + p.state().message);
    expect(p.counters().proved == 1, "the plan is not proved");
    expect(p.steps().size() == 2, "the plan has " + std::to_string(p.steps().size()) + " steps");
    for (const id t : nodes)
        expect(p.at(g.position(t)).step == step, "a node of the op is in another step");
}

inline float* put(catena::exec::host_device& machine, const std::vector<double>& values) {
    float* to = machine.allocate<float>("operand", static_cast<std::int64_t>(values.size()),
                                        catena::exec::memory::initialized);
    for (const double v : values) *to++ = static_cast<float>(v);
    return to - values.size();
}

/// A NaN is as far off as can be.
inline void expect_near(const std::vector<double>& wanted, const float* found, double most) {
    double largest = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double off = std::fabs(wanted[i] - double{found[i]});
        largest = off <= largest    ? largest
                  : std::isnan(off) ? std::numeric_limits<double>::infinity()
                                    : off;
    }
    expect(!wanted.empty() && largest < most,
           "the kernel is " + std::to_string(largest) + " off the reference");
}

}  // namespace catena_test
