// Golden decisions on invented hardware: when one changes, somebody changed the cost model or a
// limit, and should say so.
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

table table_of(const std::vector<row>& rows, const arch& a = toy_arch) {
    table t;
    t.target = &a;
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    return t;
}

/// The same on an H100, whose times the cost model has.
table on_h100(const std::vector<row>& rows) { return table_of(rows, *arch_named("sm_90")); }

std::string picked_name(const problem& p, const table& t, const preference& want = {}) {
    return row_name(t, pick(p, t, want).row);
}

limit why_not(const choice& c, int row) {
    for (const rejection& r : c.rejected)
        if (r.row == row) return r.why;
    return limit::none;
}

const std::vector<row> row_rows = {
    row_of(norm_row, row_policy{.threads = 64, .values = 8, .vector = true}),
    row_of(norm_row, row_policy{.threads = 256, .values = 8, .vector = true}),
    row_of(norm_row, row_policy{.threads = 512, .values = 16, .vector = true}),
    row_of(norm_row, row_policy{.threads = 128}),
};

const std::vector<row> matvec_rows = {
    row_of(matvec_of(q4),
           matvec_policy{.threads = 64, .rows = 1, .columns = 1, .piece = 1024, .stages = 2}),
    row_of(matvec_of(q4), matvec_policy{.threads = 128,
                                        .rows = 4,
                                        .columns = 1,
                                        .piece = 1024,
                                        .stages = 4,
                                        .copy = copy_method::bulk}),
    row_of(matvec_of(q4),
           matvec_policy{.threads = 64, .rows = 2, .columns = 4, .piece = 1024, .stages = 2}),
    row_of(matvec_of(q4 | q6),
           matvec_policy{.threads = 64, .rows = 1, .columns = 1, .piece = 1024, .stages = 2}),
};

}  // namespace

TEST_CASE("short rows get few threads, long rows many, endless rows the plain row", "[decisions]") {
    const table t = on_h100(row_rows);
    CHECK(picked_name(norm_problem(256), t) == "scale_add_rms_norm_mul.f32_q8_1.t64_v8_vec.sm_90");
    CHECK(picked_name(norm_problem(1024), t) ==
          "scale_add_rms_norm_mul.f32_q8_1.t256_v8_vec.sm_90");
    CHECK(picked_name(norm_problem(8192), t) ==
          "scale_add_rms_norm_mul.f32_q8_1.t512_v16_vec.sm_90");
    CHECK(picked_name(norm_problem(8224), t) == "scale_add_rms_norm_mul.f32_q8_1.t128_v0.sm_90");
}

TEST_CASE("misaligned rows get the plain row", "[decisions]") {
    row_problem p = norm_problem(2048);
    p.alignment = 4;
    CHECK(picked_name(p, table_of(row_rows)) == "scale_add_rms_norm_mul.f32_q8_1.t128_v0.toy");
}

TEST_CASE("the matvec whose copies wait for nothing wins on a large matrix", "[decisions]") {
    const table t = on_h100(matvec_rows);
    CHECK(picked_name(matvec_problem(4096, {{format::q4_K, 8192}}), t) ==
          "matvec.q4_K.t128_r4_c1_p1024_bulk4.sm_90");
}

TEST_CASE("columns decide before anything else", "[decisions]") {
    const table t = table_of(matvec_rows);
    CHECK(picked_name(matvec_problem(4096, {{format::q4_K, 8192}}, 2), t) ==
          "matvec.q4_K.t64_r2_c4_p1024_plain2.toy");
    CHECK(picked_name(matvec_problem(4096, {{format::q4_K, 8192}}, 5), t) == "none");
}

TEST_CASE("bands that do not divide among the SMs evenly cost what the fullest SM takes",
          "[decisions]") {
    const product_problem p = matvec_problem(4096, {{format::q4_K, 400}}, 8);
    matvec_policy eight = wide_matvec;
    eight.columns = 8;
    eight.activation = activation_source::shared;
    const row r = row_of(matvec_of(q4), eight);
    arch quick = toy_arch;  // memory does not count
    quick.bytes_per_us = 1e6;
    const auto us = [&](std::int32_t band) {
        return predicted_us(r, p, quick, shape_with_bands(r, p, quick, 1, band));
    };
    CHECK(us(80) > us(100) * 1.2);  // 5 blocks on 4 SMs: 160 rows on one of them
    CHECK(us(80) > us(50) * 1.2);   // 8 blocks: 100 rows on each
}

