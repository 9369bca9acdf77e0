// The cases of a matvec that adds up the results of a token's slots.
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

constexpr epilogue_set only(epilogue_part part) { return epilogue_set::of(part); }

member_shape added_up(member_shape experts, epilogue_set more = {}) {
    experts.parts = experts.parts | epilogue_part::combine | more;
    return experts;
}

}  // namespace

std::vector<matvec_case> combined_cases(const product_computation& computes,
                                        const matvec_policy& how) {
    const std::vector<format> formats = formats_in(computes.weights);
    const format f = formats.back();
    const int unit = largest_block(formats);
    const int ragged = unit == 256 ? 5 * 256 : 45 * 32 / unit * unit;
    const epilogue_set unquantized = every_part.without(epilogue_part::quantize);
    const member_shape plain = {f, 41}, biased = {formats[0], 7, only(epilogue_part::bias)},
                       gated = {f, 37, only(epilogue_part::glu), gate_function::silu},
                       added = {formats[0], 70, only(epilogue_part::residual)},
                       everything = {formats[0], 96, every_part, gate_function::swiglu_oai},
                       alone = {formats[0], 64, every_part_alone, gate_function::gelu},
                       hidden = {f, 64, every_part, gate_function::silu, false},
                       placed = {f, 37, unquantized, gate_function::silu, true, true};
    return {{.what = "two slots of two tokens added up",
             .k = ragged,
             .members = {added_up(plain), added_up(added)},
             .experts = 3,
             .slots = 2,
             .x_slots = 2,
             .ids = {2, 0, 1, 1},
             .band_rows = 64},
            {.what = "all slots of a warp added up, of one activation row, without weights",
             .k = unit,
             .members = {added_up(plain), added_up(biased)},
             .experts = 3,
             .slots = warp_size,
             .weighted = false,
             .ids = std::vector<std::int32_t>(warp_size, 2),
             .band_rows = 64,
             .early = false},
            {.what = "eight slots added up behind every part, bands of several groups",
             .k = ragged,
             .members = {added_up(placed), added_up(alone), added_up(hidden)},
             .experts = 5,
             .slots = 8,
             .x_slots = 8,
             .ids = {4, 2, 0, 1, 1, 3, 4, 2, 0, 1, 2, 3, 4, 3, 2, 0},
             .band_rows = 128},
            {.what = "slots added up, of one activation row a token, one of no expert",
             .k = how.piece * how.stages + unit,
             .members = {added_up(biased, only(epilogue_part::residual))},
             .experts = 3,
             .slots = 3,
             .ids = {0, 1, 2, 0, -1, 2, 3, 1, 2, 1, 0, 2},
             .band_rows = 64,
             .row_gap = 1},
            {.what = "slots added up of bands that the blocks of a cluster share",
             .k = unit,
             .members = {added_up(everything)},
             .experts = 3,
             .slots = 4,
             .x_slots = 4,
             .ids = {1, 0, 2, 2},
             .band_rows = 64,
             .cluster = how.cluster > 1 ? 2 : 1},
            {.what = "slots added up, more warps than rows of a band",
             .k = unit,
             .members = {added_up(biased, only(epilogue_part::residual))},
             .experts = 3,
             .slots = 3,
             .x_slots = 3,
             .ids = {2, 0, 1},
             .band_rows = how.rows,
             .width = how.placement == norm_placement::producer ? how.min_blocks : 1},
            {.what = "slots added up of bands of all that meet, which eight wider blocks share",
             .k = unit,
             .members = {added_up(everything)},
             .experts = 3,
             .slots = 2,
             .x_slots = 2,
             .ids = {1, 2},
             .band_rows = max_finished_rows,
             .cluster = how.cluster > 1 ? 8 : 1,
             .width = how.placement == norm_placement::producer ? how.min_blocks : 1},
            {.what = "all slots of a warp added up, some blocks of a cluster without rows",
             .k = unit,
             .members = {added_up({f, 32, every_part_alone, gate_function::gelu})},
             .experts = 3,
             .slots = warp_size,
             .ids = std::vector<std::int32_t>(warp_size, 1),
             .band_rows = 64,
             .cluster = how.cluster > 1 ? 4 : 1},
            {.what = "a NaN in one of the slots that are added up",
             .k = ragged,
             .members = {added_up(gated)},
             .experts = 3,
             .slots = 3,
             .x_slots = 3,
             .ids = {0, 1, 2, 2, 1, 0},
             .band_rows = 64,
             .put = special::nan}};
}

}  // namespace catena_test
