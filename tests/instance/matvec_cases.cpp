// The cases of a matvec: products alone, then what an epilogue makes of them.
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

int largest_block(const std::vector<format>& formats) {
    int unit = 32;
    for (const format f : formats) unit = std::max(unit, info(f).block_elements);
    return unit;
}

namespace {

std::vector<matvec_case> product_cases(const product_computation& computes,
                                       const matvec_policy& how) {
    const std::vector<format> formats = formats_in(computes.weights);
    const int unit = largest_block(formats);
    const auto members = [&](std::initializer_list<int> rows) {  // formats in turn
        std::vector<member_shape> out;
        for (const int n : rows) out.push_back({formats[out.size() % formats.size()], n});
        return out;
    };
    // One group of rows for every warp.
    const int band = how.threads / warp_size * how.rows;
    // Steps of 1024: the last one is short.
    const int ragged = unit == 256 ? 5 * 256 : 45 * 32 / unit * unit;
    const int columns = how.columns;

    std::vector<matvec_case> cases;
    for (const format f : formats)
        cases.push_back({.what = "one row of one block",
                         .k = std::max(32, info(f).block_elements),
                         .members = {{f, 1}},
                         .band_rows = band});
    for (int n = 1; n <= columns; ++n)
        cases.push_back({.what = std::to_string(n) + " columns",
                         .k = ragged,
                         .members = members({6, 5}),
                         .columns = n,
                         .band_rows = band});
    std::vector<member_shape> one_each;
    for (const format f : formats) one_each.push_back({f, 5});
    for (const auto& [magnitude, outlier] :
         {std::pair{1e-9f, 1.f}, {1e12f, 1.f}, {1.f, 1e-9f}, {1.f, 1e12f}}) {
        matvec_case& c = cases.emplace_back(matvec_case(cases.back()));
        c.what = std::to_string(magnitude) + ", a block times " + std::to_string(outlier);
        c.magnitude = magnitude;
        c.outlier = outlier;
    }
    cases.insert(cases.end(), {{.what = "every format",
                                .k = ragged,
                                .members = one_each,
                                .columns = columns,
                                .band_rows = band},
                               {.what = "three members, rows that are no multiple of a band",
                                .k = 3 * unit,
                                .members = members({band + 3, 9, 2 * band - 1}),
                                .columns = columns,
                                .band_rows = band},
                               {.what = "k beyond the ring of stages",
                                .k = stage_values(how) * (how.stages + 1) + unit,
                                .members = members({24, 24}),
                                .columns = columns,
                                .band_rows = band},
                               {.what = "bands of several groups",
                                .k = 2 * unit,
                                .members = members({5 * band + 1}),
                                .columns = columns,
                                .band_rows = 3 * band - 1},
                               {.what = "rows with gaps",
                                .k = 3 * unit,
                                .members = members({7, 9}),
                                .columns = columns,
                                .band_rows = band,
                                .row_gap = 1},
                               {.what = "weights that a step before wrote",
                                .k = 3 * unit,
                                .members = members({7, 9}),
                                .columns = columns,
                                .band_rows = band,
                                .early = false},
                               {.what = "experts, one activation row a token",
                                .k = ragged,
                                .members = members({band + 1, 3}),
                                .experts = 3,
                                .slots = 2,
                                .ids = {2, 0, 0, 1},
                                .band_rows = band},
                               {.what = "experts, one activation row a slot",
                                .k = ragged,
                                .members = members({5, 3}),
                                .experts = 3,
                                .slots = 2,
                                .x_slots = 2,
                                .ids = {1, 2, 2, 2},
                                .band_rows = band},
                               {.what = "a matrix for each token",
                                .k = ragged,
                                .members = members({band + 1, 3}),
                                .experts = 3,
                                .slots = 2,
                                .x_slots = 2,
                                .ids = {0, 0, 1, 1, 2, 2},
                                .numbered = true,
                                .band_rows = band},
                               {.what = "an id of no expert",
                                .k = 2 * unit,
                                .members = members({5, 3}),
                                .experts = 3,
                                .slots = 3,
                                .ids = {2, -1, 3, 0, 1, 2},
                                .band_rows = band},
                               {.what = "zeros",
                                .k = ragged,
                                .members = members({5, 3}),
                                .columns = columns,
                                .band_rows = band,
                                .put = special::zeros},
                               {.what = "a NaN",
                                .k = ragged,
                                .members = members({5, 3}),
                                .columns = columns,
                                .band_rows = band,
                                .put = special::nan},
                               {.what = "an infinity",
                                .k = ragged,
                                .members = members({5, 3}),
                                .columns = columns,
                                .band_rows = band,
                                .put = special::infinity}});
    if (how.copy == copy_method::plain)
        for (const int offset : {2, 4, 8})
            cases.push_back({.what = "weights " + std::to_string(offset) + " bytes off",
                             .k = ragged,
                             .members = members({band + 1, 5}),
                             .band_rows = band,
                             .offset = offset});
    return cases;
}

constexpr epilogue_set only(epilogue_part part) { return epilogue_set::of(part); }

constexpr epilogue_part parts_in_order[] = {  // of matrices that nobody picks
    epilogue_part::scale, epilogue_part::factor,   epilogue_part::bias,    epilogue_part::glu,
    epilogue_part::act,   epilogue_part::residual, epilogue_part::quantize};
constexpr const char* part_names[] = {"scale", "factor",   "bias",    "glu",
                                      "act",   "residual", "quantize"};

constexpr gate_function gates[] = {
    gate_function::none, gate_function::silu,       gate_function::sigmoid,
    gate_function::gelu, gate_function::gelu_erf,   gate_function::gelu_quick,
    gate_function::relu, gate_function::swiglu_oai,
};

/// A policy of odd rows takes no pairs; a row may compute fewer parts.
void leave_out_what_it_cannot(matvec_case& c, const product_computation& computes,
                              const matvec_policy& how) {
    epilogue_set can = computes.epilogue;
    if (how.rows % 2 != 0) can = can.without(epilogue_part::glu);
    if (c.slots > slots_added(how)) can = can.without(epilogue_part::combine);
    for (member_shape& m : c.members) {
        m.parts.bits &= can.bits;
        m.in_place = m.in_place && m.parts.has(epilogue_part::residual);
        m.halves = m.halves && m.parts.has(epilogue_part::glu);
        m.written = m.written || !m.parts.has(epilogue_part::quantize);
        m.begins = m.begins && m.parts.has(epilogue_part::quantize);
    }
}

member_shape beside(member_shape experts) {
    experts.dense = true;
    return experts;
}
member_shape by_column(member_shape shared) {
    shared.by_column = true;
    return shared;
}

/// Bands of 64 weight rows are 64 results, or 32 of a GLU; rows that are quantized end with either.
std::vector<matvec_case> epilogue_cases(const product_computation& computes,
                                        const matvec_policy& how) {
    const std::vector<format> formats = formats_in(computes.weights);
    const format f = formats.back();
    const int unit = largest_block(formats), columns = how.columns;
    const int ragged = unit == 256 ? 5 * 256 : 45 * 32 / unit * unit;

    std::vector<matvec_case> cases;
    for (int part = 0; part < 7; ++part)
        cases.push_back({.what = "only " + std::string(part_names[part]),
                         .k = unit,
                         .members = {{f, 96, only(parts_in_order[part])},
                                     {formats[0], 32, only(parts_in_order[part])}},
                         .columns = columns,
                         .band_rows = 64});
    for (const gate_function gate : gates)
        cases.push_back(
            {.what = "gate " + std::to_string(static_cast<int>(gate)),
             .k = ragged,
             .members = {{f, 33, only(epilogue_part::glu), gate},
                         {f, 21, only(epilogue_part::act),
                          gate == gate_function::swiglu_oai ? gate_function::relu_squared : gate}},
             .columns = columns,
             .band_rows = 48});
    for (int n = 1; n <= columns; ++n)
        cases.push_back({.what = "every part, " + std::to_string(n) + " columns",
                         .k = 2 * unit,
                         .members = {{f, 160, every_part, gate_function::silu}},
                         .columns = n,
                         .band_rows = 128});

    const epilogue_set unquantized = every_part.without(epilogue_part::quantize);
    const member_shape plain = {f, 41}, biased = {formats[0], 7, only(epilogue_part::bias)},
                       gated = {f, 37, only(epilogue_part::glu), gate_function::silu},
                       added = {formats[0], 70, only(epilogue_part::residual)},
                       requantized = {f, 64, only(epilogue_part::quantize)},
                       everything = {formats[0], 96, every_part, gate_function::swiglu_oai},
                       alone = {formats[0], 64, every_part_alone, gate_function::gelu},
                       hidden = {f, 64, every_part, gate_function::silu, false},
                       placed = {f, 37, unquantized, gate_function::silu, true, true},
                       halves = {.type = f,
                                 .rows = how.copy == copy_method::plain ? 37 : 64,
                                 .parts = only(epilogue_part::glu),
                                 .halves = true},
                       full = {f, 512, only(epilogue_part::quantize)};
    const std::vector<member_shape> mixed = {plain, biased,      gated,     added,
                                             alone, requantized, everything};
    const std::vector<std::int32_t> one_each = {2, 0, 1}, eight = {0, 1, 2, 1, 0, 3, -1, 2};
    const std::vector<matvec_case> more = {
        {.what = "members with different parts",
         .k = ragged,
         .members = mixed,
         .columns = columns,
         .band_rows = 64},
        {.what = "a factor and a bias for each column",
         .k = ragged,
         .members = {by_column(placed), by_column(everything), by_column(alone), biased},
         .columns = columns,
         .band_rows = 64},
        {.what = "a band of several groups, rows that are no multiple of it",
         .k = unit,
         .members = {gated, added},
         .columns = columns,
         .band_rows = 2 * (5 * how.threads / warp_size * how.rows + 3)},
        {.what = "a quantized result that is not written",
         .k = ragged,
         .members = {hidden, everything},
         .columns = columns,
         .band_rows = 64},
        {.what = "a residual under the result",
         .k = ragged,
         .members = {placed,
                     {f, 9, only(epilogue_part::residual), gate_function::relu, true, true}},
         .columns = columns,
         .band_rows = 64},
        {.what = "a GLU of one tensor's halves",
         .k = ragged,
         .members = {halves, added},
         .columns = columns,
         .band_rows = 64,
         .row_gap = how.copy == copy_method::plain ? 1 : 0},
        {.what = "a quantized row without padding, in bands of all that meet",
         .k = unit,
         .members = {full},
         .columns = columns,
         .band_rows = max_finished_rows},
        {.what = "as many warps as the launch bounds hold",
         .k = ragged,
         .members = {full, everything},
         .columns = columns,
         .band_rows = max_finished_rows,
         .width = how.placement == norm_placement::producer ? how.min_blocks : 1},
        {.what = "a band that the blocks of a cluster share",
         .k = ragged,
         .members = {full, everything},
         .columns = columns,
         .band_rows = max_finished_rows,
         .cluster = how.cluster > 1 ? 4 : 1},
        {.what = "gated weights with gaps that a step before wrote",
         .k = 3 * unit,
         .members = {gated, everything},
         .columns = columns,
         .band_rows = 64,
         .row_gap = 1,
         .early = false},
        {.what = "experts of one slot, every part, a GLU of one tensor's halves",
         .k = ragged,
         .members = {everything, halves, hidden, alone},
         .experts = 3,
         .ids = one_each,
         .band_rows = 64},
        {.what = "experts of eight slots, ids of no expert",
         .k = unit,
         .members = mixed,
         .experts = 3,
         .slots = 8,
         .ids = eight,
         .band_rows = 64},
        {.what = "experts of eight slots, a row each, nothing written",
         .k = unit,
         .members = {hidden},
         .experts = 3,
         .slots = 8,
         .x_slots = 8,
         .ids = eight,
         .band_rows = 128},
        {.what = "experts with a residual under the result",
         .k = unit,
         .members = {placed},
         .experts = 3,
         .slots = 4,
         .ids = eight,
         .band_rows = 64},
        {.what = "experts whose bands the blocks of a cluster share",
         .k = unit,
         .members = {gated, everything, hidden},
         .experts = 3,
         .slots = 4,
         .ids = eight,
         .band_rows = 64,
         .cluster = how.cluster > 1 ? 2 : 1},
        {.what = "matrices that tokens share in turns, every part",
         .k = unit,
         .members = {gated, everything},
         .experts = 2,
         .slots = 2,
         .x_slots = 2,
         .ids = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0},
         .numbered = true,
         .band_rows = 64},
        {.what = "a shared expert beside experts, one of them not there",
         .k = ragged,
         .members = {gated, hidden, beside(everything), beside(hidden), beside(plain)},
         .experts = 3,
         .slots = 4,
         .ids = {2, 0, 3, 1},
         .band_rows = 64},
        {.what = "a shared expert of three tokens",
         .k = ragged,
         .members = {gated, hidden, beside(everything), beside(by_column(hidden)),
                     beside(by_column(placed))},
         .experts = 3,
         .slots = 2,
         .ids = {2, 0, 0, 1, 1, 2},
         .band_rows = 64},
        {.what = "a shared expert whose bands the blocks of a cluster share, as those of experts",
         .k = unit,
         .members = {hidden, beside(hidden), beside(placed)},
         .experts = 3,
         .slots = 2,
         .ids = {1, 2, 0, 1},
         .band_rows = 128,
         .cluster = how.cluster > 1 ? 2 : 1,
         .early = false},
        {.what = "a NaN through every part",
         .k = ragged,
         .members = mixed,
         .columns = columns,
         .band_rows = 64,
         .put = special::nan},
        {.what = "an infinity through every part",
         .k = ragged,
         .members = mixed,
         .columns = columns,
         .band_rows = 64,
         .put = special::infinity}};
    cases.insert(cases.end(), more.begin(), more.end());
    const std::vector<matvec_case> added_up = combined_cases(computes, how),
                                   of_two = begun_cases(computes, how);
    cases.insert(cases.end(), added_up.begin(), added_up.end());
    cases.insert(cases.end(), of_two.begin(), of_two.end());
    if (how.copy == copy_method::plain)
        for (const int offset : {2, 8})
            cases.push_back({.what = "gated weights " + std::to_string(offset) + " bytes off",
                             .k = ragged,
                             .members = {gated, everything},
                             .columns = columns,
                             .band_rows = 64,
                             .offset = offset});
    for (matvec_case& c : cases) leave_out_what_it_cannot(c, computes, how);
    return cases;
}

