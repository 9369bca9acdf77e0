// Matvecs that make the norm of their activation: which problems they serve, and at what price.
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy deferred = {.threads = 64,
                                    .rows = 2,
                                    .columns = 2,
                                    .piece = 1024,
                                    .stages = 2,
                                    .activation = activation_source::shared,
                                    .placement = norm_placement::deferred};

row normed(matvec_policy p) {
    row r = row_of(matvec_of(q4), p);
    r.computes.product().stages = stage_kind::rms_norm | stage_kind::mul_weight;
    return r;
}

product_problem with_norm(product_problem p) {
    p.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
    return p;
}

}  // namespace

TEST_CASE("a norm is made inside by the rows that say so, and by no others", "[norms]") {
    const product_problem apart = matvec_problem(512, {{format::q4_K, 64}});
    matvec_policy plain = deferred;
    plain.placement = norm_placement::producer;
    const row behind = row_of(matvec_of(q4), plain);
    CHECK(constraint(normed(deferred), with_norm(apart), toy_arch).why == limit::none);
    CHECK(constraint(normed(deferred), apart, toy_arch).why == limit::computes);
    CHECK(constraint(behind, with_norm(apart), toy_arch).why == limit::computes);
    CHECK(bytes_of(with_norm(apart)) - bytes_of(apart) == 2 * 4 * 512 - q8_1_row_bytes(512));
}

TEST_CASE("a norm of two launches moves squares, and its weight where it begins", "[norms]") {
    product_problem plain = matvec_problem(512, {{format::q4_K, 96}, {format::q4_K, 64}}, 3);
    plain.needs.epilogue = epilogue_set::of(epilogue_part::quantize);
    plain.member[0].epilogue = plain.needs.epilogue;
    product_problem ends = plain, begins = plain;
    ends.ends_norm = true, begins.begins_norm = true;
    CHECK(bytes_of(ends) - bytes_of(plain) == 3 * 512 / 32 * 4);
    CHECK(bytes_of(begins) - bytes_of(plain) == 3 * 96 / 32 * 4 + 4 * 96);
}

TEST_CASE("a launch that gates its activation reads both sides, and takes longer for a norm",
          "[norms]") {
    const auto inside = [](std::int32_t gate_k, stage_set stages) {
        product_problem p = matvec_problem(512, {{format::q4_K, 64}});
        p.needs.activation = format::f32;
        p.needs.stages = stages;
        p.gate_k = gate_k;
        return p;
    };
    const product_problem plain = inside(0, {}), gated = inside(64, stage_set::of(stage_kind::glu)),
                          of_heads = inside(64, stage_kind::rms_norm | stage_kind::gate);
    CHECK(bytes_of(gated) - bytes_of(plain) == 4 * 512);
    CHECK(bytes_of(of_heads) - bytes_of(gated) == 4 * 64);  // the weight of a head's norm
    CHECK_FALSE(makes_norm(of_heads));
    CHECK(detail::made_from_bytes(deferred, gated, 512, 1, {}) == 8 * 512);
    const auto us = [](const product_problem& p) {
        return detail::gated_us(deferred, p, toy_arch);
    };
    CHECK(us(plain) == 0);
    CHECK(us(gated) > 0);
    CHECK(us(of_heads) > us(gated));
}

TEST_CASE("a launch that makes its norm gets as many blocks as its policy asks for", "[norms]") {
    const product_problem p = with_norm(matvec_problem(512, {{format::q4_K, 4096}}));
    matvec_policy two = deferred;
    two.min_blocks = 2;
    CHECK(blocks_per_sm(normed(deferred), p, toy_arch) == 1);
    CHECK(blocks_per_sm(normed(two), p, toy_arch) == 2);
    CHECK(band_rows(normed(deferred), p, toy_arch, 1) == 4096 / toy_arch.sms);
}

