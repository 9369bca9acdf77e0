#include "row_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

namespace {

/// Threads of a row.
int team(const row_policy& how) { return how.threads / rows_of_block(how); }

constexpr format_set in_blocks = format_set::of(format::q8_1) | format::q8_1_mmq_d4 |
                                 format::q8_1_mmq_ds4 | format::bf16_mma | format::f16_mma;
constexpr format_set apart = format_set::of(format::int8_token) | format::fp8_tensor |
                             format::fp8_token | format::fp8_group | format::mxfp8_rows |
                             format::mxfp4_rows | format::nvfp4_rows;

/// Can rows of the case be written in this format?
bool fits(format f, const row_case& c) {
    const int k = c.k;
    if (info(f).role == format_role::plain) return true;
    if (scales_apart(f)) return k % 4 == 0 && k % info(f).block_elements == 0;
    return k % 32 == 0;
}

/// What the row can do of what the case asks for; a case that is left with nothing to write is
/// dropped.
bool fit(row_case& c, const row_computation& computes, const row_policy& how) {
    c.emits.bits &= computes.emits.bits;
    for (const format f : formats_in(c.emits))
        if (!fits(f, c)) c.emits.bits &= ~format_set::of(f).bits;
    c.residual = c.residual && computes.stages.any(residual_stages);
    c.again = c.again && computes.stages.has(stage_kind::next_norm) && c.residual;
    if (c.slots > 0 && !computes.stages.has(stage_kind::combine)) return false;
    if (!computes.stages.has(stage_kind::scale)) c.x_scale = 1;
    c.sum = c.sum && (c.residual || c.x_scale != 1);
    c.scale = c.scale && computes.stages.has(stage_kind::mul_weight);
    c.one_plus = c.one_plus && c.scale;
    c.bias = c.bias && computes.stages.has(stage_kind::add_bias);
    c.gate = c.gate && computes.stages.has(stage_kind::gate);
    c.in_place = c.in_place && c.emits.has(format::f32);
    const bool quads = c.k % 4 == 0 && c.gap % 4 == 0 && c.gate_gap % 4 == 0;
    if (how.vector && !(quads && c.offset % 16 == 0)) return false;
    if (how.values > 0 && c.k > team(how) * how.values) return false;
    return !c.emits.empty() || c.sum;
}

void append_gated(std::vector<row_case>& cases, format_set all, int usual) {
    for (int f = 0; f < gate_function_count; ++f) {
        const auto function = static_cast<gate_function>(f);
        cases.push_back(
            {.what = name(function), .k = usual, .n1 = 2, .emits = all, .function = function});
        cases.push_back(cases.back());
        cases.back().what = std::string(name(function)) + " alone";
        cases.back().alone = true;
    }
    const row_case gated = {
        .what = "", .k = usual, .n1 = 3, .emits = all, .function = gate_function::silu};
    const auto add = [&](const char* what, auto change) {
        cases.push_back(gated);
        cases.back().what = what;
        change(cases.back());
    };
    add("two halves of a tensor", [](row_case& c) { c.halves = true; });
    add("halves of odd rows", [](row_case& c) { c.halves = true, c.k = 37; });
    add("a gate with gaps of its own", [](row_case& c) { c.n2 = 2, c.gap = 4, c.gate_gap = 8; });
    add("over the gate", [](row_case& c) { c.over_gate = true, c.gap = 4, c.gate_gap = 4; });
    add("over x", [](row_case& c) { c.in_place = true, c.gap = 4, c.gate_gap = 4; });
    add("rows of a matmul", [](row_case& c) { c.n1 = 9, c.k = 128 + 32; });
}

}  // namespace