TEST_CASE("only a row that lists all formats of a group serves it", "[decisions]") {
    const table t = table_of(matvec_rows);
    CHECK(picked_name(matvec_problem(4096, {{format::q4_K, 512}, {format::q6_K, 512}}), t) ==
          "matvec.q4_K_q6_K.t64_r1_c1_p1024_plain2.toy");
    CHECK(picked_name(matvec_problem(4096, {{format::q4_K, 512}, {format::q8_0, 512}}), t) ==
          "none");
}

TEST_CASE("a row pays for columns and formats that it has to spare", "[decisions]") {
    matvec_policy wider = narrow_matvec;
    wider.columns = 2;
    const std::vector<row> rows = {row_of(matvec_of(q4 | q6), narrow_matvec),
                                   row_of(matvec_of(q4), wider),
                                   row_of(matvec_of(q4), narrow_matvec)};
    const std::vector<row> same_stage = {row_of(matvec_of(q4 | q8), narrow_matvec),
                                         row_of(matvec_of(q4), narrow_matvec)};
    CHECK(pick(matvec_problem(4096, {{format::q4_K, 8192}}), table_of(rows)).row == 2);
    CHECK(pick(matvec_problem(4096, {{format::q4_K, 8192}}), table_of(same_stage)).row == 1);
}

TEST_CASE("an mma takes no less for more columns", "[decisions]") {
    matvec_policy fragments = narrow_matvec;
    fragments.rows = mma_rows;
    fragments.columns = mma_columns;
    fragments.product = inner_product::mma;
    const std::vector<row> rows = {row_of(matvec_of(q4), fragments)};
    double before = 0;
    for (int columns = 2; columns <= mma_columns; ++columns) {
        const picked now =
            pick(matvec_problem(4096, {{format::q4_K, 8192}}, columns), table_of(rows));
        REQUIRE(now.row == 0);
        CHECK(now.predicted_us >= before);
        before = now.predicted_us;
    }
}

TEST_CASE("of rows that are equally good the first of the table is picked", "[decisions]") {
    const std::vector<row> twins(3, row_of(norm_row, kept_row));
    CHECK(pick(norm_problem(512), table_of(twins)).row == 0);
    const choice c = choose(norm_problem(512), table_of(twins));
    CHECK(why_not(c, 1) == limit::slower);
    CHECK(why_not(c, 2) == limit::slower);
}

TEST_CASE("a row that the set prefers for a shape is picked there, and only there", "[decisions]") {
    table t = on_h100(matvec_rows);
    const preferred_row few[] = {{{.k = 4096, .rows = 8192, .columns = 1}, 0}};
    const product_problem asked = matvec_problem(4096, {{format::q4_K, 8192}});
    REQUIRE(pick(asked, t).row == 1);
    t.preferred = few;
    t.preferred_count = 1;
    const choice c = choose(asked, t);
    CHECK(c.best.row == 0);
    CHECK(c.best.preferred);
    CHECK(why_not(c, 1) == limit::not_preferred);
    CHECK(sentence({.row = 1, .why = why_not(c, 1)}) ==
          "the set prefers the picked row for this shape");
    CHECK(pick(matvec_problem(2048, {{format::q4_K, 8192}}), t).row == 1);
    CHECK(pick(matvec_problem(4096, {{format::q4_K, 4096}, {format::q4_K, 4096}}), t).row == 0);
    const preferred_row any_rows[] = {{{.k = 4096}, 0}};
    t.preferred = any_rows;
    CHECK(pick(asked, t).row == 0);
    // What cannot run is not preferred.
    const preferred_row impossible[] = {{{.k = 0, .rows = 0, .columns = 2}, 0}};
    t.preferred = impossible;
    CHECK(pick(matvec_problem(4096, {{format::q4_K, 8192}}, 2), t).row == 2);
    // A preference outweighs a median.
    const measurement median[] = {{problem_key(asked), 1, 0.1f, 0}};
    t.preferred = few;
    t.measured = median;
    t.measured_count = 1;
    CHECK(pick(asked, t).row == 0);
    CHECK(why_not(choose(asked, t), 1) == limit::not_preferred);
}

TEST_CASE("a choice holds every other row with its reason", "[decisions]") {
    const table t = on_h100(matvec_rows);
    const choice c = choose(matvec_problem(4096, {{format::q4_K, 8192}}, 2), t);
    CHECK(c.best.row == 2);
    REQUIRE(c.rejected.size() == 3);
    CHECK(why_not(c, 0) == limit::columns);
    CHECK(why_not(c, 1) == limit::columns);
    CHECK(why_not(c, 3) == limit::columns);
    CHECK(sentence(c.rejected[0]) == "2 columns; it serves at most 1");

    const choice one = choose(matvec_problem(4096, {{format::q4_K, 8192}}), t);
    CHECK(one.best.row == 1);
    CHECK(why_not(one, 0) == limit::slower);
    for (const rejection& r : one.rejected) {
        CHECK(r.have >= r.need);
        CHECK(r.need == static_cast<std::int64_t>(one.best.predicted_us * 1000));
    }
}

