// The cases of a matvec with a part in a norm of two launches: it ends the norm that it reads, or
// begins one of its results.
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

constexpr epilogue_set only(epilogue_part part) { return epilogue_set::of(part); }

constexpr epilogue_set quantized = only(epilogue_part::quantize);
constexpr epilogue_set added = quantized | epilogue_part::residual;

/// A member whose norm begins.
member_shape begun(format f, int rows, epilogue_set parts = quantized) {
    return {
        .type = f, .rows = rows, .parts = parts, .function = gate_function::silu, .begins = true};
}

/// `ragged`: the squares of a row are more than the lanes of a warp, and no multiple of them.
std::vector<matvec_case> cases_that_end(const std::vector<format>& formats,
                                        const matvec_policy& how, int ragged) {
    const format f = formats.back();
    const int unit = largest_block(formats);
    const member_shape plain = {f, 21},
                       everything = {formats[0], 96, every_part, gate_function::swiglu_oai},
                       alone = {f, 64, every_part_alone, gate_function::gelu};
    const matvec_case three = {.what = "a norm is ended through every part",
                               .k = 512 / unit * unit,
                               .members = {plain, everything, alone},
                               .columns = how.columns,
                               .band_rows = 64,
                               .ends = true};
    std::vector<matvec_case> cases;
    for (int n = 1; n <= how.columns; ++n)
        cases.push_back({.what = "a norm of " + std::to_string(n) + " columns is ended",
                         .k = ragged,
                         .members = {plain, {formats[0], 7, only(epilogue_part::bias)}},
                         .columns = n,
                         .band_rows = 16,
                         .ends = true});
    const auto as = [&](const char* what, auto change) {
        matvec_case& c = cases.emplace_back(three);
        c.what = std::string("a norm is ended, ") + what;
        change(c);
    };
    cases.push_back(three);
    as("of one block", [&](matvec_case& c) { c.k = unit; });
    as("with more warps", [&](matvec_case& c) { c.width = how.min_blocks, c.k = ragged; });
    as("with weights that a step before wrote", [](matvec_case& c) { c.early = false; });
    as("squares are zero", [](matvec_case& c) { c.magnitude = 1e-25f; });
    as("values are large", [](matvec_case& c) { c.magnitude = 1e12f; });
    as("values are zeros", [](matvec_case& c) { c.put = special::zeros; });
    as("one of them a NaN", [](matvec_case& c) { c.put = special::nan; });
    as("one of them an infinity", [](matvec_case& c) { c.put = special::infinity; });
    return cases;
}

std::vector<matvec_case> cases_that_begin(const std::vector<format>& formats,
                                          const matvec_policy& how, int ragged) {
    const format f = formats.back();
    member_shape placed = begun(f, 64, added);
    placed.in_place = true;
    const matvec_case three = {.what = "norms are begun beside a result that is quantized",
                               .k = largest_block(formats),
                               .members = {begun(f, 160, added),
                                           {formats[0], 96, quantized},
                                           begun(formats[0], 96, every_part)},
                               .columns = how.columns,
                               .band_rows = 64};
    std::vector<matvec_case> cases;
    for (int n = 1; n <= how.columns; ++n)
        cases.push_back({.what = "a norm of " + std::to_string(n) + " columns is begun",
                         .k = largest_block(formats),
                         .members = {begun(f, 160, n % 2 == 0 ? added : quantized)},
                         .columns = n,
                         .band_rows = n % 3 == 0 ? 128 : 32});
    cases.push_back(three);
    const auto as = [&](const char* what, auto change) {
        matvec_case& c = cases.emplace_back(three);
        c.what = std::string("a norm is begun, ") + what;
        change(c);
    };
    const std::vector<member_shape> whole = {begun(f, 512, added), begun(formats[0], 320)};
    as("in bands of all that meet",
       [&](matvec_case& c) { c.members = whole, c.band_rows = max_finished_rows; });
    as("with more warps", [&](matvec_case& c) {
        c.members = whole, c.band_rows = max_finished_rows, c.width = how.min_blocks;
    });
    as("of a residual under the result", [&](matvec_case& c) { c.members = {placed}; });
    as("by a launch that ends another", [&](matvec_case& c) { c.ends = true, c.k = ragged; });
    as("of zeros", [&](matvec_case& c) { c.members = {begun(f, 160)}, c.put = special::zeros; });
    as("of large values",
       [&](matvec_case& c) { c.members = {begun(f, 160)}, c.magnitude = 1e12f; });
    as("of a NaN", [](matvec_case& c) { c.put = special::nan; });
    return cases;
}

/// Norms of sums over the slots of three tokens.
std::vector<matvec_case> cases_of_sums(const std::vector<format>& formats,
                                       const matvec_policy& how) {
    const format f = formats.back();
    const member_shape sum = begun(f, 160, added | epilogue_part::combine);
    member_shape placed = sum;
    placed.in_place = true;
    const matvec_case of_three = {.what = "a norm of sums of slots is begun",
                                  .k = largest_block(formats),
                                  .members = {sum},
                                  .experts = 3,
                                  .slots = 2,
                                  .x_slots = 2,
                                  .ids = {2, 0, 1, 1, 0, 2},
                                  .band_rows = 32};
    std::vector<matvec_case> cases{of_three};
    const auto as = [&](const char* what, auto change) {
        matvec_case& c = cases.emplace_back(of_three);
        c.what = std::string("a norm of sums of slots is begun, ") + what;
        change(c);
    };
    as("beside a sum that is quantized", [&](matvec_case& c) {
        c.members = {sum,
                     {formats[0], 96, quantized | epilogue_part::combine},
                     begun(formats[0], 96, every_part | epilogue_part::combine)};
        c.band_rows = 64;
    });
    as("in bands that the blocks of a cluster share",
       [&](matvec_case& c) { c.band_rows = 64, c.cluster = how.cluster > 1 ? 4 : 1; });
    as("in bands of all that meet, which eight wider blocks share", [&](matvec_case& c) {
        c.members = {begun(f, 512, added | epilogue_part::combine)};
        c.band_rows = max_finished_rows, c.width = how.min_blocks;
        c.cluster = how.cluster > 1 ? 8 : 1;
    });
    as("of a residual under the result", [&](matvec_case& c) { c.members = {placed}; });
    as("of a NaN", [&](matvec_case& c) { c.put = special::nan; });
    return cases;
}

}  // namespace

std::vector<matvec_case> begun_cases(const product_computation& computes,
                                     const matvec_policy& how) {
    const std::vector<format> formats = formats_in(computes.weights);
    if (!ends_norms(how))
        return begins_norms(how, true) ? cases_of_sums(formats, how) : std::vector<matvec_case>{};
    const int unit = largest_block(formats);
    const int ragged = unit == 256 ? 4096 + 256 : 2880 / unit * unit;
    auto cases = cases_that_end(formats, how, ragged),
         more = cases_that_begin(formats, how, ragged);
    cases.insert(cases.end(), more.begin(), more.end());
    return cases;
}

}  // namespace catena_test
