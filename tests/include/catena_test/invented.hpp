// Invented hardware and an invented table: nothing of a real set can change what these tests
// expect.
#pragma once

#include "catena/format/float_weights.hpp"
#include "catena/pick/row.hpp"

#include <vector>

namespace catena_test {

using catena::computation;
using catena::format;
using catena::format_set;
using catena::matvec_policy;
using catena::policy;
using catena::product_computation;
using catena::row_computation;
using catena::row_policy;

/// A small GPU: four SMs, every instruction there is.
inline constexpr catena::arch toy_arch = {.name = "toy",
                                          .compute_capability = 90,
                                          .max_threads_per_block = 512,
                                          .max_threads_per_sm = 1024,
                                          .max_blocks_per_sm = 8,
                                          .registers_per_sm = 32768,
                                          .max_registers_per_thread = 128,
                                          .shared_per_sm = 65536,
                                          .shared_per_block = 49152,
                                          .async_copy = true,
                                          .bulk_copy = true,
                                          .dependent_launch = true,
                                          .wgmma = true,
                                          .gpu = "Toy 4",
                                          .sms = 4,
                                          .bytes_per_us = 1000,
                                          .node_us = 1,
                                          .cycles_per_us = 21.8};

inline constexpr format_set plain_and_q8_1 = format_set::of(format::f32) | format::q8_1;

inline constexpr row_computation norm_row = {
    .stages = catena::stage_kind::scale | catena::stage_kind::add_residual |
              catena::stage_kind::rms_norm | catena::stage_kind::mul_weight,
    .emits = plain_and_q8_1};
inline constexpr row_computation quantize_row = {.emits = format_set::of(format::q8_1)};
constexpr product_computation matvec_of(format_set weights) {
    return {.kind = catena::skeleton::matvec, .activation = format::q8_1, .weights = weights};
}

constexpr catena::row row_of(const computation& c, const policy& p) {
    return {.computes = c,
            .policy = p,
            .order = c.kind() == catena::skeleton::row ? static_cast<unsigned>(p.threads()) : 1u,
            .registers = 0,
            .evidence = {}};
}

inline constexpr row_policy kept_row = {.threads = 128, .values = 16, .vector = true};
inline constexpr row_policy plain_row = {.threads = 64};
inline constexpr matvec_policy narrow_matvec = {
    .threads = 64, .rows = 2, .columns = 1, .piece = 1024, .stages = 2};
inline constexpr matvec_policy wide_matvec = {
    .threads = 64, .rows = 2, .columns = 4, .piece = 1024, .stages = 2};

inline constexpr format_set q4 = format_set::of(format::q4_K);
inline constexpr format_set q6 = format_set::of(format::q6_K);
inline constexpr format_set q8 = format_set::of(format::q8_0);

inline constexpr format_set numbers = format_set::of(format::f32) | format::f16;
inline constexpr product_computation matvec_of_floats = {
    .kind = catena::skeleton::matvec, .activation = format::f32, .weights = numbers};
inline constexpr matvec_policy float_matvec = {.threads = 64,
                                               .rows = 2,
                                               .columns = 4,
                                               .piece = 256,
                                               .stages = 2,
                                               .product = catena::inner_product::fma};

/// Everything the planner's tests need: {q4_K}, {q4_K, q6_K}, {q8_0} and {f32, f16} matrices, up to
/// 4 columns.
inline constexpr catena::row toy_rows[] = {
    row_of(norm_row, kept_row),
    row_of(norm_row, plain_row),
    row_of(quantize_row, plain_row),
    row_of(matvec_of(q4), narrow_matvec),
    row_of(matvec_of(q4), wide_matvec),
    row_of(matvec_of(q4 | q6), narrow_matvec),
    row_of(matvec_of(q4 | q6), wide_matvec),
    row_of(matvec_of(q8), narrow_matvec),
    row_of(matvec_of(q8), wide_matvec),
    row_of(matvec_of_floats, float_matvec),
};
inline constexpr int toy_row_count = sizeof(toy_rows) / sizeof(toy_rows[0]);

constexpr catena::lowered_chain chain_of(const char* name, bool add, bool norm,
                                         format_set matrices) {
    using catena::operand;
    using catena::stage_kind;
    catena::lowered_chain c{.name = name, .signature = name};
    const auto stage = [&c](stage_kind kind, operand reads = operand::none,
                            format_set formats = {}) {
        c.stages[c.count++] = {kind, reads, formats};
    };
    if (add) {
        stage(stage_kind::scale, operand::scale);
        stage(stage_kind::add_residual, operand::residual);
        stage(stage_kind::emit, operand::none, format_set::of(format::f32));
    }
    if (norm) {
        stage(stage_kind::rms_norm);
        stage(stage_kind::mul_weight, operand::weight);
        stage(stage_kind::emit, operand::none, format_set::of(format::f32));
    }
    if (!catena::has_float_weights(matrices))
        stage(stage_kind::quantize, operand::none, format_set::of(format::q8_1));
    stage(stage_kind::mul_mat, operand::none, matrices);
    stage(stage_kind::mul_mat_id, operand::none, matrices);
    return c;
}

inline constexpr catena::lowered_chain toy_chains[] = {
    chain_of("norm.q8", false, true, q8),
    chain_of("norm.q4_q6", false, true, q4 | q6),
    chain_of("residual.q8", true, true, q8),
    chain_of("residual.q4_q6", true, true, q4 | q6),
    chain_of("value.q8", false, false, q8),
    chain_of("value.q4_q6", false, false, q4 | q6),
    chain_of("norm.f32_f16", false, true, numbers),
    chain_of("residual.f32_f16", true, true, numbers),
    chain_of("value.f32_f16", false, false, numbers),
};

inline catena::table toy_table() {
    catena::table t;
    t.target = &toy_arch;
    t.rows = toy_rows;
    t.row_count = toy_row_count;
    t.chains = toy_chains;
    t.chain_count = sizeof(toy_chains) / sizeof(toy_chains[0]);
    return t;
}

}  // namespace catena_test
