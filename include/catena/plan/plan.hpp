// A plan: which nodes Catena's steps take over, and how to launch them. Immutable, self-contained
// (nothing points into the graph view) and reentrant: any number of threads may launch one plan on
// streams of their own.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/match/graph.hpp"
#include "catena/pick/choice.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/observer.hpp"
#include "catena/plan/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

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

/// One launch.
struct step {
    std::int32_t chain = -1;      ///< index into chains() of the plan: the one whose value it makes
                                  ///< (row) or reads (matvec, matmul)
    std::int32_t row = -1;        ///< index into the table's rows
    std::int32_t launch_at = -1;  ///< node position
    std::int32_t first_node = 0;  ///< into covered()
    std::int32_t node_count = 0;
    problem what;
    launch_config config;
    std::int32_t band_rows = 0;  ///< matvec
    std::int64_t bytes = 0;      ///< moved at least
    double predicted_us = 0;
    bool clusters_refused = false;  ///< it would have clusters, but the device has no room for them
};

/// A chain where it was found, and where its activation lies.
struct planned_chain : chain_place {
    format_set layouts;                                ///< in which it is quantized
    std::int64_t workspace_offset[layout_count] = {};  ///< by activation_layouts, of those
    std::int64_t workspace_bytes = 0;                  ///< of all its layouts; 0: none is quantized
    obstacle norm_apart;  ///< of a norm: why its readers' launch does not make it; reason::none: it
                          ///< does, and made_by is that step
};

/// Something that stayed with the engine; when no row served it, with the problem that was asked.
struct left_over {
    obstacle what;
    rejection nearest;  ///< reason::no_row: the rejection that came closest
};

/// What a step launches with: the argument struct of its skeleton.
struct step_args {
    skeleton kind = skeleton::row;
    row_args row;
    heads_args heads;  ///< skeleton::row of heads
    route_args route;  ///< skeleton::row of a routing
    matvec_args matvec;
    matmul_args matmul;

    /// Does it launch heads?
    bool of_heads() const { return kind == skeleton::row && heads.members > 0; }
    /// Does it send tokens to their experts?
    bool of_routing() const { return kind == skeleton::row && route.tokens > 0; }
    /// The struct of its kind, as launch_fn takes it.
    const void* data() const {
        return of_heads()                 ? static_cast<const void*>(&heads)
               : of_routing()             ? static_cast<const void*>(&route)
               : kind == skeleton::row    ? static_cast<const void*>(&row)
               : kind == skeleton::matvec ? static_cast<const void*>(&matvec)
                                          : &matmul;
    }
    /// The size of that struct in bytes.
    std::size_t size() const {
        return of_heads()                 ? sizeof heads
               : of_routing()             ? sizeof route
               : kind == skeleton::row    ? sizeof row
               : kind == skeleton::matvec ? sizeof matvec
                                          : sizeof matmul;
    }
};

/// What planner::plan returns. Every function is safe to call from many threads at once.
class plan {
  public:
    /// The number of nodes of the planned view.
    int size() const { return static_cast<int>(nodes_.size()); }

    /// What to do at node i. A node that the plan has never seen is the engine's.
    node_plan at(int i) const {
        return i >= 0 && i < size() ? nodes_[static_cast<std::size_t>(i)] : node_plan{};
    }

    /// Launches every step that starts at node i, in order, or none. `workspace` is 256-byte
    /// aligned, of workspace_bytes(), on the executing device; `stream` is what the table's launch
    /// function takes. Allocates nothing unless it is watched. A failure names the node and the
    /// remedy.
    inline status launch(int i, void* stream, void* workspace,
                         const observer* watch = nullptr) const noexcept;

    /// Bytes of the workspace that `launch` wants; no plan of this topology and no larger sizes
    /// exceeds ordering::workspace_bound.
    std::int64_t workspace_bytes() const { return workspace_bytes_; }

    /// Why nothing was planned, if so: a malformed graph, a table without instances.
    const status& state() const { return state_; }

    /// All steps, in launch order.
    array_view<step> steps() const { return {steps_.data(), steps_.data() + steps_.size()}; }

    /// The steps that `launch` launches at node i.
    array_view<step> steps_at(int i) const {
        if (i < 0 || i >= size()) return {nullptr, nullptr};
        const std::int32_t* const first = first_step_at_.data() + i;
        return {steps_.data() + first[0], steps_.data() + first[1]};
    }