/// Heads of all lengths that are normed, and of others that are not, with gaps or without.
void gate_heads(matvec_case& c, std::size_t number) {
    constexpr int normed[] = {32, 64, 128};
    gate_shape by{.k = c.norm            ? normed[number / 3 % 3]
                       : number % 2 == 0 ? c.k
                                         : c.k / 2,
                  .gap = number % 4 == 0 ? 0 : 8,
                  .function = gates[number % std::size(gates)]};
    if (c.k % by.k != 0 || by.k % 4 != 0) by.k = 32;
    if (c.put == special::zeros) by.function = gate_function::silu;  // of which zeros stay zeros
    c.what += ", gated in heads of " + std::to_string(by.k);
    c.gate = by;
}

/// The dense ones as a launch stands them that makes its activation itself, a norm or in every
/// third case none. Numbers read a norm always, and in every third case nobody else does. What a
/// launch can gate it gates in half of the cases.
std::vector<matvec_case> made_inside(std::vector<matvec_case> cases, bool float_weights,
                                     const matvec_policy& how) {
    std::erase_if(cases, [](const matvec_case& c) { return c.experts != 0; });
    for (std::size_t i = 0; i < cases.size(); ++i) {
        cases[i].as_f32 = true;
        cases[i].norm = float_weights || i % 3 != 0;
        if (!cases[i].norm) cases[i].what += ", without a norm";
        if (catena::gates(how) && cases[i].columns == 1 && i % 2 == 0) gate_heads(cases[i], i / 2);
        if (!float_weights) continue;
        if (i % 3 > 0) cases[i].emits = cases[i].emits | format::q8_1;
        if (i % 3 > 1) cases[i].emits = cases[i].emits | format::f32;
    }
    return cases;
}

}  // namespace

std::vector<matvec_case> matvec_cases(const product_computation& computes,
                                      const matvec_policy& how) {
    if (routes(computes.stages)) return routed_cases(computes, how);
    if (how.turns) return turned_cases(computes, how);
    auto cases = product_cases(computes, how), more = epilogue_cases(computes, how);
    cases.insert(cases.end(), more.begin(), more.end());
    // Quantized, an infinity is a NaN; as a number it stays one.
    const bool float_weights = computes.activation == format::f32;
    if (float_weights)
        std::erase_if(cases, [](const matvec_case& c) { return c.put == special::infinity; });
    return computes.stages.has(stage_kind::rms_norm) ? made_inside(cases, float_weights, how)
                                                     : cases;
}

}  // namespace catena_test