TEST_CASE("a norm that is written costs turns of the blocks that write it", "[norms]") {
    const auto norm = [](const matvec_policy& p, std::int64_t k, std::int64_t columns = 1) {
        return detail::norm_us(p, with_norm(matvec_problem(k, {{format::f32, 64}}, columns)));
    };
    matvec_policy floats = deferred;
    floats.product = inner_product::fma;
    matvec_policy large = floats, producer = floats;
    producer.placement = norm_placement::producer;
    large.threads = 128;
    CHECK(norm(producer, 512) == 0);
    CHECK(norm(deferred, 512) == 0);                             // which writes none
    CHECK(norm(floats, 1024) >= 2 * detail::memory_latency_us);  // 64 threads, 16 values: one turn
    CHECK(norm(floats, 1280) >= 3 * detail::memory_latency_us);
    CHECK(norm(floats, 1280) == norm(floats, 2048));
    CHECK(norm(large, 2048) < norm(floats, 2048));
    CHECK(norm(floats, 512, 2) == norm(floats, 512));  // each column has blocks of its own
}

TEST_CASE("a norm of floats has more blocks where it is written, a quad of each thread",
          "[norms]") {
    matvec_policy floats = deferred;
    floats.product = inner_product::fma;
    const row r = normed(floats);
    product_problem p = with_norm(matvec_problem(512, {{format::f32, 64}}, 2));
    const auto blocks = [&] {
        return config_of(r, p, toy_arch, shape_of_launch(r, p, toy_arch, 1)).blocks;
    };
    const std::uint32_t without = blocks();
    p.needs.emits = format_set::of(format::q8_1);
    const auto written_by = static_cast<std::uint32_t>(blocks_that_write(floats, 512));
    CHECK(written_by * static_cast<std::uint32_t>(floats.threads) * 4 == 512);
    CHECK(blocks() == without + 2 * written_by);
    const launch_shape shape = shape_of_launch(r, p, toy_arch, 1);
    cost_constants c;
    c.read_by_all_bytes = 1e12;  // so that columns are there at once
    const auto has = detail::share_of_matvec(r, p, toy_arch, shape);
    CHECK(detail::columns_us(floats, p, toy_arch, has, c) ==
          Approx(detail::normed_floats_us(floats, p, c)));
}

TEST_CASE("columns of floats are normed together, in turns of the block", "[norms]") {
    const cost_constants c;
    matvec_policy floats = deferred;
    floats.product = inner_product::fma;
    const auto us = [&](const matvec_policy& p, std::int64_t k, std::int64_t columns = 1) {
        return detail::normed_floats_us(
            p, with_norm(matvec_problem(k, {{format::f32, 64}}, columns)), c);
    };
    CHECK(us(deferred, 512) == 0);
    CHECK(us(floats, 512) == Approx(c.late_load_us + c.sum_us + 2 * c.warp_sum_us));
    CHECK(us(floats, 1024) == Approx(us(floats, 512) + c.late_load_us));
    CHECK(us(floats, 512, 4) == us(floats, 512));
}

TEST_CASE("a block that norms columns of floats has as many rows, up to a turn of its warps",
          "[norms]") {
    matvec_policy floats = deferred;
    floats.product = inner_product::fma;
    floats.threads = 128, floats.rows = 1, floats.columns = 8;
    const auto band = [&](std::int64_t columns) {
        const product_problem p = matvec_problem(512, {{.type = format::f32, .rows = 4}}, columns);
        return band_rows(normed(floats), with_norm(p), toy_arch, 1);
    };
    REQUIRE(toy_arch.sms == 4);
    CHECK(band(1) == 1);
    CHECK(band(3) == 3);
    CHECK(band(8) == 4);
}

TEST_CASE("a launch that makes its norm has rows for every SM, and no block more than SMs",
          "[norms]") {
    const auto band = [](std::initializer_list<problem_member> members) {
        return band_rows(normed(deferred), with_norm(matvec_problem(512, members)), toy_arch, 1);
    };
    const auto of = [](std::int32_t rows) {
        return problem_member{.type = format::q4_K, .rows = rows};
    };
    REQUIRE(toy_arch.sms == 4);
    CHECK(band({of(20)}) == 6);  // of four blocks; two warps would take eight rows in turn
    CHECK(band({of(14), of(6)}) == 6);
    CHECK(band({of(14), of(14), of(2)}) == 14);  // with eight rows they would be five blocks
    CHECK(band_rows(normed(deferred), matvec_problem(512, {of(20)}), toy_arch, 1) == 8);
}

