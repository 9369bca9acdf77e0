// What watches a GPU's launches, as an engine uses it: compiled, not run.
#include "catena/launch/nvtx.cuh"
#include "catena/launch/timer.cuh"
#include "catena/runtime.hpp"

catena::timing watched(const catena::plan& plan, void* stream, void* workspace) {
    const catena::observer ranges = catena::nvtx_ranges();
    catena::step_timer timer;
    const catena::observer times = timer.watch();
    for (int i = 0; i < plan.size(); ++i) {
        if (!plan.launch(i, stream, workspace, &ranges).ok()) return {};
        if (!plan.launch(i, stream, workspace, &times).ok()) return {};
    }
    return timer.report();
}