    /// Positions of the nodes that a step covers, in order.
    array_view<std::int32_t> covered(const step& s) const {
        return {covered_.data() + s.first_node, covered_.data() + s.first_node + s.node_count};
    }

    /// The chains that were found, in node order.
    array_view<planned_chain> chains() const {
        return {chains_.data(), chains_.data() + chains_.size()};
    }
    /// What was served, left and fell back, in numbers.
    const plan_counters& counters() const { return counters_; }
    /// Nodes that could have been part of a step, or of a larger one, in node order.
    array_view<left_over> left() const { return {left_.data(), left_.data() + left_.size()}; }
    /// The table that it was planned with.
    const table& rows() const { return table_; }
    /// The options that it was planned with.
    const options& asked() const { return options_; }

    /// The chain whose value step i quantizes in the epilogue of output `member`, or -1.
    std::int32_t makes(int i, int member) const {
        if (steps_[static_cast<std::size_t>(i)].what.kind() == skeleton::row) return -1;
        const std::int32_t head = args_[static_cast<std::size_t>(i)].index;
        const std::int32_t first = heads_[static_cast<std::size_t>(head)].first_member;
        return members_[static_cast<std::size_t>(first + member)].makes;
    }

    /// The first node of step i that has an operand without an address, or -1: it can be launched.
    std::int32_t missing(int i) const { return args_[static_cast<std::size_t>(i)].missing; }

    /// The arguments that step i launches with; addresses of the quantized activation are in
    /// `workspace`.
    inline step_args args(int i, void* workspace) const;

    /// The report.
    inline explanation explain() const;

    /// "node 37 norm_input attn_norm-3 -> blk.3.attn_q.weight": where step i is launched, its
    /// chain, and the activation and the matrices by the names that the view had. Without the
    /// tensors, if options::log asks for less than steps.
    inline std::string step_name(int i) const;

    /// The pick of step i and every row that was rejected for it, computed again by the function
    /// that planned: what is explained is what runs.
    inline choice choice_of(int i) const;

  private:
    friend class plan_writer;
    friend struct plan_faults;  // tests put faults into finished plans
    friend class planner;

    /// One output of a group's step, and the chain that its epilogue makes the value of.
    struct stored_member {
        matvec_member args;
        std::int32_t makes = -1;
    };
    /// matvec_args or matmul_args without the array of members; bands are tiles there.
    struct group_head {
        const void* x = nullptr;  // null: in the workspace
        std::int64_t x_bytes = 0;
        const float* norm_weight = nullptr;  // null: no norm is made
        float* norm_f32 = nullptr;
        float eps = 0;
        const std::int32_t* ids = nullptr;
        std::int64_t ids_nb1 = 0;
        const float* slot_weights = nullptr;
        bool combined = false;
        route_args routing;  // of one token; of none: ids are there
        std::int32_t k = 0, columns = 0, slots = 1, x_slots = 1;
        std::int32_t x_rows = 0, experts = 0, bands = 0;
        std::int32_t first_member = 0, members = 0;
    };
    /// Where a step's arguments are, and the first node of it that has an operand without an
    /// address.
    struct stored_args {
        std::int32_t index = 0;
        std::int32_t missing = -1;
    };

    inline status launchable(const step& s, std::int32_t missing, int node,
                             const void* workspace) const noexcept;
    inline status launch_step(int n, void* stream, void* workspace) const noexcept;
    inline status launch_watched(int n, void* stream, void* workspace,
                                 const observer& watch) const noexcept;

    table table_;
    options options_;
    status state_;
    std::vector<node_plan> nodes_;
    std::vector<std::int32_t> first_step_at_;  // per node and one past: index into steps_
    std::vector<step> steps_;
    std::vector<std::int32_t> covered_;
    std::vector<planned_chain> chains_;
    std::vector<left_over> left_;
    std::vector<stored_args> args_;  // per step
    std::vector<row_args> row_args_;
    std::vector<heads_args> heads_args_;
    std::vector<route_args> route_args_;
    std::vector<group_head> heads_;
    std::vector<stored_member> members_;
    std::vector<std::string> step_tensors_;  // per step, or none
    std::int64_t workspace_bytes_ = 0;
    std::int32_t engine_launches_ = 0;
    plan_counters counters_;
};

}  // namespace CATENA_NAMESPACE