TEST_CASE("rows of other computations change no pick, wherever they stand", "[decisions]") {
    const product_problem p = matvec_problem(4096, {{format::q4_K, 8192}}, 2);
    std::vector<row> mixed;
    std::vector<int> place;  // of each row of matvec_rows
    for (const row& r : matvec_rows) {
        mixed.push_back(row_of(norm_row, kept_row));
        mixed.push_back(row_of(matvec_of(format_set::of(format::q6_K)), narrow_matvec));
        place.push_back(static_cast<int>(mixed.size()));
        mixed.push_back(r);
    }
    const choice apart = choose(p, table_of(matvec_rows));
    const choice together = choose(p, table_of(mixed));
    CHECK(together.best.row == place[static_cast<std::size_t>(apart.best.row)]);
    CHECK(pick(p, table_of(mixed)).row == together.best.row);
    CHECK(together.rejected.size() == mixed.size() - 1);
    CHECK(why_not(together, 0) == limit::computes);
    CHECK(why_not(together, 1) == limit::computes);
    for (const rejection& r : apart.rejected)
        CHECK(why_not(together, place[static_cast<std::size_t>(r.row)]) == r.why);
}

TEST_CASE("when no row serves, the nearest rejection is kept", "[decisions]") {
    const picked p = pick(matvec_problem(4096, {{format::q4_K, 8192}}, 5), table_of(matvec_rows));
    CHECK(p.row == -1);
    CHECK(p.nearest.why == limit::columns);
    CHECK(p.nearest.have == 5);
}

TEST_CASE("pick and choose agree", "[decisions]") {
    const table t = table_of(matvec_rows);
    for (const std::int64_t rows : {1, 7, 64, 1000, 8192, 128256})
        for (const std::int64_t columns : {1, 2, 4}) {
            const product_problem p =
                matvec_problem(2048, {{format::q4_K, static_cast<int>(rows)}}, columns);
            CHECK(pick(p, t).row == choose(p, t).best.row);
        }
}

TEST_CASE("the same bits for every batch: one order, whatever would be faster", "[decisions]") {
    arch fast = toy_arch;
    fast.bytes_per_us = 1e6;
    const std::vector<row> rows = {
        row_of(norm_row, row_policy{.threads = 256, .values = 8, .vector = true}),
        row_of(norm_row, row_policy{.threads = 64, .values = 32, .vector = true}),
        row_of(norm_row, row_policy{.threads = 256}),
    };
    const table t = table_of(rows, fast);
    const preference same{.same_bits = true};
    const std::int64_t k = 2048;
    REQUIRE(pick(norm_problem(k), t).row == 0);
    REQUIRE(pick(norm_problem(k, 4096), t).row == 1);
    CHECK(pick(norm_problem(k), t, same).row == 0);
    CHECK(pick(norm_problem(k, 4096), t, same).row == 0);
    const choice c = choose(norm_problem(k, 4096), t, same);
    CHECK(why_not(c, 1) == limit::order);
    row_problem misaligned = norm_problem(k);
    misaligned.alignment = 4;
    CHECK(pick(misaligned, t, same).row == 2);
}

TEST_CASE("rows without a measurement are not picked when measurements are demanded",
          "[decisions]") {
    std::vector<row> rows = row_rows;
    const preference measured{.measured_only = true};
    CHECK(pick(norm_problem(256), table_of(rows), measured).row == -1);
    rows[3].evidence.kind = provenance_kind::measured;
    CHECK(pick(norm_problem(256), table_of(rows), measured).row == 3);
}

TEST_CASE("bands fill the GPU once, and every warp of a block has rows", "[decisions]") {
    const row r =
        row_of(matvec_of(q4),
               matvec_policy{.threads = 128, .rows = 2, .columns = 1, .piece = 1024, .stages = 2});
    product_problem p = matvec_problem(1024, {{format::q4_K, 1000}, {format::q4_K, 10}});
    const int resident = blocks_per_sm(r, p, toy_arch);
    REQUIRE(resident == 4);  // 128 threads of 64 registers
    const launch_shape shape = shape_of_launch(r, p, toy_arch, resident);
    CHECK(shape.band == 64);  // 1010 rows over 16 blocks, in steps of 4 warps x 2 rows
    CHECK(bands_of(p, shape.band) == 16 + 1);
    CHECK(config_of(r, p, toy_arch, shape).blocks == 17);

    p.member[0].rows = 3;
    p.member_count = 1;
    CHECK(band_rows(r, p, toy_arch, blocks_per_sm(r, p, toy_arch)) == 8);

    p = matvec_problem(1024, {{format::q4_K, 64, 8}}, 6);
    p.expert = true;
    p.tokens = 3;
    const launch_shape of_experts = shape_of_launch(r, p, toy_arch, blocks_per_sm(r, p, toy_arch));
    CHECK(of_experts.band == 24);
    CHECK(config_of(r, p, toy_arch, of_experts).blocks == 3 * 6);
}

