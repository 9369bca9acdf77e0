// A plan: which nodes Catena's steps take over, and how to launch them. Immutable, self-contained
// (nothing points into the graph view) and reentrant: any number of threads may launch one plan on
// streams of their own. Copies share what it holds.
#pragma once

#include "catena/error/status.hpp"
#include "catena/match/graph.hpp"
#include "catena/plan/shared.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace CATENA_NAMESPACE {

// What a plan tells beyond its nodes has headers of its own.
struct step;  // plan/step.hpp, and so the next three
struct planned_chain;
struct left_over;
struct step_args;
struct explanation;    // plan/explain.hpp
struct plan_counters;  // plan/counters.hpp
struct options;        // plan/options.hpp
struct observer;       // plan/observer.hpp
struct choice;         // pick/choice.hpp
struct table;          // pick/row.hpp
struct plan_contents;

/// Counts an owner of a plan's contents, for plan/shared.hpp.
void add_owner(const plan_contents* made) noexcept;
/// The last owner deletes them.
void drop_owner(const plan_contents* made) noexcept;

/// Bytes; plan::launch takes no workspace of less.
inline constexpr std::size_t workspace_alignment = 256;

/// Who does the work of a node.
enum class role : std::uint8_t {
    engine,  ///< untouched: the engine runs it
    launch,  ///< one or more steps start here: call plan::launch
    covered  ///< done by a step that starts elsewhere
};

constexpr const char* name(role r) {
    return r == role::engine ? "engine" : r == role::launch ? "launch" : "covered";
}

/// What a plan does at a node.
struct node_plan {
    std::int32_t step = -1;  ///< the step that covers it
    catena::role role = catena::role::engine;
    bool elided = false;  ///< its result is never written: only its own step reads it
};

/// What planner::plan returns. Every function is safe to call from many threads at once.
class plan {
  public:
    /// A plan of no nodes.
    plan();
    /// The plan that a planner has made.
    explicit plan(shared<const plan_contents> made) : made_(std::move(made)) {}

    /// The number of nodes of the planned view.
    int size() const;

    /// What to do at node i. A node that the plan has never seen is the engine's.
    node_plan at(int i) const;

    /// Launches every step that starts at node i, in order, or none. `workspace` is 256-byte
    /// aligned, of workspace_bytes(), on the executing device; `stream` is what the table's launch
    /// function takes. Allocates nothing unless it is watched. A failure names the node and the
    /// remedy.
    status launch(int i, void* stream, void* workspace,
                  const observer* watch = nullptr) const noexcept;

    /// Bytes of the workspace that `launch` wants; no plan of this topology and no larger sizes
    /// exceeds ordering::workspace_bound.
    std::int64_t workspace_bytes() const;

    /// Why nothing was planned, if so: a malformed graph, a table without instances.
    const status& state() const;

    /// All steps, in launch order.
    array_view<step> steps() const;

    /// The steps that `launch` launches at node i.
    array_view<step> steps_at(int i) const;

    /// Positions of the nodes that a step covers, in order.
    array_view<std::int32_t> covered(const step& s) const;

    /// The chains that were found, in node order.
    array_view<planned_chain> chains() const;
    /// What was served, left and fell back, in numbers.
    const plan_counters& counters() const;
    /// Nodes that could have been part of a step, or of a larger one, in node order.
    array_view<left_over> left() const;
    /// The table that it was planned with.
    const table& rows() const;
    /// The options that it was planned with.
    const options& asked() const;

    /// The chain whose value step i quantizes in the epilogue of output `member`, or -1.
    std::int32_t makes(int i, int member) const;

    /// The first node of step i that has an operand without an address, or -1: it can be launched.
    std::int32_t missing(int i) const;

    /// The arguments that step i launches with; addresses of the quantized activation are in
    /// `workspace`.
    step_args args(int i, void* workspace) const;

    /// The report.
    explanation explain() const;

    /// "node 37 norm_input attn_norm-3 -> blk.3.attn_q.weight": where step i is launched, its
    /// chain, and the activation and the matrices by the names that the view had. Without the
    /// tensors, if options::log asks for less than steps.
    std::string step_name(int i) const;

    /// The pick of step i and every row that was rejected for it, computed again by the function
    /// that planned: what is explained is what runs.
    choice choice_of(int i) const;

    /// What all of these functions read; its type is no interface.
    const plan_contents& contents() const { return *made_; }

  private:
    status launchable(const step& s, std::int32_t missing, int node,
                      const void* workspace) const noexcept;
    status launch_step(int n, void* stream, void* workspace) const noexcept;
    status launch_watched(int n, void* stream, void* workspace,
                          const observer& watch) const noexcept;

    shared<const plan_contents> made_;
};

}  // namespace CATENA_NAMESPACE
