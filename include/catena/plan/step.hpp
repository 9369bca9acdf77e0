// What a plan holds: its steps, the chains that they serve, what stayed with the engine, and what a
// step launches with.
#pragma once

#include "catena/exec/launch.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/match/graph.hpp"
#include "catena/match/pattern.hpp"
#include "catena/match/reason.hpp"
#include "catena/pick/choice.hpp"
#include "catena/pick/problem.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE {

/// One launch.
struct step {
    std::int32_t chain = -1;      ///< index into chains() of the plan: the one whose value it makes
                                  ///< (row) or reads (matvec, matmul)
    std::int32_t row = -1;        ///< index into the table's rows
    std::int32_t launch_at = -1;  ///< position of the node that launches it
    std::int32_t first_node = 0;  ///< index into covered() of the plan
    std::int32_t node_count = 0;
    problem what;
    launch_config config;
    std::int32_t band_rows = 0;  ///< matvec: weight rows of a band
    std::int64_t bytes = 0;      ///< bytes that it moves at least
    double predicted_us = 0;
    bool clusters_refused = false;  ///< it would have clusters, but the device has no room for them
};

/// The place of a chain: a value that is made or quantized once, and its readers. Nodes are given
/// by position and tensors by index; -1: the chain has none.
struct chain_place {
    std::int32_t chain = -1;  ///< index into the table's chains
    stage_set stages = {};    ///< stages of its row step; empty: another launch makes the value
    std::int32_t node = -1;   ///< node of the norm, or the last one of a gated value
    std::int32_t sum = -1;    ///< node of the sum of x and a residual, before or behind the norm
    std::int32_t activation = no_tensor;  ///< the tensor whose readers are served
    std::int32_t made_by = -1;  ///< the step that makes it: a row step, a group whose epilogue
                                ///< quantizes it, or the readers' own step, which makes the norm
                                ///< or the gated value, too; -1: readers take the value where
                                ///< the graph has it
    bool begun = false;         ///< it is a norm that made_by begins and its readers end
    bool f32_written = false;   ///< the activation is written: others read it, or may
    bool sum_written = false;   ///< the sum is written: others read it, or may
};

/// A chain where it was found, and where its activation lies.
struct planned_chain : chain_place {
    format_set layouts;                                ///< layouts in which it is quantized
    std::int64_t workspace_offset[layout_count] = {};  ///< offset of each, by activation_layouts
    std::int64_t workspace_bytes = 0;                  ///< sum over its layouts; 0: no layouts
    obstacle norm_apart;  ///< reason why the readers' launch does not make the norm; reason::none:
                          ///< that launch, made_by, makes it
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
    heads_args heads;  ///< arguments of skeleton::row for heads
    route_args route;  ///< arguments of skeleton::row for a routing
    matvec_args matvec;
    matmul_args matmul;

    /// Does it launch heads?
    bool of_heads() const { return kind == skeleton::row && heads.members > 0; }
    /// Does it send tokens to their experts?
    bool of_routing() const { return kind == skeleton::row && route.tokens > 0; }
    /// Does it multiply matrices and turn their results?
    bool turns_heads() const { return kind == skeleton::matvec && matvec.heads.members > 0; }
    /// f(struct of its kind).
    template <class F>
    auto visit(const F& f) const {
        return of_heads()                 ? f(heads)
               : of_routing()             ? f(route)
               : kind == skeleton::row    ? f(row)
               : kind == skeleton::matvec ? f(matvec)
                                          : f(matmul);
    }
    /// That struct, as launch_fn takes it.
    const void* data() const {
        return visit([](const auto& a) { return static_cast<const void*>(&a); });
    }
    /// The size of that struct in bytes.
    std::size_t size() const {
        return visit([](const auto& a) { return sizeof a; });
    }
};

}  // namespace CATENA_NAMESPACE
