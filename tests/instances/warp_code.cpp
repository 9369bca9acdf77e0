// What a warp issues, read off code that is written by hand.
#include "warp_code.hpp"

#include "sass_code.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena::evidence;

namespace {

row matvec(const matvec_policy& p) {
    row r;
    r.computes = product_computation{.weights = format_set::of(format::q4_K)};
    r.policy = p;
    return r;
}

/// Where the parts of a ring begin.
enum place : std::size_t {
    fill = 1,  ///< three instructions
    rare = 4,  ///< three, where there is nothing to fill
    product = 7,
    product_end = 15,  ///< its branch
    results = 16,      ///< three
    loop_end = 19,
    leave = 20
};

/// A ring: one instruction before it; a fill, a rare part, a product of nine in a loop, results of
/// two behind a branch, and the loop's end.
sass_function ring(sass_kind multiplies = sass_kind::dp4a) {
    using enum sass_kind;
    std::vector<sass_kind> kinds = {integer, control, bulk_copy, integer,
                                    control, integer, integer};
    kinds.insert(kinds.end(), product_end - product, multiplies);
    kinds.insert(kinds.end(), {control, control, store, integer, control, control});
    sass_function f = code_of(kinds);
    branch(f, fill, rare);
    branch(f, rare, product);
    branch(f, product_end, product);
    branch(f, results, loop_end);
    branch(f, loop_end, fill);
    f.code[leave].leaves = true;
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
    CHECK(c.stage_issues == 3 + 1 + 9 + 1 + 1);
    CHECK(c.result_issues == 2);
    CHECK(c.product_issues == 9);
    CHECK(c.product_cycles == 9);
    CHECK(c.stage_cycles == 15);
    CHECK(c.result_cycles == 2);
}

TEST_CASE("The integer pipe takes a warp for two cycles", "[warp_code]") {
    sass_function f = ring(sass_kind::mma);
    matvec_policy tensor = one_step;
    tensor.rows = 1, tensor.columns = 8, tensor.piece = 128;
    tensor.activation = activation_source::shared, tensor.product = inner_product::mma;
    CHECK(stage_of(tensor, f).stage_issues == 15);  // one is integer
    for (std::size_t i = product + 1; i < product_end; ++i) f.code[i].kind = sass_kind::integer;
    const warp_code c = stage_of(tensor, f);
    CHECK(c.product_issues == 2 * 7);
    CHECK(c.stage_issues == 2 * 8);
    CHECK(c.result_issues == 2);
    CHECK(c.stage_cycles == 15);
}

TEST_CASE("The product's loop is issued for each step of a piece", "[warp_code]") {
    matvec_policy longer = one_step;
    longer.piece = 4096;
    CHECK(stage_of(longer, ring()).stage_issues == 3 + 1 + 4 * 9 + 1 + 1);
    CHECK(stage_of(longer, ring()).product_issues == 4 * 9);
}

TEST_CASE("A loop over bulk copies is issued for each row", "[warp_code]") {
    sass_function f = ring(sass_kind::mma);
    branch(f, fill + 2, fill + 1);
    matvec_policy rows = one_step;
    rows.columns = 8, rows.piece = 128, rows.activation = activation_source::shared;
    rows.product = inner_product::mma;
    CHECK(stage_of(rows, f).stage_issues == 15);
    rows.rows = 16;
    CHECK(stage_of(rows, f).stage_issues == 15 + 15 * 2);
}

TEST_CASE("A product that is no loop is taken whole", "[warp_code]") {
    sass_function f = ring();
    f.code[product_end].branch = false;  // the branch back
    CHECK(stage_of(one_step, f).stage_issues == 15);
    CHECK(stage_of(one_step, f).product_issues == 10);  // with the branch behind it
    branch(f, product + 2, product + 7);                // past a part of it
    CHECK(stage_of(one_step, f).stage_issues == 15);
    branch(f, product + 2, loop_end);  // out of it: no part has all of it
    CHECK(stage_of(one_step, f) == warp_code{});
}

TEST_CASE("What multiplies less than a step of all rows is not the product", "[warp_code]") {
    sass_function f = ring();
    f.code[product_end].branch = false;
    // A norm before it: a loop of fewer.
    f.code[rare + 1].kind = f.code[rare + 2].kind = sass_kind::dp4a;
    branch(f, product - 1, rare + 1);
    CHECK(stage_of(one_step, f).product_issues == 10);
    matvec_policy two = one_step;
    two.rows = 2;
    CHECK(stage_of(two, f) == warp_code{});
}

TEST_CASE("Of the parts that multiply all of a step, the shortest is the product", "[warp_code]") {
    using enum sass_kind;
    sass_function f = ring();
    f.code[product_end].branch = false;
    // A function of the results, which takes more.
    std::vector<sass_kind> function(20, dp4a);
    function.insert(function.end(), 30, integer);
    function.push_back(control);
    branch(f, results + 2, f.code.size(), true);
    for (const sass_kind kind : function) add(f, kind);
    branch(f, f.code.size() - 1, loop_end, true);
    f.code[leave].always = true;
    CHECK(stage_of(one_step, f).product_issues == 10);
}

TEST_CASE("A loop of results multiplies, too, but is not the product", "[warp_code]") {
    using enum sass_kind;
    sass_function f = ring();
    std::vector<sass_kind> loop(12, dp4a);
    loop.front() = store;
    loop.push_back(control);
    loop.push_back(control);
    branch(f, results + 2, f.code.size(), true);
    const std::size_t first = f.code.size();
    for (const sass_kind kind : loop) add(f, kind);
    branch(f, f.code.size() - 2, first);
    branch(f, f.code.size() - 1, loop_end, true);
    f.code[leave].always = true;
    CHECK(stage_of(one_step, f).product_issues == 9);
}

TEST_CASE("A part of the stages' loop that lies behind the kernel's end is counted",
          "[warp_code]") {
    sass_function f = ring();
    f.code[leave].always = true;
    branch(f, results, leave + 1, true);  // the only way on from the product
    for (const sass_kind kind : {sass_kind::integer, sass_kind::store, sass_kind::control})
        add(f, kind);
    branch(f, leave + 3, loop_end, true);
    CHECK(stage_of(one_step, f).stage_issues == 15 + 3);
}

TEST_CASE("Of a loop that its first test ends, one turn is counted", "[warp_code]") {
    sass_function f = ring();
    f.code[rare + 2].kind = sass_kind::control;
    branch(f, rare + 2, results);  // the test, where the product begins
    branch(f, rare, rare + 2);
    branch(f, product_end, rare + 2, true);
    CHECK(stage_of(one_step, f).product_issues == 10);
    CHECK(stage_of(one_step, f).stage_issues == 16);
}

TEST_CASE("Stalls and scoreboards make the cycles of a warp alone", "[warp_code]") {
    sass_function f = ring();
    f.code[fill + 2].stall = 5;
    CHECK(stage_of(one_step, f).stage_cycles == 19);
    f.code[rare].kind = sass_kind::memory;  // shared memory, for which the next instruction waits
    f.code[rare].result_to = 2;
    f.code[product].waits = 1u << 2;
    CHECK(stage_of(one_step, f).stage_cycles == 19 + 29);
    f.code[product].waits = 1u << 3;  // another scoreboard
    CHECK(stage_of(one_step, f).stage_cycles == 19);
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
    const auto size = static_cast<std::uint32_t>(f.code.size());
    for (sass_instruction i : other.code) {
        i.at += 16 * size;
        if (i.branch) i.target += 16 * size;
        f.code.push_back(i);
    }
    branch(f, 0, size);
    f.code[fill + 2].constant = 1024 / 256 * 210;         // q6_K's
    f.code[size + fill + 2].constant = 1024 / 256 * 144;  // q4_K's
    f.code[size + fill + 2].stall = 3;
    row two = matvec(one_step);
    two.computes.product().weights = format_set::of(format::q4_K) | format::q6_K;
    const warp_codes found = warp_code_of(two, f);
    CHECK(found.of[0].stage_cycles == 17);
    CHECK(found.of[1].stage_cycles == 15);
}
