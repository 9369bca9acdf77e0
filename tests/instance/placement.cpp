// The activation made inside the matvec: all placements, all inner products.
#include "matvec_data.hpp"
#include "products.hpp"
#include "sampled.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy few = {.threads = 64,
                               .rows = 2,
                               .columns = 2,
                               .piece = 1024,
                               .stages = 2,
                               .copy = copy_method::bulk,
                               .activation = activation_source::shared};
constexpr matvec_policy eight = {.threads = 96,
                                 .rows = 16,
                                 .columns = 8,
                                 .piece = 256,
                                 .stages = 3,
                                 .copy = copy_method::plain,
                                 .activation = activation_source::shared,
                                 .product = inner_product::mma};

/// One column, which is made in parts of 1024 values: two of them in a piece.
constexpr matvec_policy one = {.threads = 256,
                               .rows = 2,
                               .columns = 1,
                               .piece = 2048,
                               .stages = 2,
                               .copy = copy_method::bulk,
                               .activation = activation_source::shared,
                               .placement = norm_placement::deferred};
constexpr matvec_policy with_piece(matvec_policy p, int piece) {
    p.piece = piece;
    return p;
}
constexpr matvec_policy with_columns(matvec_policy p, int columns) {
    p.columns = columns;
    return p;
}
constexpr matvec_policy with(matvec_policy p, norm_placement placement) {
    p.placement = placement;
    return p;
}

constexpr product_computation normed = {.kind = skeleton::matvec,
                                        .stages = stage_kind::rms_norm | stage_kind::mul_weight,
                                        .activation = format::q8_1,
                                        .weights = format_set::of(format::q4_K) | format::q8_0,
                                        .epilogue = every_part};

constexpr matvec_policy fma_rows = {.threads = 96,
                                    .rows = 2,
                                    .columns = 1,
                                    .piece = 256,
                                    .stages = 3,
                                    .copy = copy_method::bulk,
                                    .product = inner_product::fma,
                                    .placement = norm_placement::passing};
/// With four steps of 256 values in flight together.
constexpr matvec_policy fma_row = {.threads = 96,
                                   .rows = 1,
                                   .columns = 1,
                                   .piece = 1024,
                                   .stages = 2,
                                   .copy = copy_method::plain,
                                   .product = inner_product::fma,
                                   .placement = norm_placement::passing};
/// Its columns lie in shared memory, and are normed together.
constexpr matvec_policy fma_columns = {.threads = 96,
                                       .rows = 2,
                                       .columns = 4,
                                       .piece = 256,
                                       .stages = 3,
                                       .copy = copy_method::bulk,
                                       .activation = activation_source::shared,
                                       .product = inner_product::fma,
                                       .placement = norm_placement::deferred};
constexpr product_computation normed_floats = {
    .kind = skeleton::matvec,
    .stages = stage_kind::rms_norm | stage_kind::mul_weight,
    .emits = format_set::of(format::f32) | format::q8_1,
    .activation = format::f32,
    .weights = format_set::of(format::f32) | format::bf16,
    .epilogue = every_part};

template <matvec_policy P, product_computation C = normed>
void stands_every_case() {
    INFO(row_name(C, P, "test"));
    sweep(made<C, P>(), nullptr, sampled);
}

}  // namespace

TEST_CASE("A matvec defers the norm of its activation to its results") {
    stands_every_case<with(few, norm_placement::deferred)>();
    stands_every_case<with(eight, norm_placement::deferred)>();
    stands_every_case<one>();
    stands_every_case<with_piece(one, 512)>();
}

