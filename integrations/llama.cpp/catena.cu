#include "catena.cuh"

#ifdef GGML_CUDA_CATENA
#include "catena/engine/ggml/backend_planner.hpp"
#include "catena/engine/ggml/graph_opt.hpp"
#include "catena/instances/for_device.hpp"
#include "catena/launch/timer.cuh"
#include "catena/runtime.hpp"
#include "ggml-cuda.h"

#include <cstdlib>
#include <vector>

struct ggml_cuda_catena {
    ggml_backend_buffer_type_t memory;  // what kernels of this device reach
    catena::ggml::backend_planner planner;
    const catena::plan * plan = nullptr;  // of the graph that is walked
    int visible_until = 0;                // where the nodes end that ggml-cuda's fusions may see
    std::vector<void *> workspaces;       // the last is in use; captured graphs may hold the others
    int64_t workspace_size = 0;
    int64_t launches = 0, covered = 0;
    catena::step_timer timer;  // of the walk's steps, if the log is to have times
    bool warned = false;

    ggml_cuda_catena(int device, const catena::table & rows, const catena::options & asked)
        : memory(ggml_backend_cuda_buffer_type(device)), planner(rows, asked) {}
};

namespace {

struct user_data {
    const ggml_cgraph * graph;
    ggml_backend_buffer_type_t memory;
};

int uses_of(const ggml_tensor * t, void * user) {
    const ggml_cgraph * graph = static_cast<const user_data *>(user)->graph;
    const size_t at = ggml_hash_find(&graph->visited_hash_set, t);
    const bool known =
        at != GGML_HASHSET_FULL && ggml_bitset_get(graph->visited_hash_set.used, at);
    return known ? graph->use_counts[at] : -1;
}

// Not on the host, not split over devices, not on another device.
bool is_reachable(const ggml_tensor * t, void * user) {
    const ggml_backend_buffer_t buffer = t->view_src ? t->view_src->buffer : t->buffer;
    return buffer && ggml_backend_buffer_get_type(buffer) ==
                         static_cast<const user_data *>(user)->memory;
}

void log_line(const char * text, void *) { GGML_LOG_INFO("%s\n", text); }

void warn_once(ggml_cuda_catena & c, const char * text) {
    if (!c.warned) GGML_LOG_WARN("catena: all is left to ggml-cuda: %s\n", text);
    c.warned = true;
}

// Workspaces are never freed before the end: captured graphs replay launches that use them. The
// bound of the largest graph is known before the first plan, so one allocation is the rule.
bool has_workspace(ggml_cuda_catena & c) {
    if (c.plan->workspace_bytes() <= c.workspace_size) return true;
    const int64_t wanted = c.planner.workspace_bound();
    void * workspace = nullptr;
    if (cudaMalloc(&workspace, static_cast<size_t>(wanted)) != cudaSuccess) {
        (void) cudaGetLastError();
        warn_once(c, "no memory for its workspace");
        return false;
    }
    c.workspaces.push_back(workspace);
    c.workspace_size = wanted;
    return true;
}

// Of the last walk, if there was one.
void log_times(ggml_cuda_catena & c) {
    if (c.plan != nullptr) catena::log_as_asked(c.timer.report(), c.plan->asked());
    c.timer.clear();
}

catena::role role_of(const ggml_cuda_catena * c, int i) {
    return c == nullptr || c->plan == nullptr ? catena::role::engine : c->plan->at(i).role;
}

}  // namespace

ggml_cuda_catena * ggml_cuda_catena_init(int device) {
    const char * on = getenv("GGML_CUDA_CATENA");
    if (on != nullptr && atoi(on) == 0) return nullptr;
    catena::options asked;
    asked.log_to = {log_line, nullptr};
    asked.engine_may_skip_wait = true;  // many of its kernels can return before they wait
    asked = catena::options::from_environment(asked);
    const catena::table rows = catena::instances::for_device(device);
    const catena::status order = catena::ggml::keeps_order(getenv("GGML_CUDA_GRAPH_OPT"));
    for (const catena::status & s : {order, rows.state, asked.state}) {
        if (s.ok()) continue;
        GGML_LOG_WARN("catena: off: %s\n", s.message);
        return nullptr;
    }
    if (!asked.enabled) return nullptr;
    GGML_LOG_INFO("catena: device %d uses the kernels of %s\n", device, rows.target->name);
    return new ggml_cuda_catena(device, rows, asked);
}

