// All that an engine adds for Catena: it plans a graph once, then walks its nodes as before.
#include "catena/instances/for_device.hpp"
#include "catena/runtime.hpp"

// What the engine has without Catena.
void run_myself(int node);
void report(const char* message);

catena::plan make_plan(const catena::graph_view& graph) {
    const catena::planner planner{catena::instances::for_device(0)};
    catena::plan plan = planner.plan(graph);
    if (!plan.state().ok()) report(plan.state().message);  // then every node is the engine's
    return plan;
}

bool compute(const catena::plan& plan, void* stream, void* workspace) {
    for (int i = 0; i < plan.size(); ++i) {
        switch (plan.at(i).role) {
            case catena::role::engine:  // a node that Catena leaves alone
                run_myself(i);
                break;
            case catena::role::launch:  // a step starts here
                if (const catena::status s = plan.launch(i, stream, workspace); !s.ok()) {
                    report(s.message);
                    return false;
                }
                break;
            case catena::role::covered:  // done by another step
                break;
        }
    }
    return true;
}
