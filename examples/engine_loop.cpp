// An engine's whole side of Catena: plan a graph once, then walk its nodes as before.
#include "catena/runtime.hpp"

// What the engine has anyway.
void run_myself(int node);
void report(const char* message);

bool compute(const catena::graph_view& graph, const catena::plan& plan, void* stream,
             void* workspace) {
    for (int i = 0; i < graph.size(); ++i) {
        switch (plan.at(i).role) {
            case catena::role::engine: run_myself(i); break;  // a node Catena leaves alone
            case catena::role::launch:                        // a step starts here
                if (const catena::status s = plan.launch(i, stream, workspace); !s.ok()) {
                    report(s.message);
                    return false;
                }
                break;
            case catena::role::covered: break;                // done by an earlier step
        }
    }
    return true;
}