void ggml_cuda_catena_free(ggml_cuda_catena * catena) {
    if (catena == nullptr) return;
    log_times(*catena);
    for (void * workspace : catena->workspaces) CUDA_CHECK(cudaFree(workspace));
    GGML_LOG_INFO("catena: %lld walks by %lld plans: %lld nodes done in place of ggml-cuda, in "
                  "%lld places; replays of captured graphs are not counted\n",
                  (long long) catena->planner.walks(), (long long) catena->planner.plans_made(),
                  (long long) catena->covered, (long long) catena->launches);
    delete catena;
}

void ggml_cuda_catena_optimize(ggml_cuda_catena * catena, ggml_cgraph * cgraph,
                               ggml_cuda_catena_keep keep, void * user) {
    if (catena == nullptr || cgraph->n_nodes == 0) return;
    user_data data{cgraph, nullptr};
    catena::ggml::submission graph{cgraph, cgraph->uid, {}};
    graph.known.user = &data;
    graph.known.uses = uses_of;
    const catena::ordering order = catena->planner.order(graph);
    if (!order.state.ok()) return warn_once(*catena, order.state.message);
    const std::vector<ggml_tensor *> nodes(cgraph->nodes, cgraph->nodes + cgraph->n_nodes);
    for (int i = 0; i < cgraph->n_nodes; ++i) cgraph->nodes[i] = nodes[order.order[i]];
    if (keep == nullptr) return;
    for (const catena::keep_alive & k : order.keep) {
        const ggml_tensor * tensor = catena->planner.view().source(k.tensor);
        keep(user, const_cast<ggml_tensor *>(tensor), cgraph->nodes[k.until]);
    }
}

void ggml_cuda_catena_plan(ggml_cuda_catena * catena, ggml_cgraph * cgraph) {
    if (catena == nullptr) return;
    log_times(*catena);
    user_data data{cgraph, catena->memory};
    catena::ggml::submission graph{cgraph, cgraph->uid, {}};
    graph.known.user = &data;
    graph.known.uses = uses_of;
    graph.known.reachable = is_reachable;
    catena::status state;
    // No capture has begun: a new plan loads its kernels.
    catena->plan = catena->planner.before_walk(graph, state);
    catena->visible_until = 0;
    if (catena->plan == nullptr) return warn_once(*catena, state.message);
    if (!catena->plan->state().ok()) warn_once(*catena, catena->plan->state().message);
    if (!has_workspace(*catena)) catena->plan = nullptr;
}

bool ggml_cuda_catena_did(ggml_cuda_catena * catena, int i, cudaStream_t stream) {
    const catena::role role = role_of(catena, i);
    if (role == catena::role::engine) return false;
    ++catena->covered;
    if (role == catena::role::covered) return true;
    ++catena->launches;
    void * workspace = catena->workspaces.empty() ? nullptr : catena->workspaces.back();
    const catena::observer watch = catena->timer.watch_if_asked(catena->plan->asked());
    const catena::status s = catena->plan->launch(i, stream, workspace, &watch);
    if (!s.ok()) GGML_ABORT("catena: %s", s.message);
    return true;
}

ggml_cgraph ggml_cuda_catena_visible(ggml_cuda_catena * catena, const ggml_cgraph * cgraph, int i) {
    ggml_cgraph visible = *cgraph;
    if (catena == nullptr || catena->plan == nullptr) return visible;
    int & until = catena->visible_until;
    if (until <= i)
        for (until = i + 1; until < cgraph->n_nodes; ++until)
            if (role_of(catena, until) != catena::role::engine) break;
    visible.n_nodes = until;
    return visible;
}
#endif  // GGML_CUDA_CATENA