TEST_CASE("all operands of a row are on their way at once", "[decisions]") {
    const row r = row_of(norm_row, row_policy{.threads = 256, .values = 8, .vector = true});
    arch quick = toy_arch;  // a row waits for memory, not for bandwidth
    quick.bytes_per_us = 100e3;
    row_problem p = norm_problem(2048);
    p.needs.stages = p.needs.stages.without(stage_kind::add_residual);
    const double alone = predicted_us(r, p, quick, {.resident = 2});
    p.needs.stages = p.needs.stages | stage_kind::add_residual;
    CHECK(predicted_us(r, p, quick, {.resident = 2}) == Approx(alone).epsilon(0.01));
    CHECK(predicted_us(r, norm_problem(2048, 4096), quick, {.resident = 2}) > 2 * alone);
}

TEST_CASE("bytes are those of every operand once, experts as many as random draws meet",
          "[decisions]") {
    CHECK(bytes_of(norm_problem(512, 2)) == 4 * 512 * 2 + 4 * 512 + 2 * 576);
    product_problem p = matvec_problem(512, {{format::q4_K, 10}}, 3);
    CHECK(bytes_of(p) == 3 * 576 + 10 * 288 + 3 * 10 * 4);
    p.expert = true;
    p.tokens = 3;
    p.member[0].experts = 2;
    CHECK(bytes_of(p) == 3 * 576 + 7 * 10 * 288 / 4 + 3 * 10 * 4);  // all but one time in eight
    p.columns = 4, p.tokens = 2, p.member[0].experts = 4;  // of 36 ways to draw two and two
    CHECK(bytes_of(p) == 2 * 576 + (6 * 2 + 24 * 3 + 6 * 4) / 36 * 10 * 288 + 4 * 10 * 4);
    p.columns = 8;  // all of them
    CHECK(bytes_of(p) == 2 * 576 + 4 * 10 * 288 + 8 * 10 * 4);
    p.columns = 3, p.tokens = 3, p.needs.kind = skeleton::matmul;  // spread evenly
    CHECK(bytes_of(p) == 3 * 576 + 3 * 10 * 288 + 3 * 10 * 4);
    p.tokens = 1, p.needs.kind = skeleton::matvec;
    const std::int64_t of_experts = bytes_of(p);
    p.member[p.member_count++] = {format::q4_K, 10};  // dense, beside them: it has one column
    CHECK(bytes_of(p) - of_experts == 10 * 288 + 10 * 4);
}

TEST_CASE("code that does not wait for the kernel before it is not launched to overlap it",
          "[decisions]") {
    const std::vector<row> rows = {
        row_of(norm_row, row_policy{.threads = 256, .values = 8, .vector = true})};
    table t = table_of(rows);
    REQUIRE(pick(norm_problem(256), t).config.dependent);
    arch older = toy_arch;
    older.dependent_launch = false;
    t.target = &older;
    t.device = toy_arch;
    CHECK_FALSE(pick(norm_problem(256), t).config.dependent);
    t.target = &toy_arch;
    t.device = older;
    CHECK_FALSE(pick(norm_problem(256), t).config.dependent);
}

TEST_CASE("code of an older set keeps to the limits of the GPU it runs on", "[decisions]") {
    const std::vector<row> rows = {
        row_of(matvec_of(q4), matvec_policy{.threads = 64,
                                            .rows = 1,
                                            .columns = 1,
                                            .piece = 1024,
                                            .stages = 2,
                                            .activation = activation_source::shared}),
        row_of(matvec_of(q4),
               matvec_policy{.threads = 64, .rows = 1, .columns = 1, .piece = 1024, .stages = 2}),
    };
    table t = on_h100(rows);
    const product_problem p = matvec_problem(4096, {{.type = format::q4_K, .rows = 28672}});
    REQUIRE(pick(p, t).row == 0);
    arch small = t.limits();
    small.shared_per_block = small.shared_per_sm =
        static_cast<int>(shared_bytes(rows[0], p, small)) - 1;
    t.device = small;
    CHECK(pick(p, t).row == 1);
    CHECK(why_not(choose(p, t), 0) == limit::shared_memory);
}
