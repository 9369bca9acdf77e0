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

/// Where a chain runs: a value that is made or quantized once, and its readers. Node
/// positions and tensor indices; -1: not part of it.
struct chain_place {
    std::int32_t chain = -1;              ///< index into the table's chains
    stage_set stages = {};                ///< empty: the engine's value, or an epilogue's
    std::int32_t node = -1;               ///< its norm, or what ends a gated value
    std::int32_t sum = -1;                ///< of x and a residual, before or behind the norm
    std::int32_t activation = no_tensor;  ///< the tensor whose readers are served
    std::int32_t made_by = -1;  ///< the step that makes it: a row step, a group whose epilogue
                                ///< quantizes it, or its readers', which makes the norm too; -1:
                                ///< none, numbers are multiplied with the engine's
    bool f32_written = false;   ///< somebody else reads, or may read, the activation
    bool sum_written = false;   ///< the same of the sum
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

}  // namespace CATENA_NAMESPACE
