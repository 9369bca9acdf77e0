#include "catena/pick/constraints.hpp"
#include "catena/pick/domain.hpp"
#include "catena/pick/measured.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <string>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

rejection judge(const row& r, const problem& p) { return constraint(r, p, toy_arch); }

row norm(const row_policy& p) { return row_of(norm_row, p); }
row matvec(const matvec_policy& p, format_set weights = q4) {
    return row_of(matvec_of(weights), p);
}

}  // namespace

TEST_CASE("a row serves what it computes, and less", "[constraints]") {
    CHECK(judge(norm(kept_row), norm_problem(512)).why == limit::none);
    row_problem p = norm_problem(512);
    p.needs.stages = p.needs.stages | stage_kind::add_residual;
    CHECK(judge(norm(kept_row), p).why == limit::none);
    p.needs.stages = {};
    CHECK(judge(norm(kept_row), p).why == limit::computes);
    p = norm_problem(512);
    p.needs.emits = p.needs.emits | format::f16;
    CHECK(judge(norm(kept_row), p).why == limit::computes);
    CHECK(judge(matvec(narrow_matvec), norm_problem(512)).why == limit::computes);

    row bare = norm(kept_row);
    bare.computes.row().stages = stage_set::of(stage_kind::rms_norm);
    CHECK(judge(bare, norm_problem(512)).why == limit::computes);

    CHECK(judge(matvec(narrow_matvec), matvec_problem(512, {{format::q6_K, 64}})).why ==
          limit::computes);
    CHECK(judge(matvec(narrow_matvec, q4 | q6), matvec_problem(512, {{format::q6_K, 64}})).why ==
          limit::none);
}

TEST_CASE("what the arch cannot hold is told with its numbers", "[constraints]") {
    const row_problem p = norm_problem(512);
    row_policy n = kept_row;
    SECTION("threads") {
        n.threads = 1024;
        const rejection r = judge(norm(n), p);
        CHECK(r.why == limit::threads);
        CHECK(r.have == 1024);
        CHECK(r.need == 512);
        CHECK(sentence(r) == "1024 threads a block; the arch runs at most 512, in warps of 32");
    }
    SECTION("part of a warp") {
        n.threads = 48;
        CHECK(judge(norm(n), p).why == limit::threads);
    }
    SECTION("launch bounds") {
        n.min_blocks = 9;
        CHECK(judge(norm(n), p).why == limit::launch_bounds);
        n.threads = 512;
        n.min_blocks = 3;
        CHECK(judge(norm(n), p).why == limit::launch_bounds);
    }
    SECTION("registers of a thread") {
        row r = norm(n);
        r.registers = 129;
        CHECK(judge(r, p).why == limit::registers);
    }
    SECTION("registers of an SM") {
        n.threads = 512;
        row r = norm(n);
        r.registers = 65;
        CHECK(judge(r, p).why == limit::registers);
        r.registers = 64;
        CHECK(judge(r, p).why == limit::none);
    }
    SECTION("copies") {
        arch old = toy_arch;
        old.async_copy = old.bulk_copy = false;
        matvec_policy copies = narrow_matvec;
        copies.copy = copy_method::async;
        const product_problem m = matvec_problem(512, {{format::q4_K, 64}});
        CHECK(constraint(matvec(copies), m, old).why == limit::copy_method);
        CHECK(constraint(matvec(copies), m, toy_arch).why == limit::none);
        copies.copy = copy_method::bulk;
        CHECK(constraint(matvec(copies), m, old).need == 90);
    }
    SECTION("shared memory") {
        matvec_policy deep = narrow_matvec;
        deep.stages = 32;
        const rejection r = judge(matvec(deep), matvec_problem(512, {{format::q4_K, 64}}));
        CHECK(r.why == limit::shared_memory);
        CHECK(r.need == toy_arch.shared_per_block);
        CHECK(r.have == shared_bytes(matvec_of(q4), deep, 512, 1));
    }
    SECTION("shared memory for the activation of every column") {
        matvec_policy wide = wide_matvec;
        wide.activation = activation_source::shared;
        product_problem m = matvec_problem(16384, {{format::q4_K, 64}}, 4);
        CHECK(judge(matvec(wide), m).why == limit::shared_memory);
        m.columns = 1;
        CHECK(judge(matvec(wide), m).why == limit::none);
    }
}

TEST_CASE("the plain row takes any length, others what their registers hold", "[constraints]") {
    const std::int64_t held = kept_row.threads * kept_row.values;
    CHECK(judge(norm(kept_row), norm_problem(held)).why == limit::none);
    const rejection r = judge(norm(kept_row), norm_problem(held + 32));
    CHECK(r.why == limit::held_values);
    CHECK(r.need == held);
    CHECK(judge(norm(plain_row), norm_problem(1 << 20)).why == limit::none);
}

