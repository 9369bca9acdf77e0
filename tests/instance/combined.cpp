// A launch that adds up the results of a token's slots gives the bits of the launch that does not
// and the row step behind it.
#include "matvec_data.hpp"
#include "order.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy lone_row = {.threads = 64,
                                    .rows = 1,
                                    .columns = 1,
                                    .piece = 1024,
                                    .stages = 3,
                                    .copy = copy_method::bulk,
                                    .activation = activation_source::shared};
constexpr matvec_policy three_rows = {
    .threads = 96, .rows = 3, .columns = 1, .piece = 1024, .stages = 2, .copy = copy_method::async};
constexpr matvec_policy float_weights = {.threads = 64,
                                         .rows = 2,
                                         .columns = 1,
                                         .piece = 256,
                                         .stages = 2,
                                         .activation = activation_source::shared,
                                         .product = inner_product::fma};
constexpr row_policy whole_rows = {.threads = 64, .values = 8, .vector = true};
constexpr row_computation sums = {.stages = stage_kind::combine | stage_kind::add_residual,
                                  .emits = format_set::of(format::f32)};

/// What a row step makes of the results of all slots.
std::vector<float> by_row(const matvec_case& c, const std::vector<float>& results,
                          const std::vector<float>& residual) {
    const instance on = made<sums, whole_rows>();
    const auto machine = on.make_machine();
    const auto put = [&](const char* name, const std::vector<float>& values) {
        return static_cast<const float*>(machine->put(name, contents::data, to_bytes(values)));
    };
    const int rows = c.members.front().rows;
    row_args a;
    a.experts = {.results = put("results", results),
                 .weights = put("weights", slot_weights(c)),
                 .nb1 = 4 * rows,
                 .nb2 = 4 * rows * c.slots,
                 .weights_nb1 = 4,
                 .weights_nb2 = 4 * c.slots,
                 .slots = c.slots};
    a.residual = put("residual", residual);
    a.residual_at.nb1 = 4 * rows;
    a.f32_at.nb1 = 4 * rows;
    const std::size_t bytes = residual.size() * 4;
    a.f32 = static_cast<float*>(machine->blank("sums", bytes));
    a.k = rows;
    a.rows = a.n1 = c.tokens();
    const launch_config config{
        .blocks = static_cast<std::uint32_t>(a.rows),
        .threads = static_cast<std::uint32_t>(whole_rows.threads),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(sums, whole_rows, rows, 1))};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    return from_bytes<float>(machine->read(a.f32, bytes));
}

void same_as_row(const instance& on) {
    INFO(row_name(on.computes, on.policy, ""));
    const format f = *on.computes.product().weights.begin();
    matvec_case c{
        .what = "",
        .k = 5 * 256,
        .members = {{f, 64, epilogue_set::of(epilogue_part::scale) | epilogue_part::bias}},
        .experts = 6,
        .slots = 5,
        .x_slots = 5,
        .ids = {3, 1, 5, 0, 2, 0, 5, 4, 1, 1},
        .band_rows = 24};
    const std::vector<float> each = run(on, c).front().f32;
    c.members.front().parts =
        c.members.front().parts | epilogue_part::combine | epilogue_part::residual;
    const std::vector<float> together = run(on, c).front().f32;
    const auto gaps = static_cast<std::size_t>(residual_gap(c.members.front()));
    const std::vector<float> spread = make_data(on, c).members.front().residual;
    std::vector<float> residual;
    for (std::size_t i = 0; i < spread.size(); ++i)
        if (i % (64 + gaps) < 64) residual.push_back(spread[i]);
    const std::vector<float> wanted = by_row(c, each, residual);
    REQUIRE(wanted.size() == together.size());
    CHECK(to_bytes(wanted) == to_bytes(together));
}

}  // namespace

TEST_CASE("Slots that a launch adds up give the bits of the row step behind it") {
    same_as_row(made<products<format::q4_K>, lone_row>());
    same_as_row(made<products<format::q6_K>, three_rows>());
    same_as_row(made<products<format::mxfp4>, three_rows>());
    constexpr product_computation as_f32 = {.kind = skeleton::matvec,
                                            .activation = format::f32,
                                            .weights = format_set::of(format::f16),
                                            .epilogue = products<format::f16>.epilogue};
    same_as_row(made<as_f32, float_weights>());
}
