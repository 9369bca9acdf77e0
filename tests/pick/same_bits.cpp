// Which accumulation order a product has with same_bits: that of each of its matrices alone, with
// as many columns as a matvec serves.
#include "catena/kernel/layout.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy one_column = {.threads = 128,
                                      .rows = 2,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 4,
                                      .copy = copy_method::bulk,
                                      .activation = activation_source::shared};
constexpr matvec_policy eight_columns = {.threads = 64,
                                         .rows = 16,
                                         .columns = 8,
                                         .piece = 512,
                                         .stages = 2,
                                         .product = inner_product::mma};
/// Warps share rows that are aligned.
constexpr matvec_policy sliced = {.threads = 256,
                                  .rows = 16,
                                  .columns = 8,
                                  .piece = 512,
                                  .stages = 2,
                                  .slices = 8,
                                  .copy = copy_method::bulk,
                                  .activation = activation_source::shared,
                                  .product = inner_product::mma};

row matvec_row(format_set weights, const matvec_policy& p) {
    product_computation c = matvec_of(weights);
    c.epilogue = epilogue_set::of(epilogue_part::glu);
    row r = row_of(c, p);
    r.order = order_of(p);
    return r;
}

/// A row of one column for each of two formats and for both together, then rows of eight columns:
/// of q4_K with shared rows, of the others without.
const std::vector<row>& all_rows() {
    static const std::vector<row> rows = {
        matvec_row(q4, one_column),        matvec_row(q8, one_column),
        matvec_row(q4 | q8, one_column),   matvec_row(q4, sliced),
        matvec_row(q4, eight_columns),     matvec_row(q8, eight_columns),
        matvec_row(q4 | q8, eight_columns)};
    return rows;
}

/// The rows on an H100.
const table& rows_table() {
    static const table t = [] {
        table out;
        out.target = arch_named("sm_90");
        out.rows = all_rows().data();
        out.row_count = static_cast<int>(all_rows().size());
        return out;
    }();
    return t;
}

int row_with_same_bits(const product_problem& p) {
    const preference same{.same_bits = true};
    const picked found = pick(p, rows_table(), same);
    CHECK((served(p, row_index(rows_table()), same).why == limit::none) == (found.row >= 0));
    return found.row;
}

constexpr std::int32_t many = 4096;

}  // namespace

TEST_CASE("same_bits: one column has the order of eight", "[same_bits]") {
    const product_problem alone = matvec_problem(2048, {{format::q8_0, many}});
    REQUIRE(pick(alone, rows_table()).row == 1);
    CHECK(row_with_same_bits(alone) == 5);
    for (const std::int64_t columns : {1, 2, 8})
        for (const std::int32_t rows : {16, 512, 65536}) {
            const int q4_K =
                row_with_same_bits(matvec_problem(2048, {{format::q4_K, rows}}, columns));
            CHECK(all_rows()[static_cast<std::size_t>(q4_K)].order == order_of(sliced));
        }
}

TEST_CASE("same_bits: where no row serves eight columns, one column has its own order",
          "[same_bits]") {
    table t = rows_table();
    t.row_count = 2;  // of one column
    const preference same{.same_bits = true};
    CHECK(pick(matvec_problem(2048, {{format::q8_0, many}}), t, same).row == 1);
    CHECK(pick(matvec_problem(2048, {{format::q8_0, many}}, 2), t, same).row == -1);
}

TEST_CASE("same_bits: matrices whose orders differ alone have no launch together", "[same_bits]") {
    const auto both = [](std::int64_t columns) {
        return matvec_problem(2048, {{format::q4_K, many}, {format::q8_0, many}}, columns);
    };
    for (const std::int64_t columns : {1, 8}) {
        REQUIRE(pick(both(columns), rows_table()).row >= 0);
        CHECK(row_with_same_bits(both(columns)) == -1);
        CHECK(row_with_same_bits(
                  matvec_problem(2048, {{format::q8_0, many}, {format::q8_0, 32}}, columns)) == 5);
    }
    const choice c = choose(both(1), rows_table(), {.same_bits = true});
    for (const rejection& r : c.rejected)
        if (r.row == 6) CHECK((r.why == limit::order && r.need == order_of(sliced)));
}

TEST_CASE("same_bits: an unaligned matrix runs alone, where aligned ones have another order",
          "[same_bits]") {
    product_problem p = matvec_problem(2048, {{format::q4_K, many}});
    p.alignment = 2;
    const int alone = row_with_same_bits(p);
    REQUIRE(alone >= 0);
    CHECK(all_rows()[static_cast<std::size_t>(alone)].order == order_of(eight_columns));
    p.member[p.member_count++] = {format::q4_K, 32};
    REQUIRE(pick(p, rows_table()).row == alone);
    CHECK(row_with_same_bits(p) == -1);
    p = matvec_problem(2048, {{format::q4_K, many, 0, epilogue_set::of(epilogue_part::glu)}});
    p.needs.epilogue = p.member[0].epilogue;
    p.alignment = 2;
    CHECK(row_with_same_bits(p) == -1);
}

TEST_CASE("same_bits: a token of experts has the order of one column", "[same_bits]") {
    for (const std::int64_t tokens : {1, 8}) {
        product_problem p = matvec_problem(2048, {{format::q4_K, many, 8}}, 2 * tokens);
        p.expert = true;
        p.tokens = tokens;
        const int row = row_with_same_bits(p);
        REQUIRE(row >= 0);
        CHECK(all_rows()[static_cast<std::size_t>(row)].order == order_of(one_column));
        if (tokens > 1) continue;
        p.member[p.member_count++] = {format::q4_K, many};  // dense, beside them
        CHECK(row_with_same_bits(p) == -1);
    }
}

TEST_CASE("same_bits: attention of several tokens has the order of one", "[same_bits]") {
    row_computation c;
    c.stages = stage_set::of(stage_kind::rms_norm) | stage_kind::store | stage_kind::attend;
    c.emits = format_set::of(format::f32) | format::f16;
    std::vector<row> rows;
    for (const int values : {4, 8}) {  // of a lane
        rows.push_back(row_of(
            c, row_policy{
                   .threads = 320, .values = values, .rows = 10, .cluster = 8, .vector = true}));
        rows.back().order = static_cast<unsigned>(values);
    }
    table t;
    t.target = arch_named("sm_90");
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    const std::int64_t heads = 32, key_heads = 8;
    for (const bool norm : {false, true})
        for (const std::int64_t positions : {40, 768})
            for (const std::int64_t tokens : {1, 4, 8}) {
                CAPTURE(norm, positions, tokens);
                row_problem p;
                p.needs = c;
                if (!norm) p.needs.stages = stage_set::of(stage_kind::store) | stage_kind::attend;
                p.k = 128, p.rows = heads * tokens, p.slots = heads / key_heads * tokens;
                p.stored = 2 * key_heads * tokens, p.positions = positions, p.alignment = 16;
                CHECK(pick(p, t).row == 0);
                CHECK(pick(p, t, {.same_bits = true}).row == 0);
            }
}