TEST_CASE("lengths must divide", "[constraints]") {
    CHECK(judge(norm(plain_row), norm_problem(500)).why == limit::divisibility);
    row_problem p = norm_problem(500);
    p.quant_k = 0;
    p.needs.emits = format_set::of(format::f32);
    CHECK(judge(norm(plain_row), p).why == limit::none);
    p.k = 501;
    CHECK(judge(norm(plain_row), p).why == limit::none);
    CHECK(judge(norm(kept_row), p).why == limit::divisibility);
    const rejection r = judge(matvec(narrow_matvec), matvec_problem(544, {{format::q4_K, 64}}));
    CHECK(r.why == limit::divisibility);
    CHECK(r.need == 256);
}

TEST_CASE("what shares a scale is whole", "[constraints]") {
    row all = norm(plain_row);
    all.computes.row().emits = all.computes.row().emits | format::fp8_group;
    row_problem groups = norm_problem(320);
    groups.quant_k = 0;
    groups.needs.emits = format_set::of(format::fp8_group);
    CHECK(judge(all, groups).why == limit::divisibility);
    CHECK(judge(all, groups).need == 128);
    groups.k = 384;
    CHECK(judge(all, groups).why == limit::none);
}

TEST_CASE("rows that share a block hold what a warp does, and are dealt to fewer blocks",
          "[constraints]") {
    const row shared = norm({.threads = 128, .values = 8, .rows = 4, .vector = true});
    CHECK(judge(shared, norm_problem(256)).why == limit::none);
    CHECK(judge(shared, norm_problem(288)).why == limit::held_values);
    CHECK(judge(shared, norm_problem(288)).need == 256);
    CHECK(blocks_of(shared, norm_problem(256, 9)) == 3);
}

TEST_CASE("a block has a warp for each sequence of a head that is convolved", "[constraints]") {
    row shared = norm({.threads = 128, .values = 4, .rows = 4, .vector = true});
    shared.computes.row() = {.stages = stage_set::of(stage_kind::convolve),
                             .emits = format_set::of(format::f32)};
    row_problem p;
    p.needs = shared.computes.row();
    p.k = 128, p.slots = 4;
    const std::int64_t blocks_of_six_heads[] = {2, 3, 6, 6};
    for (const int sequences : {1, 2, 3, 4}) {
        p.sequences = sequences, p.rows = 6 * sequences;
        CHECK(judge(shared, p).why == limit::none);
        CHECK(blocks_of(shared, p) == blocks_of_six_heads[sequences - 1]);
    }
    const std::uint64_t of_four = problem_key(p);
    p.sequences = 5, p.rows = 30;
    CHECK(judge(shared, p).why == limit::sequences);
    CHECK(judge(shared, p).need == 4);
    p.sequences = 2, p.rows = 24;
    CHECK(problem_key(p) != of_four);
}

TEST_CASE("a warp recalls eight values of a head by the delta rule, and keeps their rows",
          "[constraints]") {
    row four_warps = norm({.threads = 128, .values = 4, .rows = 4, .vector = true});
    four_warps.computes.row() = {.stages = stage_set::of(stage_kind::delta_rule),
                                 .emits = format_set::of(format::f32)};
    row_problem p;
    p.needs = four_warps.computes.row();
    p.k = 128, p.rows = 32 * 16, p.slots = 1;
    CHECK(judge(four_warps, p).why == limit::none);
    CHECK(blocks_of(four_warps, p) == 128);
    const std::int64_t state = 32 * 128 * 128, values = 32 * 128;
    CHECK(bytes_of(p) == 4 * (2 * state + 2 * values));
    const std::uint64_t of_one_token = problem_key(p);
    p.slots = 8;
    CHECK(bytes_of(p) == 4 * (2 * state + 8 * 2 * values));
    CHECK(problem_key(p) != of_one_token);

    p.k = 100;
    rejection r = judge(four_warps, p);
    CHECK(r.why == limit::divisibility);
    CHECK(r.need == 8);
    p.k = 136;
    r = judge(four_warps, p);
    CHECK(r.why == limit::held_values);
    CHECK(r.need == 128);
    p.k = 128, p.alignment = 8;
    CHECK(judge(four_warps, p).why == limit::alignment);
    four_warps.policy.row().vector = false;
    CHECK(judge(four_warps, p).why == limit::none);
}