TEST_CASE("a launch that quantizes its column has whole turns, the last one for every SM",
          "[norms]") {
    const auto band = [](std::int32_t rows, std::int32_t gate_k = 0) {
        product_problem p = matvec_problem(512, {{format::q4_K, rows}});
        p.needs.activation = format::f32;
        p.gate_k = gate_k;
        return band_rows(normed(deferred), p, toy_arch, 1);
    };
    REQUIRE(toy_arch.sms == 4);
    CHECK(band(6) == 4);  // two warps take four rows in turn
    CHECK(band(16) == 4);
    CHECK(band(20) == 6);
    CHECK(band(20, 64) == 6);
    CHECK(band(28) == 8);
}

TEST_CASE("what a thread has loaded of a norm's weight is not read behind the wait", "[norms]") {
    const auto bytes = [](norm_placement placement, std::int64_t k, const cost_constants& c = {}) {
        matvec_policy p = deferred;
        p.placement = placement;
        const auto values = static_cast<double>(k);
        const product_problem one = with_norm(matvec_problem(k, {{format::q4_K, 64}}));
        return detail::made_from_bytes(p, one, values, 1, c);
    };
    CHECK(bytes(norm_placement::deferred, 1024) == 4 * 1024);  // 64 threads have 16 values each
    CHECK(bytes(norm_placement::deferred, 2048) == 4 * 2048 + 4 * 1024);
    CHECK(bytes(norm_placement::deferred, 512, as_recorded()) == 8 * 512);
    CHECK(bytes(norm_placement::passing, 512) == 8 * 512);
    const product_problem bare = matvec_problem(512, {{format::q4_K, 64}});
    CHECK(detail::made_from_bytes(deferred, bare, 512, 1, {}) == 4 * 512);
    matvec_policy floats = deferred;
    const product_problem two = with_norm(matvec_problem(2048, {{format::f32, 64}}, 2));
    CHECK(detail::made_from_bytes(floats, two, 2048, 2, {}) == 2 * (4 * 2048 + 4 * 1024));
    floats.product = inner_product::fma;  // 8 values each
    CHECK(detail::made_from_bytes(floats, two, 2048, 2, {}) == 2 * 4 * 2048 + 4 * 1536);
}

namespace {

constexpr matvec_policy shares_rows = {.threads = 256,
                                       .rows = 16,
                                       .columns = 8,
                                       .piece = 256,
                                       .stages = 2,
                                       .slices = 8,
                                       .activation = activation_source::shared,
                                       .product = inner_product::mma};

product_problem ends(product_problem p) {
    p.ends_norm = true;
    return p;
}
/// A norm of its results is begun.
product_problem begins(product_problem p) {
    p.begins_norm = true;
    p.needs.epilogue = p.needs.epilogue | epilogue_part::quantize;
    p.member[0].epilogue = p.member[0].epilogue | epilogue_part::quantize;
    return p;
}

}  // namespace

TEST_CASE("the median of a launch is carried over to one that begins or ends a norm", "[norms]") {
    const product_problem p = matvec_problem(512, {{format::q4_K, 4096}}, 4);
    row rows[] = {row_of(matvec_of(q4), shares_rows)};
    rows[0].computes.product().epilogue = epilogue_set::of(epilogue_part::quantize);
    const measurement medians[] = {{problem_key(p), 0, 40, 0}};
    table t = toy_table();
    t.rows = rows, t.row_count = 1;
    t.measured = medians, t.measured_count = 1;
    const picked plain = pick(p, t);
    REQUIRE(plain.measured);
    for (const product_problem& q : {ends(p), begins(p), ends(begins(p))}) {
        const picked is = pick(q, t);
        CHECK(is.measured);
        CHECK(is.predicted_us == Approx(40 * is.model_us / plain.model_us));
    }
    const measurement own[] = {{problem_key(ends(p)), 0, 50, 0}};
    t.measured = own;
    CHECK(pick(ends(p), t).predicted_us == 50);
    CHECK_FALSE(pick(p, t).measured);
}
