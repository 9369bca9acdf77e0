// What a warp issues, read off code that is written by hand.
#include "warp_code.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena::generator;

namespace {

sass_function code_of(const std::vector<sass_kind>& kinds) {
    sass_function f{"kernel", {}};
    for (const sass_kind kind : kinds)
        f.code.push_back({.at = static_cast<std::uint32_t>(16 * f.code.size()),
                          .target = 0,
                          .kind = kind,
                          .branch = false});
    return f;
}

void branch(sass_function& f, std::size_t from, std::size_t to, bool always = false) {
    f.code[from].branch = true;
    f.code[from].always = always;
    f.code[from].target = static_cast<std::uint32_t>(16 * to);
}

row matvec(const matvec_policy& p) {
    row r;
    r.computes = product_computation{.weights = format_set::of(format::q4_K)};
    r.policy = p;
    return r;
}

/// A ring: one instruction before it; a fill of three, a rare part of two, a product of three in a
/// loop, results of two, and the loop's end.
sass_function ring() {
    using enum sass_kind;
    sass_function f = code_of({integer,                      // 0
                               control, bulk_copy, integer,  // 1: nothing is left to fill
                               control, integer, integer,    // 4: rare
                               dp4a, dp4a, control,          // 7: the product
                               control, store, integer,      // 10: results
                               control, control});           // 13: the loop; EXIT
    branch(f, 1, 4);
    branch(f, 4, 7);
    branch(f, 9, 7);
    branch(f, 10, 13);
    branch(f, 13, 1);
    f.code[14].leaves = true;
    return f;
}

constexpr matvec_policy one_step = {.threads = 128,
                                    .rows = 1,
                                    .columns = 1,
                                    .piece = 1024,
                                    .stages = 4,
                                    .copy = copy_method::bulk,
                                    .product = inner_product::dp4a};

warp_code stage_of(const matvec_policy& p, const sass_function& f) {
    const warp_codes all = warp_code_of(matvec(p), f);
    CHECK(all.of[1] == warp_code{});
    return all.of[0];
}

}  // namespace

TEST_CASE("A warp takes the shortest way through the loop that fills, multiplies and stores",
          "[warp_code]") {
    const warp_code c = stage_of(one_step, ring());
    CHECK(c.stage_instructions == 3 + 1 + 3 + 1 + 1);
    CHECK(c.result_instructions == 2);
    CHECK(c.product_instructions == 3);
    CHECK(c.product_cycles == 3);
    CHECK(c.stage_cycles == 9);
    CHECK(c.result_cycles == 2);
}

TEST_CASE("The product's loop is issued for each step of a piece", "[warp_code]") {
    matvec_policy longer = one_step;
    longer.piece = 4096;
    CHECK(stage_of(longer, ring()).stage_instructions == 3 + 1 + 4 * 3 + 1 + 1);
    CHECK(stage_of(longer, ring()).product_instructions == 4 * 3);
}

TEST_CASE("A loop over bulk copies is issued for each row", "[warp_code]") {
    sass_function f = ring();
    branch(f, 3, 2);
    matvec_policy rows = one_step;
    CHECK(stage_of(rows, f).stage_instructions == 9);
    rows.rows = 16;
    CHECK(stage_of(rows, f).stage_instructions == 9 + 15 * 2);
}

TEST_CASE("Stalls and scoreboards make the cycles of a warp alone", "[warp_code]") {
    sass_function f = ring();
    f.code[3].stall = 5;
    CHECK(stage_of(one_step, f).stage_cycles == 13);
    f.code[7].kind = sass_kind::memory;  // shared memory, for which the next instruction waits
    f.code[7].result_to = 2;
    f.code[8].waits = 1u << 2;
    CHECK(stage_of(one_step, f).stage_cycles == 13 + 29);
    f.code[8].waits = 1u << 3;  // another scoreboard
    CHECK(stage_of(one_step, f).stage_cycles == 13);
}

TEST_CASE("Code without such a loop, and other rows, have no count", "[warp_code]") {
    CHECK(warp_code_of(matvec(one_step), code_of({sass_kind::dp4a, sass_kind::bulk_copy})) ==
          warp_codes{});
    row other = matvec(one_step);
    other.computes = row_computation{};
    CHECK(warp_code_of(other, ring()) == warp_codes{});
}

TEST_CASE("Each format of a kernel has its loop, told by the bytes of its pieces", "[warp_code]") {
    sass_function f = ring();
    const sass_function other = ring();
    for (sass_instruction i : other.code) {
        i.at += 16 * 15;
        if (i.branch) i.target += 16 * 15;
        f.code.push_back(i);
    }
    f.code[3].constant = 1024 / 256 * 210;   // q6_K's
    f.code[18].constant = 1024 / 256 * 144;  // q4_K's
    f.code[18].stall = 3;
    row two = matvec(one_step);
    two.computes.product().weights = format_set::of(format::q4_K) | format::q6_K;
    const warp_codes found = warp_code_of(two, f);
    CHECK(found.of[0].stage_cycles == 11);
    CHECK(found.of[1].stage_cycles == 9);
}