TEST_CASE("vector rows and asynchronous copies want 16 bytes", "[constraints]") {
    row_problem p = norm_problem(512);
    p.alignment = 8;
    CHECK(judge(norm(kept_row), p).why == limit::alignment);
    CHECK(judge(norm(plain_row), p).why == limit::none);
    p.alignment = 2;
    CHECK(judge(norm(plain_row), p).why == limit::alignment);

    product_problem m = matvec_problem(512, {{format::q4_K, 64}});
    m.alignment = 2;
    matvec_policy n = narrow_matvec;
    CHECK(judge(matvec(n), m).why == limit::none);
    n.copy = copy_method::bulk;
    CHECK(judge(matvec(n), m).why == limit::alignment);
    m.alignment = 1;
    CHECK(judge(matvec(narrow_matvec), m).why == limit::alignment);
}

TEST_CASE("a matvec serves as many columns as it has accumulators", "[constraints]") {
    const row r = matvec(wide_matvec);
    CHECK(judge(r, matvec_problem(512, {{format::q4_K, 64}}, 4)).why == limit::none);
    const rejection no = judge(r, matvec_problem(512, {{format::q4_K, 64}}, 5));
    CHECK(no.why == limit::columns);
    CHECK(no.have == 5);
    CHECK(no.need == 4);
}

TEST_CASE("experts work on one column at a time, up to some tokens", "[constraints]") {
    const row r = matvec(narrow_matvec);
    product_problem p = matvec_problem(512, {{format::q4_K, 64, 16}}, 32);
    p.expert = true;
    p.tokens = 8;
    CHECK(judge(r, p).why == limit::none);
    p.tokens = 9;
    CHECK(judge(r, p).why == limit::columns);
}

TEST_CASE("a policy of a single wave serves experts of one token, and sums of slots",
          "[constraints]") {
    matvec_policy how = narrow_matvec;
    how.single_wave = true;
    product_problem p = matvec_problem(512, {{format::q4_K, 64, 8}}, 4);
    p.expert = true, p.tokens = 1;
    CHECK(judge(matvec(how), p).why == limit::none);
    p.tokens = 2;
    CHECK(sentence(judge(matvec(how), p)) == "2 columns; it serves at most 1");
    CHECK(judge(matvec(narrow_matvec), p).why == limit::none);
    row adds = matvec(how);
    adds.computes.product().epilogue = epilogue_set::of(epilogue_part::combine);
    p.needs.epilogue = p.member[0].epilogue = adds.computes.product().epilogue;
    CHECK(judge(adds, p).why == limit::none);
    const product_problem dense = matvec_problem(512, {{format::q4_K, 64}});
    CHECK(judge(matvec(how), dense).why == limit::dense);
}

TEST_CASE("a norm of two launches wants warps that share rows in both", "[constraints]") {
    const row apart = matvec({.threads = 128,
                              .rows = 16,
                              .columns = 8,
                              .piece = 256,
                              .stages = 2,
                              .activation = activation_source::shared,
                              .product = inner_product::mma});
    row together = apart;
    together.policy.matvec().slices = 4;
    for (const bool ends : {false, true})
        for (const bool begins : {false, true}) {
            product_problem p = matvec_problem(512, {{format::q4_K, 64}}, 4);
            p.ends_norm = ends, p.begins_norm = begins;
            CHECK(judge(together, p).why == limit::none);
            CHECK(judge(apart, p).why == (ends || begins ? limit::norm_of_two : limit::none));
        }
}

TEST_CASE("a matvec gates one column, and norms heads that neighboring lanes have",
          "[constraints]") {
    matvec_policy how = narrow_matvec;
    how.columns = 4;
    how.activation = activation_source::shared;
    how.placement = norm_placement::deferred;
    row gates = matvec(how);
    gates.computes.product().stages = stage_kind::rms_norm | stage_kind::mul_weight;
    const auto gated = [](std::int32_t head, stage_set stages, std::int64_t columns = 1) {
        product_problem p = matvec_problem(768, {{format::q4_K, 64}}, columns);
        p.needs.activation = format::f32;
        p.needs.stages = stages;
        p.gate_k = head;
        return p;
    };
    constexpr stage_set alone = stage_set::of(stage_kind::glu),
                        normed = stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::gate;
    for (const std::int32_t head : {24, 32, 64, 128, 256, 768}) {
        const bool in_warp = head == 32 || head == 64 || head == 128;
        CHECK(judge(gates, gated(head, alone)).why == limit::none);
        CHECK(judge(gates, gated(head, normed)).why == (in_warp ? limit::none : limit::gated_head));
    }
    CHECK(judge(gates, gated(512, alone)).why == limit::gated_head);  // ends within the row
    CHECK(judge(gates, gated(6, alone)).why == limit::gated_head);    // ends within a quad
    CHECK(judge(gates, gated(64, alone, 2)).why == limit::columns);
    row other = gates;
    other.policy.matvec().placement = norm_placement::passing;
    CHECK(judge(other, gated(64, alone)).why == limit::gated_head);
    other = gates;
    other.policy.matvec().turns = true;
    CHECK(judge(other, gated(64, alone)).why == limit::gated_head);
}

