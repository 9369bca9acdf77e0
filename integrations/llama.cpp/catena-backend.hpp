// Catena within a backend of ggml, whoever runs the kernels: ggml-cuda with Catena in its sources,
// or the tests' device. It reads ggml's private headers. C++17.
#pragma once

#include "catena/engine/ggml/backend_planner.hpp"
#include "catena/engine/ggml/graph_opt.hpp"
#include "catena/launch/timer.hpp"
#include "catena/pick/measured_file.hpp"
#include "catena/plan/log.hpp"
#include "catena/runtime.hpp"
#include "ggml-backend.h"
#include "ggml-impl.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace CATENA_NAMESPACE::ggml {

/// The memory of the device on which the kernels run.
struct device_memory {
    virtual ~device_memory() = default;
    /// Can kernels follow addresses of this type? Those of the host, of another device and of
    /// tensors that are split over devices they cannot.
    virtual bool reaches(ggml_backend_buffer_type_t) const = 0;
    virtual void* allocate(std::size_t bytes) = 0;  ///< null if there is no room
    virtual void release(void* memory) = 0;
};

/// The options that the environment sets. Their lines go to ggml's log.
inline options options_of_user() {
    options asked;
    asked.log_to = {[](const char* line, void*) { GGML_LOG_INFO("%s\n", line); }, nullptr};
    asked.engine_may_skip_wait = true;  // some of ggml-cuda's kernels may return before they wait
    asked.engine_version = ggml_version();
    return options::from_environment(asked);
}

/// False if the user has switched Catena off.
inline bool is_wanted(const options& asked) {
    const char* on = std::getenv("GGML_CUDA_CATENA");
    return (on == nullptr || std::atoi(on) != 0) && asked.enabled;
}

/// Whether Catena can serve a device, or why it cannot.
inline status can_serve(const table& rows, const options& asked) {
    for (const status& s : {keeps_order(std::getenv("GGML_CUDA_GRAPH_OPT")), asked.state})
        if (!s.ok()) return s;
    return rows.state;
}

/// The rows of a device with the medians of the file that GGML_CUDA_CATENA_ROWS names, if it names
/// one. `mine` keeps them, as long as a planner reads the table.
inline table with_medians_of_user(const table& rows, measured_file& mine) {
    const char* const path = std::getenv("GGML_CUDA_CATENA_ROWS");
    if (path == nullptr || *path == '\0') return rows;
    if (const status read = mine.read(path, rows); !read.ok()) {
        GGML_LOG_WARN("catena: GGML_CUDA_CATENA_ROWS is left out: %s\n", read.message);
        return rows;
    }
    GGML_LOG_INFO("catena: %d medians of %s decide, %d are of no row\n", mine.size(), path,
                  mine.passed_over());
    return mine.over(rows);
}

/// What a backend needs between the calls of ggml: plans, an order before allocation, workspaces
/// and counts. One thread at a time.
class planned_backend {
  public:
    /// Keeps `tensor` allocated until the node `until` was computed.
    using keep_function = void (*)(void* user, ggml_tensor* tensor, ggml_tensor* until);

    /// `memory` lives longer.
    planned_backend(const table& rows, const options& asked, device_memory& memory)
        : memory_(memory), planner_(with_medians_of_user(rows, medians_), asked) {}
    planned_backend(const planned_backend&) = delete;
    planned_backend& operator=(const planned_backend&) = delete;

    ~planned_backend() {
        for (void* w : workspaces_) memory_.release(w);
        for (void* s : known_.scratch) memory_.release(s);
        GGML_LOG_INFO(
            "catena: %lld walks by %lld plans: %lld nodes done in place of the engine, in "
            "%lld places; replays of captured graphs are not counted\n",
            static_cast<long long>(planner_.walks()), static_cast<long long>(planner_.plans_made()),
            static_cast<long long>(covered_), static_cast<long long>(launches_));
    }

    /// Before allocation: reorders the nodes and says which tensors have to live longer. A ggml
    /// that cannot prolong a tensor's life passes a null `keep`; then more launches are split.
    void optimize(ggml_cgraph* graph, keep_function keep, void* user) {
        if (graph->n_nodes == 0) return;
        const ordering order = planner_.order(submitted(graph));
        if (!order.state.ok()) return warn_once(order.state.message);
        const std::vector<ggml_tensor*> nodes(graph->nodes, graph->nodes + graph->n_nodes);
        for (int i = 0; i < graph->n_nodes; ++i)
            graph->nodes[i] = nodes[static_cast<std::size_t>(order.order[i])];
        if (keep == nullptr) return;
        for (const keep_alive& k : order.keep)
            keep(user, const_cast<ggml_tensor*>(planner_.view().source(k.tensor)),
                 graph->nodes[k.until]);
    }

