// What a matvec's instructions cost, by the counts of its machine code.
#include "catena/pick/cost.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy how = {.threads = 128,
                               .min_blocks = 4,
                               .rows = 1,
                               .columns = 1,
                               .piece = 1024,
                               .stages = 4,
                               .copy = copy_method::bulk,
                               .activation = activation_source::shared,
                               .product = inner_product::dp4a};

row counted(const warp_code& code) {
    row r = row_of(matvec_of(format_set::of(format::q4_K)), how);
    r.registers = 64;
    r.code.of[0] = code;
    return r;
}

/// The GPU reads so fast that instructions alone count.
double issue_us(const row& r, std::int64_t k, int rows, int per_sm) {
    arch a = *arch_named("sm_90");
    a.bytes_per_us = 1e12;
    const product_problem p = matvec_problem(k, {{.type = format::q4_K, .rows = rows}});
    const double us = predicted_us(r, p, a, band_rows(r, p, a, per_sm), per_sm);
    return us - a.node_us - detail::loaded_latency_us;
}

}  // namespace

TEST_CASE("An SM with many warps issues at the rate of its schedulers", "[cost]") {
    const int rows = 132 * 4 * 8 * 16;
    const double once = issue_us(counted({100, 100, 0, 0}), 4096, rows, 8);
    CHECK(issue_us(counted({200, 200, 0, 0}), 4096, rows, 8) == Approx(2 * once));
    // Each group of a row has 4 stages; a scheduler issues nine instructions in ten
    // cycles.
    const double groups = rows / 132.0;
    CHECK(once == Approx(groups * 4 * 100 * 32 / 114.8 / 1980).epsilon(0.01));
    CHECK(issue_us(counted({100, 100, 200, 200}), 4096, rows, 8) == Approx(1.5 * once));
}

TEST_CASE("An SM with few warps waits for each of them", "[cost]") {
    const int rows = 132 * 4;  // a group for each warp, four warps on an SM
    const warp_code code = {100, 1000, 50, 500};
    const double us = issue_us(counted(code), 4096, rows, 8);
    CHECK(us == Approx((4 * 1000 + 500) / 1980.0).epsilon(0.01));
    CHECK(issue_us(counted(code), 4096, 4 * rows, 8) == Approx(us));  // and 16 warps
    CHECK(issue_us(counted(code), 4096, 16 * rows, 8) ==
          Approx(2 * us).epsilon(0.01));  // 32 at once
}

TEST_CASE("A last stage has the product's steps for its values, and all else", "[cost]") {
    const int rows = 132 * 4 * 8 * 4;
    row r = counted({200, 200, 0, 0, 160, 160});
    r.policy.matvec().piece = 4096;  // four steps
    const double one = issue_us(r, 4096, rows, 8);
    CHECK(issue_us(r, 4096 + 512, rows, 8) == Approx(one * (200 + 40 + 40) / 200));
    CHECK(issue_us(r, 4096 + 2048, rows, 8) == Approx(one * (200 + 40 + 80) / 200));
    CHECK(issue_us(r, 512, rows, 8) == Approx(one * (40 + 40) / 200));
}

TEST_CASE("Warps that share a row take the time of the one with the most pieces", "[cost]") {
    row r = counted({100, 1000, 50, 500});
    matvec_policy& p = r.policy.matvec();
    p.rows = 16, p.columns = 8, p.product = inner_product::mma;
    const int rows = 132 * 4 * 16;  // a group for each warp
    const double alone = issue_us(r, 8192, rows, 8);
    CHECK(alone == Approx((8 * 1000 + 500) / 1980.0 * 1.21).epsilon(0.01));  // of one column
    p.slices = 4;  // a group for each block, four of which are on an SM at once
    CHECK(issue_us(r, 8192, rows, 8) == Approx((2 * 1000 + 500) / 1980.0 * 1.21).epsilon(0.01));
    CHECK(issue_us(r, 8192 + 1024, rows, 8) ==
          Approx((3 * 1000 + 500) / 1980.0 * 1.21).epsilon(0.01));
    CHECK(issue_us(r, 8192, rows, 1) == Approx(4 * (2 * 1000 + 500) / 1980.0 * 1.21).epsilon(0.01));
}

TEST_CASE("A row that is not on record costs what is usual for its product", "[cost]") {
    const int rows = 132 * 4 * 8 * 16;
    const double bytes = rows / 132.0 * 4096 / 256 * 144;
    const row r = counted({});
    CHECK(issue_us(r, 4096, rows, 8) ==
          Approx(bytes * detail::issues_of(inner_product::dp4a, 1, r.computes.product().weights) /
                 114.8 / 1980)
              .epsilon(0.01));
}

TEST_CASE("Each format of a launch has its own counts", "[cost]") {
    const int rows = 132 * 4 * 8 * 16;
    row r = row_of(matvec_of(format_set::of(format::q4_K) | format::q6_K), how);
    r.registers = 64;
    r.code = {{{100, 100, 0, 0}, {300, 300, 0, 0}}};
    arch a = *arch_named("sm_90");
    a.bytes_per_us = 1e12;
    const auto us = [&](const product_problem& p) {
        const double all = predicted_us(r, p, a, band_rows(r, p, a, 8), 8);
        const double spare = 1 + detail::spare_share * (2.0 - p.needs.weights.size());
        return (all - a.node_us - detail::loaded_latency_us) / spare;
    };
    const problem_member small{.type = format::q4_K, .rows = rows},
        large{.type = format::q6_K, .rows = rows};
    const double q4_K = us(matvec_problem(4096, {small}));
    CHECK(us(matvec_problem(4096, {large})) == Approx(3 * q4_K));
    CHECK(us(matvec_problem(4096, {large, small})) > 3.5 * q4_K);
    CHECK(us(matvec_problem(4096, {large, small})) < 4.5 * q4_K);
}

TEST_CASE("Warps that share rows and keep up with memory get one block on an SM", "[cost]") {
    matvec_policy p = how;
    p.threads = 256, p.min_blocks = 2, p.rows = 16, p.columns = 8, p.piece = 512, p.stages = 2;
    p.slices = 8, p.product = inner_product::mma;
    row r = row_of(matvec_of(format_set::of(format::q4_K)), p);
    r.registers = 128;
    const arch& a = *arch_named("sm_90");
    const product_problem problem = matvec_problem(4096, {{.type = format::q4_K, .rows = 4096}}, 8);
    const auto band = [&](int stage_cycles) {
        r.code.of[0] = {1000, stage_cycles, 100, 600, 800, 1200};
        return band_rows(r, problem, a, 2);
    };
    // Eight warps have 8 * 16 * 288 bytes of q4_K in a stage; an SM reads 11.48 bytes in a cycle.
    CHECK(band(3200) == 32);
    CHECK(band(3220) == 16);
    CHECK(band(0) == 16);  // not counted
}