TEST_CASE("a matvec that turns heads serves whole pairs of few values", "[constraints]") {
    const epilogue_set turned = epilogue_set::of(epilogue_part::heads);
    matvec_policy how = narrow_matvec;
    how.turns = true;
    row turns = matvec(how);
    turns.computes.product().epilogue = parts_of_heads;
    const auto heads = [&](std::initializer_list<problem_member> members) {
        product_problem p = matvec_problem(512, members);
        for (int i = 0; i < p.member_count; ++i) p.member[i].epilogue = turned;
        p.needs.epilogue = turned;
        return p;
    };
    const problem_member even{format::q4_K, 64}, odd{format::q4_K, 63};
    CHECK(judge(turns, heads({even})).why == limit::none);
    CHECK(sentence(judge(turns, heads({even, odd}))) ==
          "a matrix has 63 rows; the elements of heads turn in pairs");
    CHECK(sentence(judge(turns, heads({even, even, even, even, even}))) ==
          "5 matrices; it turns the results of at most 4");
    CHECK(judge(turns, matvec_problem(512, {even})).why == limit::computes);
    CHECK(judge(matvec(narrow_matvec), heads({even})).why == limit::computes);
}

TEST_CASE("float weights want an activation of f32, and rows of whole 32", "[constraints]") {
    matvec_policy n = narrow_matvec;
    n.product = inner_product::fma;
    n.activation = activation_source::global;
    row numbers = matvec(n, format_set::of(format::f16));
    numbers.computes.product().activation = format::f32;
    product_problem p = matvec_problem(512, {{format::f16, 64}});
    CHECK(judge(numbers, p).why == limit::computes);
    p.needs.activation = format::f32;
    CHECK(judge(numbers, p).why == limit::none);
    CHECK(bytes_of(p) == 64 * 512 * 2 + 512 * 4 + 64 * 4);
    p.k = 528;
    const rejection r = judge(numbers, p);
    CHECK(r.why == limit::divisibility);
    CHECK(r.need == 32);
}

TEST_CASE("float weights may have columns in shared memory, of f32", "[constraints]") {
    matvec_policy n = narrow_matvec;
    n.product = inner_product::fma;
    n.activation = activation_source::global;
    const computation c =
        product_computation{.activation = format::f32, .weights = format_set::of(format::f16)};
    const std::int64_t without = shared_bytes(c, n, 512, 3);
    n.activation = activation_source::shared;
    CHECK(shared_bytes(c, n, 512, 3) == without + 3 * (512 * 4 + 16));
}

TEST_CASE("what tensor cores do not multiply is absent from the columns of a matmul on",
          "[constraints]") {
    const arch& before = *arch_named("sm_80");
    CHECK(absence_of(format::fp8_e4m3, min_matmul_columns, before) != nullptr);
    CHECK(absence_of(format::fp8_e4m3, max_matvec_columns, before) == nullptr);
    CHECK(absence_of(format::fp8_e4m3, min_matmul_columns, *arch_named("sm_89")) == nullptr);
}

TEST_CASE("a matmul takes few columns of quantized weights that are no experts", "[constraints]") {
    const row tiles =
        row_of(product_computation{.kind = skeleton::matmul,
                                   .activation = format::q8_1_mmq_ds4,
                                   .weights = q4 | format::f32},
               matmul_policy{.threads = 128, .rows = 32, .columns = 32, .piece = 256, .stages = 2});
    product_problem p = matvec_problem(4096, {{format::q4_K, 4096}}, 2);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = format::q8_1_mmq_ds4;
    const auto least = [&](const product_problem& asked) {
        const rejection no = constraint(tiles, asked, toy_arch);
        return no.why == limit::few_columns ? no.need : 0;
    };
    CHECK(least(p) == 0);
    p.columns = 1;
    CHECK(least(p) == 2);
    p.columns = 8;
    p.member[0].experts = 16, p.expert = true, p.tokens = 8;
    CHECK(least(p) == 9);
    p = matvec_problem(4096, {{format::f32, 4096}}, 8);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = format::q8_1_mmq_ds4;
    CHECK(least(p) == 9);
}
