// ADD alone: no chain of the catalogue ends there, so what the benchmarks compare with has kernels
// of its own for it, of the row skeleton.
#pragma once

#include "catena/pick/row.hpp"

#include <iterator>

namespace catena::bench {

inline constexpr row_computation sum_alone = {.stages = stage_set::of(stage_kind::add_residual),
                                              .emits = format_set::of(format::f32)};

constexpr row sum_row(const row_policy& how) {
    row r;
    r.computes = sum_alone;
    r.policy = how;
    return r;
}

/// The policies of the gated rows: rows up to 1024, up to 4096, of any length, of any alignment.
inline constexpr row sum_rows[] = {sum_row({.threads = 128, .values = 8, .vector = true}),
                                   sum_row({.threads = 512, .values = 8, .vector = true}),
                                   sum_row({.threads = 1024, .vector = true}),
                                   sum_row({.threads = 256})};
inline constexpr int sum_row_count = static_cast<int>(std::size(sum_rows));

/// The rows with a kernel each.
constexpr table sums(const arch& target, const void* const* kernels, launch_fn launch) {
    table t;
    t.target = &target;
    t.rows = sum_rows;
    t.row_count = sum_row_count;
    t.kernels = kernels;
    t.launch = launch;
    return t;
}

/// With kernels for a GPU (sums.cu).
table sums_on_device(const arch& target);

}  // namespace catena::bench