TEST_CASE("The parts in which a column is made change no bit of its products") {
    constexpr matvec_policy whole = with_columns(one, 2);
    static_assert(makes_parts(one) && !makes_parts(whole));
    static_assert(part_values(one) == 1024 && part_values(with_piece(one, 512)) == 1024 &&
                  part_values(with_piece(one, 1536)) == 3072);
    const std::vector<instance> in_parts = {made<normed, one>(),
                                            made<normed, with_piece(one, 512)>(),
                                            made<normed, with_piece(one, 3072)>()};
    for (const int k : {256, 1024, 2048 + 256, 5 * 1024 + 512})
        for (const int rows : {2, 40}) {  // of the second, a warp has several groups
            const matvec_case c{.what = "",
                                .k = k,
                                .members = {{format::q4_K, rows}, {format::q8_0, 5}},
                                .band_rows = 40,
                                .norm = true,
                                .as_f32 = true};
            const matvec_outputs expected = run(made<normed, whole>(), c);
            for (const instance& on : in_parts) CHECK(run(on, c) == expected);
        }
}

TEST_CASE("A matvec of float weights makes the norm of its activation in passing, and writes it") {
    stands_every_case<fma_rows, normed_floats>();
    stands_every_case<fma_row, normed_floats>();
}

TEST_CASE("A matvec of float weights makes the norm of its columns together, and writes them") {
    stands_every_case<fma_columns, normed_floats>();
    stands_every_case<with_columns(fma_columns, 1), normed_floats>();
    stands_every_case<with_columns(fma_columns, 8), normed_floats>();
}

TEST_CASE("The norm of a column, and its products, do not depend on the columns beside it") {
    const instance on = made<normed_floats, fma_columns>();
    matvec_case c{.what = "",
                  .k = 1184,
                  .members = {{format::f32, 7}, {format::bf16, 4}},
                  .columns = 3,
                  .band_rows = 6,
                  .norm = true,
                  .emits = normed_floats.emits,
                  .as_f32 = true};
    const matvec_outputs together = run(on, c);
    c.columns = 1;
    const matvec_outputs alone = run(on, c);
    for (std::size_t m = 0; m < alone.size(); ++m) {
        const std::vector<float>& first = alone[m].f32;
        REQUIRE(3 * first.size() == together[m].f32.size());
        CHECK(std::equal(first.begin(), first.end(), together[m].f32.begin()));
    }
}

TEST_CASE("Steps of a norm made in passing that are in flight together change no bit") {
    static_assert(steps_in_flight(fma_rows) == 1 && steps_in_flight(fma_row) == 4);
    const std::vector<instance> rows = {made<normed_floats, fma_rows>(),
                                        made<normed_floats, fma_row>()};
    // A turn of four steps; two, and a part of a step; three, and a step and a part.
    for (const int k : {1024, 2048 + 32, 3 * 1024 + 416}) {
        const matvec_case c{.what = "",
                            .k = k,
                            .members = {{format::f32, 7}, {format::bf16, 4}},
                            .band_rows = 6,
                            .norm = true};
        CHECK(run(rows[0], c) == run(rows[1], c));
    }
}

TEST_CASE("The norm that a matvec writes has the bits of a row step with as many threads") {
    constexpr row_policy as_many{.threads = fma_rows.threads};
    constexpr row_computation norm = {.stages = normed_floats.stages, .emits = normed_floats.emits};
    const instance matvec = made<normed_floats, fma_rows>();
    const matvec_case c{.what = "",
                        .k = 480,
                        .members = {{format::f32, 12}},
                        .band_rows = 6,
                        .norm = true,
                        .emits = norm.emits,
                        .as_f32 = true};
    const matvec_output written = run(matvec, c).back();
    const row_outputs by_row = run(made<norm, as_many>(), {.what = "",
                                                           .k = c.k,
                                                           .emits = norm.emits,
                                                           .scale = true,
                                                           .eps = norm_eps,
                                                           .x = make_data(matvec, c).x,
                                                           .weight = norm_weight(c)});
    CHECK(to_bytes(written.f32) == by_row.f32);
    CHECK(written.quantized == by_row.emits);
}

TEST_CASE("Each placement of the norm is an order of its own") {
    CHECK(order_of(with(few, norm_placement::deferred)) != order_of(few));
    matvec_policy producer = fma_rows;
    producer.placement = norm_placement::producer;
    CHECK(order_of(fma_rows) != order_of(producer));
}
