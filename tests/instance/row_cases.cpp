#include "row_case.hpp"
#include "sweep.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

namespace {

constexpr format_set quantized =
    format_set::of(format::q8_1) | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4;

/// What the row can do of what the case asks for; a case that is left with nothing to write is
/// dropped.
bool fit(row_case& c, const computation& computes, const policy& numbers) {
    c.emits.bits &= computes.emits.bits;
    c.residual = c.residual && computes.residual;
    c.sum = c.sum && c.residual;
    c.scale = c.scale && computes.scale;
    c.in_place = c.in_place && c.emits.has(format::f32);
    if (c.k % 32 != 0) c.emits.bits &= ~quantized.bits;
    const bool quads = c.k % 4 == 0 && c.gap % 4 == 0 && c.gate_gap % 4 == 0;
    if (numbers.vector && !(quads && c.offset % 16 == 0)) return false;
    if (numbers.values > 0 && c.k > numbers.threads * numbers.values) return false;
    return !c.emits.empty() || c.sum;
}

void append_gated(std::vector<row_case>& cases, format_set all) {
    for (int f = 0; f < gate_function_count; ++f) {
        const auto function = static_cast<gate_function>(f);
        cases.push_back(
            {.what = name(function), .k = 480, .n1 = 2, .emits = all, .function = function});
    }
    const row_case gated = {
        .what = "", .k = 480, .n1 = 3, .emits = all, .function = gate_function::silu};
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

std::vector<row_case> row_cases(const computation& computes, const policy& numbers) {
    const format_set all = format_set::of(format::f32) | format::f16 | format::bf16 | quantized;
    const int widest = numbers.values > 0 ? numbers.threads * numbers.values : 5 * 1024;
    std::vector<row_case> cases = {
        {.what = "one row of one block", .k = 32, .emits = all, .scale = true},
        {.what = "the widest row",
         .k = widest,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true},
        {.what = "k just below a pass",
         .k = numbers.threads * 4 - 32,
         .n1 = 2,
         .emits = all,
         .scale = true},
        {.what = "k that is no power of two", .k = 480, .n1 = 5, .emits = all, .scale = true},
        {.what = "every switch on, rows with gaps",
         .k = 480,
         .n1 = 3,
         .n2 = 2,
         .n3 = 2,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .early = true,
         .gap = 4,
         .offset = 16},
        {.what = "no weight, no residual", .k = 480, .n1 = 2, .emits = all},
        {.what = "a residual, the sum not kept", .k = 480, .n1 = 2, .emits = all, .residual = true},
        {.what = "in place",
         .k = 480,
         .n1 = 3,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
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
         .k = 480,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .split = 3,
         .more_padding = 2},
        {.what = "zeros",
         .k = 480,
         .n1 = 2,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .put = row_values::zeros},
        {.what = "a NaN", .k = 480, .n1 = 2, .emits = all, .scale = true, .put = row_values::nan},
        {.what = "an infinity",
         .k = 480,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::infinity},
        {.what = "half underflows",
         .k = 480,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::tiny},
        {.what = "half overflows",
         .k = 480,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::huge},
        {.what = "sums that cancel",
         .k = 480,
         .n1 = 2,
         .emits = all,
         .scale = true,
         .put = row_values::cancelling},
        {.what = "odd k, rows off every boundary",
         .k = 37,
         .n1 = 3,
         .emits = all,
         .residual = true,
         .sum = true,
         .scale = true,
         .gap = 1,
         .offset = 4},
        {.what = "one element", .k = 1, .n1 = 2, .emits = all, .scale = true},
    };
    for (const format only : formats_in(all))
        cases.push_back({.what = std::string("only ").append(name(only)),
                         .k = 480,
                         .n1 = 5,
                         .emits = format_set::of(only),
                         .scale = true});
    if (computes.value == value_kind::glu) append_gated(cases, all);
    std::erase_if(cases, [&](row_case& c) { return !fit(c, computes, numbers); });
    return cases;
}

}  // namespace catena_test
