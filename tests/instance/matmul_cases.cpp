// The cases of a matmul: products alone over every awkward shape, experts, then what an epilogue
// makes of them. A tile is one block's work: `tile` weight rows, how.columns columns.
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/match/pattern.hpp"
#include "catena/pick/constraints.hpp"

#include <algorithm>
#include <iterator>

namespace catena_test {

using namespace catena;

namespace {

struct shapes {
    format_set weights;
    std::vector<format> formats;
    int unit = 32;   ///< elements of the largest block, or 32 floats
    int ragged = 0;  ///< a K that ends inside a step
    int tile = 0, columns = 0;

    shapes(const product_computation& computes, const matmul_policy& how)
        : weights(computes.weights),
          formats(formats_in(weights)),
          tile(tile_rows(how)),
          columns(how.columns) {
        for (const format f : formats) unit = std::max(unit, length_unit(skeleton::matmul, f));
        ragged = unit == 256 ? 3 * 256 : 15 * 32 / unit * unit;
    }

    std::vector<member_shape> members(std::initializer_list<int> rows) const {  // formats in turn
        std::vector<member_shape> out;
        for (const int n : rows) out.push_back({formats[out.size() % formats.size()], n});
        return out;
    }
    /// The number of each token, for each of its slots.
    std::vector<std::int32_t> numbers(int slots, int tokens, int matrices) const {
        std::vector<std::int32_t> out;
        for (int i = 0; i < slots * tokens; ++i) out.push_back(i / slots % matrices);
        return out;
    }
    /// `count` ids that go round the experts, one more often than the others.
    std::vector<std::int32_t> ids(int count, int experts) const {
        std::vector<std::int32_t> out;
        for (int i = 0; i < count; ++i) out.push_back(i % 3 == 0 ? 1 : i % experts);
        return out;
    }
};

std::vector<matvec_case> product_cases(const shapes& s, const matmul_policy& how) {
    std::vector<matvec_case> cases;
    const int step = std::max(step_values(how, s.weights), how.piece);
    for (const format f : s.formats)
        cases.push_back({.what = "one row of one block, one column",
                         .k = std::max(32, length_unit(skeleton::matmul, f)),
                         .members = {{f, 1}}});
    for (const int n : {9, 17, 33, 64, 100})
        cases.push_back({.what = std::to_string(n) + " columns",
                         .k = s.unit,
                         .members = s.members({6, 5}),
                         .columns = n});
    cases.insert(cases.end(),
                 {{.what = "three members, rows that are no multiple of a tile",
                   .k = s.ragged,
                   .members = s.members({s.tile + 3, 1, s.tile}),
                   .columns = s.columns + 9},
                  {.what = "k beyond the ring of stages",
                   .k = step * (how.stages + 2) + s.unit,
                   .members = s.members({17}),
                   .columns = 9},
                  {.what = "k of one step less than the ring",
                   .k = step * (how.stages - 1),
                   .members = s.members({s.tile - 1}),
                   .columns = s.columns},
                  {.what = "rows with gaps",
                   .k = s.ragged,
                   .members = s.members({19, 2}),
                   .columns = 12,
                   .row_gap = 1},
                  {.what = "weights that a step before wrote",
                   .k = s.unit,
                   .members = s.members({7}),
                   .columns = 9,
                   .early = false},
                  {.what = "experts, one activation row a token",
                   .k = s.ragged,
                   .members = s.members({s.tile + 1, 3}),
                   .experts = 3,
                   .slots = 2,
                   .ids = s.ids(2 * 15, 3)},
                  {.what = "experts, one activation row a slot, more columns than a tile",
                   .k = s.unit,
                   .members = s.members({18}),
                   .experts = 2,
                   .slots = 3,
                   .x_slots = 3,
                   .ids = s.ids(3 * s.columns, 2)},
                  {.what = "a matrix for each token, more columns than a tile",
                   .k = s.ragged,
                   .members = s.members({s.tile + 1, 3}),
                   .experts = 3,
                   .slots = s.columns + 3,
                   .x_slots = s.columns + 3,
                   .ids = s.numbers(s.columns + 3, 3, 3),
                   .numbered = true},
                  {.what = "matrices that tokens share in turns",
                   .k = s.unit,
                   .members = s.members({5}),
                   .experts = 2,
                   .slots = 3,
                   .x_slots = 3,
                   .ids = s.numbers(3, 5, 2),
                   .numbered = true},
                  {.what = "more experts than columns",
                   .k = s.unit,
                   .members = s.members({5}),
                   .experts = 9,
                   .slots = 1,
                   .ids = {4, 8, 4}},
                  {.what = "ids of no expert",
                   .k = s.unit,
                   .members = s.members({5, 3}),
                   .experts = 3,
                   .slots = 3,
                   .ids = {2, -1, 3, 0, 1, 2, -7, 1 << 30, 1}},
                  {.what = "zeros",
                   .k = s.ragged,
                   .members = s.members({5, 3}),
                   .columns = 9,
                   .put = special::zeros},
                  {.what = "a NaN",
                   .k = s.ragged,
                   .members = s.members({5, 3}),
                   .columns = 9,
                   .put = special::nan},
                  {.what = "an infinity",
                   .k = s.ragged,
                   .members = s.members({5, 3}),
                   .columns = 9,
                   .put = special::infinity},
                  {.what = "values whose quantizing shows",
                   .k = s.ragged,
                   .members = s.members({33, 20}),
                   .columns = 20,
                   .put = special::any_value}});
    for (const float size : {0x1p-30f, 0x1p30f}) {
        cases.push_back({.what = "an activation of " + std::to_string(size),
                         .k = s.ragged,
                         .members = s.members({33, 20}),
                         .columns = 9,
                         .magnitude = size});
        cases.push_back({.what = "a block of " + std::to_string(size) + " times the others",
                         .k = s.ragged,
                         .members = s.members({33, 20}),
                         .columns = 9,
                         .outlier = size});
    }
    if (how.copy == copy_method::plain)
        for (const int offset : {2, 4, 8})
            cases.push_back({.what = "weights " + std::to_string(offset) + " bytes off",
                             .k = s.ragged,
                             .members = s.members({20, 5}),
                             .columns = 9,
                             .offset = offset});
    return cases;
}

constexpr epilogue_set only(epilogue_part part) { return epilogue_set::of(part); }

std::vector<matvec_case> epilogue_cases(const shapes& s, const matmul_policy& how) {
    const format f = s.formats.back();
    const int half = s.tile / 2;
    const epilogue_set unquantized = every_part.without(epilogue_part::quantize);
    const member_shape plain = {f, 41}, scaled = {f, 12, only(epilogue_part::scale)},
                       biased = {s.formats[0], 7, only(epilogue_part::bias)},
                       gated = {f, half + 5, only(epilogue_part::glu), gate_function::silu},
                       added = {s.formats[0], 70, only(epilogue_part::residual)},
                       everything = {s.formats[0], 64, every_part, gate_function::swiglu_oai},
                       alone = {s.formats[0], 64, every_part_alone, gate_function::gelu},
                       factored = {.type = f,
                                   .rows = 9,
                                   .parts = only(epilogue_part::factor) | epilogue_part::glu,
                                   .function = gate_function::silu},
                       placed = {f, 37, unquantized, gate_function::silu, true, true},
                       requantized = {f, 64, only(epilogue_part::quantize)},
                       unseen = {.type = f,
                                 .rows = 96,
                                 .parts = every_part,
                                 .function = gate_function::silu,
                                 .written = false,
                                 .layouts = format_set::of(is_float(f) ? format::q8_1_mmq_d4
                                                                       : matmul_layout(f))},
                       full = {s.formats[0], s.tile + 32, only(epilogue_part::quantize)},
                       halves = {.type = f,
                                 .rows = how.copy == copy_method::plain ? 37 : 64,
                                 .parts = only(epilogue_part::glu),
                                 .halves = true};
    const std::vector<member_shape> mixed = {plain, scaled,     biased,      gated,   added,
                                             alone, everything, requantized, factored};
    std::vector<matvec_case> cases = {
        {.what = "members with different parts", .k = s.unit, .members = mixed, .columns = 11},
        {.what = "every part, columns beyond a tile",
         .k = s.unit,
         .members = {everything},
         .columns = s.columns + 1},
        {.what = "a residual under the result",
         .k = s.unit,
         .members = {placed,
                     {f, 9, only(epilogue_part::residual), gate_function::relu, true, true}},
         .columns = 10},
        {.what = "a quantized result that is not written",
         .k = s.unit,
         .members = {unseen, plain},
         .columns = s.columns + 9},
        {.what = "quantized rows of more than a tile, columns that fill none",
         .k = s.unit,
         .members = {full},
         .columns = 13},
        {.what = "experts whose results are only quantized",
         .k = s.unit,
         .members = {unseen},
         .experts = 3,
         .slots = 2,
         .ids = {0, 1, 2, 1, 0, 3, -1, 2, 1, 1}},
        {.what = "a GLU of one tensor's halves",
         .k = s.ragged,
         .members = {halves, added},
         .columns = 9,
         .row_gap = how.copy == copy_method::plain ? 1 : 0},
        {.what = "experts' GLU of one tensor's halves",
         .k = s.ragged,
         .members = {halves, gated},
         .experts = 3,
         .slots = 2,
         .ids = {0, 1, 2, 1, 0, 3, -1, 2, 1, 1},
         .row_gap = how.copy == copy_method::plain ? 1 : 0},
        {.what = "experts through every part, ids of no expert",
         .k = s.unit,
         .members = {everything, gated, plain, alone},
         .experts = 3,
         .slots = 2,
         .ids = {0, 1, 2, 1, 0, 3, -1, 2, 1, 1}},
        {.what = "a matrix for each token, every part",
         .k = s.unit,
         .members = {everything, gated, plain, alone},
         .experts = 3,
         .slots = 9,
         .x_slots = 9,
         .ids = s.numbers(9, 3, 3),
         .numbered = true},
        {.what = "experts with a residual under the result",
         .k = s.unit,
         .members = {placed},
         .experts = 3,
         .slots = 4,
         .x_slots = 4,
         .ids = {0, 1, 2, 1, 0, 3, -1, 2}},
        {.what = "a NaN through every part",
         .k = s.unit,
         .members = mixed,
         .columns = 9,
         .put = special::nan}};
    for (const gate_function gate :
         {gate_function::none, gate_function::sigmoid, gate_function::gelu, gate_function::gelu_erf,
          gate_function::gelu_quick, gate_function::relu})
        cases.push_back({.what = "gate " + std::to_string(static_cast<int>(gate)),
                         .k = s.unit,
                         .members = {{f, 11, only(epilogue_part::glu), gate},
                                     {f, 11, only(epilogue_part::act), gate}},
                         .columns = 9});
    return cases;
}

/// Tiles that the blocks of a cluster share, each with a part of K: parts that differ by a piece, a
/// block that has none, rows and columns that fill no tile, and all that may follow.
std::vector<matvec_case> cluster_cases(const shapes& s, const matmul_policy& how) {
    const format f = s.formats.back();
    const int piece = how.piece;
    return {{.what = "parts of K, the last one a piece shorter",
             .k = 3 * piece,
             .members = s.members({s.tile + 3, 1}),
             .columns = s.columns + 9,
             .cluster = 2},
            {.what = "parts of K that go round the ring, and end inside a piece",
             .k = how.cluster * piece * (how.stages + 1) + s.unit,
             .members = s.members({17}),
             .columns = 9,
             .cluster = how.cluster},
            {.what = "a block without a part",
             .k = 2 * piece,
             .members = s.members({5}),
             .columns = 9,
             .cluster = 3},
            {.what = "parts of K, whose sum goes through every part",
             .k = 3 * piece,
             .members = {{s.formats[0], 64, every_part, gate_function::swiglu_oai},
                         {f, 70, epilogue_set::of(epilogue_part::residual)}},
             .columns = 11,
             .cluster = 3}};
}

}  // namespace

std::vector<matvec_case> matmul_cases(const product_computation& computes,
                                      const matmul_policy& how) {
    const shapes s(computes, how);
    auto cases = product_cases(s, how);
    auto more = epilogue_cases(s, how);
    if (how.cluster > 1)
        for (matvec_case& c : cluster_cases(s, how)) more.push_back(std::move(c));
    for (matvec_case& c : more) {
        for (member_shape& m : c.members) {
            m.parts.bits &= computes.epilogue.bits;
            m.parts = parts_of_tile(how, m.parts);
            m.written = m.written || !m.parts.has(epilogue_part::quantize);
            m.in_place = m.in_place && m.parts.has(epilogue_part::residual);
            m.halves = m.halves && m.parts.has(epilogue_part::glu);
        }
        cases.push_back(std::move(c));
    }
    // Quantized, an infinity is a NaN; as a number it stays one.
    if (reads_f32(computes.weights) || in_mma_blocks(computes.activation))
        std::erase_if(cases, [](const matvec_case& c) { return c.put == special::infinity; });
    // 128 values share a scale of fp8: a block of 32 that is larger rounds the others.
    if (computes.activation == format::fp8_group)
        for (matvec_case& c : cases)
            if (c.outlier != 1) c.put = special::any_value;
    // The activation of f16 weights is rounded to f16, which holds no values of such sizes.
    if (computes.weights.has(format::f16))
        std::erase_if(cases,
                      [](const matvec_case& c) { return c.magnitude != 1 || c.outlier > 1; });
    return cases;
}

}  // namespace catena_test