std::vector<row_case> row_cases(const row_computation& computes, const row_policy& how) {
    const format_set all =
        format_set::of(format::f32) | format::f16 | format::bf16 | in_blocks | apart;
    const int widest = how.values > 0 ? team(how) * how.values : 5 * 1024;
    const int usual = std::min(480, widest - 32);  // 15 or 7 blocks of 32
    std::vector<row_case> cases = {
        {.what = "one row of one block", .k = 32, .emits = all, .scale = true},
        {.what = "the widest row",
         .k = widest,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .again = true},
        {.what = "k just below a pass",
         .k = team(how) * 4 - 32,
         .n1 = 2,
         .emits = all,
         .scale = true},
        {.what = "k that is no power of two", .k = usual, .n1 = 5, .emits = all, .scale = true},
        {.what = "every switch on, rows with gaps",
         .k = usual,
         .n1 = 3,
         .n2 = 2,
         .n3 = 2,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .bias = true,
         .gate = true,
         .again = true,
         .function = gate_function::silu,
         .early = true,
         .gap = 4,
         .offset = 16},
        {.what = "whole groups of 128",
         .k = usual == 480 ? 384 : 128,
         .n1 = 3,
         .emits = all,
         .scale = true,
         .one_plus = true},
        {.what = "rows of 64 merged, half scales",
         .k = 64,
         .n1 = 6,
         .emits = all,
         .scale = true,
         .bias = true,
         .scale_type = format::f16,
         .merged = 3},
        {.what = "a row makes two activation rows of 192, bfloat16 scales",
         .k = 384,
         .n1 = 2,
         .emits = all,
         .scale_type = format::bf16,
         .split = 2},
        {.what = "a gate and no weight",
         .k = usual,
         .n1 = 3,
         .emits = all,
         .gate = true,
         .function = gate_function::sigmoid,
         .gate_gap = 4},
        {.what = "over the gate of a norm",
         .k = usual,
         .n1 = 3,
         .emits = all,
         .scale = true,
         .gate = true,
         .function = gate_function::gelu,
         .over_gate = true},
        {.what = "a large epsilon", .k = usual, .n1 = 2, .emits = all, .eps = 100},
        {.what = "no weight, no residual", .k = usual, .n1 = 2, .emits = all},
        {.what = "a residual, the sum not kept",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .residual = true},
        {.what = "the sum, times a number, normed again and not kept",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .residual = true,
         .scale = true,
         .again = true,
         .sum_factor = 0.3f},
        {.what = "numbers before and behind the norm",
         .k = usual,
         .n1 = 3,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .x_scale = 0.22f,
         .norm_scale = 0.088f,
         .sum_factor = 1.7f},
        {.what = "a multiple of x and its norm",
         .k = usual,
         .n1 = 3,
         .emits = all,
         .sum = true,
         .scale = true,
         .x_scale = 50.6f},
        {.what = "a norm times a number, without a weight",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .norm_scale = 0.088f},
        {.what = "a residual of a weighted norm",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .residual = true,
         .scale = true},
        {.what = "in place",
         .k = usual,
         .n1 = 3,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .again = true,
         .in_place = true,
         .gap = 4},
        {.what = "three rows make an activation row",
         .k = 160,
         .n1 = 3,
         .n2 = 2,
         .emits = all,
         .scale = true,
         .merged = 3},
        {.what = "a row makes three activation rows",
         .k = usual == 480 ? 480 : 96,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .split = 3,
         .more_padding = 2},
        {.what = "zeros",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .again = true,
         .put = row_values::zeros},
        {.what = "a NaN", .k = usual, .n1 = 2, .emits = all, .scale = true, .put = row_values::nan},
        {.what = "an infinity",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::infinity},
        {.what = "half underflows",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::tiny},
        {.what = "half overflows",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::huge},
        {.what = "sums that cancel",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::canceling},
        {.what = "odd k, rows off every boundary",
         .k = 37,
         .n1 = 3,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .bias = true,
         .gate = true,
         .again = true,
         .gap = 1,
         .offset = 4},
        {.what = "eight experts and a residual",
         .k = usual,
         .n1 = 3,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .slots = 8,
         .weighted = true},
        {.what = "five experts, a shared one with its gate, gaps",
         .k = usual,
         .n1 = 2,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .slots = 5,
         .shared = true,
         .weighted = true,
         .shared_gate = true,
         .x_scale = 0.22f,
         .gap = 4,
         .offset = 16},
        {.what = "two experts without weights and a shared one without a gate",
         .k = usual,
         .n1 = 1,
         .emits = all,
         .residual = true,
         .slots = 2,
         .shared = true},
        {.what = "three experts alone, rows off every boundary",
         .k = 37,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .slots = 3,
         .weighted = true,
         .gap = 1,
         .offset = 4},
        {.what = "experts of zeros",
         .k = usual,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .slots = 4,
         .shared = true,
         .weighted = true,
         .put = row_values::zeros},
        {.what = "one element", .k = 1, .n1 = 2, .emits = all, .scale = true},
    };
    for (const format only : formats_in(all))
        cases.push_back({.what = std::string("only ").append(name(only)),
                         .k = usual,
                         .n1 = 5,
                         .emits = format_set::of(only),
                         .scale = true});
    if (computes.stages.has(stage_kind::glu)) append_gated(cases, all, usual);
    std::erase_if(cases, [&](const row_case& c) {
        return (c.over_gate || c.alone) && !computes.stages.has(stage_kind::glu) &&
               !computes.stages.has(stage_kind::gate);
    });
    std::erase_if(cases, [&](row_case& c) { return !fit(c, computes, how); });
    return cases;
}

}  // namespace catena_test