    /// Before the nodes are walked. No capture may have begun: a new plan loads its kernels and may
    /// allocate a workspace. Null: every node is the engine's.
    const plan* plan_for(ggml_cgraph* graph) {
        submission asked = submitted(graph);
        asked.known.reachable = [](const ggml_tensor* t, void* user) {
            const ggml_backend_buffer_t b = t->view_src ? t->view_src->buffer : t->buffer;
            return b != nullptr && static_cast<const known_graph*>(user)->memory->reaches(
                                       ggml_backend_buffer_get_type(b));
        };
        asked.known.scratch = [](std::int64_t bytes, void* user) {
            return static_cast<known_graph*>(user)->scratch_of(bytes);
        };
        status state;
        plan_ = planner_.before_walk(asked, state);
        if (plan_ == nullptr) {
            warn_once(state.message);
        } else {
            if (!plan_->state().ok()) warn_once(plan_->state().message);
            if (!has_workspace()) plan_ = nullptr;
        }
        return plan_;
    }

    /// What is to be done at node i of the graph that was planned last.
    role at(int i) const { return plan_ == nullptr ? role::engine : plan_->at(i).role; }

    /// Launches what starts at node i, if something does. The node is not the engine's.
    status run(int i, void* stream, const observer& watch = {}) {
        ++covered_;
        if (at(i) == role::covered) return {};
        ++launches_;
        return plan_->launch(i, stream, workspaces_.empty() ? nullptr : workspaces_.back(), &watch);
    }

    const backend_planner& planner() const { return planner_; }
    std::int64_t launches() const { return launches_; }  ///< so far

  private:
    struct known_graph {
        const ggml_cgraph* graph = nullptr;
        device_memory* memory = nullptr;
        std::vector<void*> scratch = {};  // the last is the largest; plans may hold the others
        std::int64_t scratch_bytes = 0;

        void* scratch_of(std::int64_t bytes) {
            if (bytes <= scratch_bytes) return scratch.back();
            void* const made = memory->allocate(static_cast<std::size_t>(bytes));
            if (made == nullptr) return nullptr;  // the engine runs what would need it
            scratch.push_back(made);
            scratch_bytes = bytes;
            return made;
        }
    };

    /// The counts of readers are those of the whole graph; ggml keeps them with each slice.
    submission submitted(ggml_cgraph* graph) {
        known_.graph = graph;
        known_.memory = &memory_;
        submission s{graph, graph->uid, {}};
        s.known.user = &known_;
        s.known.uses = [](const ggml_tensor* t, void* user) {
            const ggml_cgraph* g = static_cast<const known_graph*>(user)->graph;
            const std::size_t at = ggml_hash_find(&g->visited_hash_set, t);
            const bool known =
                at != GGML_HASHSET_FULL && ggml_bitset_get(g->visited_hash_set.used, at);
            return known ? g->use_counts[at] : -1;
        };
        return s;
    }

    /// Workspaces are freed at the end alone: captured graphs replay launches that use them. The
    /// bound of the largest graph is known before the first plan, so one allocation is the rule.
    bool has_workspace() {
        if (plan_->workspace_bytes() <= workspace_bytes_) return true;
        const std::int64_t wanted = planner_.workspace_bound();
        void* workspace = memory_.allocate(static_cast<std::size_t>(wanted));
        if (workspace == nullptr) {
            warn_once("no memory for its workspace");
            return false;
        }
        workspaces_.push_back(workspace);
        workspace_bytes_ = wanted;
        return true;
    }

    void warn_once(const char* text) {
        if (!warned_) GGML_LOG_WARN("catena: all is left to the engine: %s\n", text);
        warned_ = true;
    }

    device_memory& memory_;
    measured_file medians_;
    backend_planner planner_;
    known_graph known_{};
    const plan* plan_ = nullptr;     // of the graph that is walked
    std::vector<void*> workspaces_;  // the last is in use; captured graphs may hold the others
    std::int64_t workspace_bytes_ = 0, launches_ = 0, covered_ = 0;
    bool warned_ = false;
};

/// Times of Catena's steps for ggml's log, if the user asks for them (CATENA_LOG=times): written
/// when the backend is freed. `Timer` is a basic_step_timer.
template <class Timer>
class timed_walks {
  public:
    explicit timed_walks(const options& asked) : asked_(asked) {}
    ~timed_walks() { log_as_asked(timer_.report(), asked_); }
    timed_walks(const timed_walks&) = delete;
    timed_walks& operator=(const timed_walks&) = delete;

    /// Waits for the steps of the walk, so it is called before the next one.
    void end_walk() { timer_.end_walk(); }
    /// For planned_backend::run.
    observer watch() { return timer_.watch_if_asked(asked_); }

  private:
    options asked_;
    Timer timer_;
};

}  // namespace CATENA_NAMESPACE::ggml
