// Plans layer.json with Catena's instances alone, then with those of my_kernels before them.
#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/pick/join.hpp"
#include "catena/runtime.hpp"
#include "my_kernels/sm_90.hpp"

#include <cstdio>

int main(int, char** arguments) {
    const catena::json::graph graph = catena::json::read(arguments[1]);
    const auto left = [&](const catena::table& rows) {
        const catena::plan plan = catena::planner{rows}.plan(graph.view());
        if (!plan.state().ok()) std::printf("%s\n", plan.state().message);
        int nodes = 0;
        for (int i = 0; i < plan.size(); ++i) nodes += plan.at(i).role == catena::role::engine;
        return nodes;
    };
    const catena::joined both = {my_kernels::sm_90(), catena::instances::sm_90()};
    const int without = left(catena::instances::sm_90()), with = left(both.rows());
    std::printf("%d nodes are left to the engine without my_kernels, %d with it\n", without, with);
    return without > with && with == 0 ? 0 : 1;
}
