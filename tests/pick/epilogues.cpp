// What an epilogue asks of a row, and what it makes of its bands.
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <limits>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

constexpr epilogue_set glu = epilogue_set::of(epilogue_part::glu);
constexpr epilogue_set quantized = epilogue_set::of(epilogue_part::quantize);

constexpr matvec_policy with_rows(int rows) {
    return {.threads = 128, .rows = rows, .columns = 2, .piece = 1024, .stages = 2};
}

/// A row that can do every part.
constexpr row finishing(const matvec_policy& p) {
    product_computation c = matvec_of(q4);
    c.epilogue = glu | epilogue_part::scale | epilogue_part::bias | epilogue_part::combine |
                 epilogue_part::residual | epilogue_part::quantize;
    return row_of(c, p);
}

product_problem finished(std::int64_t k, std::initializer_list<problem_member> members,
                         std::int64_t columns = 1) {
    product_problem p = matvec_problem(k, members, columns);
    for (const problem_member& m : members) p.needs.epilogue = p.needs.epilogue | m.epilogue;
    return p;
}

problem_member member(std::int32_t rows, epilogue_set parts = {}) {
    return {.type = format::q4_K, .rows = rows, .epilogue = parts};
}

std::int32_t band_of(const row& r, const product_problem& p) {
    return band_rows(r, p, toy_arch, blocks_per_sm(r, p, toy_arch));
}

launch_config launched(const row& r, const product_problem& p, std::int32_t band) {
    const int resident = blocks_per_sm(r, p, toy_arch);
    return config_of(r, p, toy_arch, shape_with_bands(r, p, toy_arch, resident, band));
}

}  // namespace

TEST_CASE("a row without an epilogue serves products alone", "[epilogues]") {
    const row bare = row_of(matvec_of(q4), with_rows(2));
    CHECK(constraint(bare, finished(512, {member(64)}), toy_arch).why == limit::none);
    CHECK(constraint(bare, finished(512, {member(64, glu)}), toy_arch).why == limit::computes);
    CHECK(constraint(finishing(with_rows(2)), finished(512, {member(64)}), toy_arch).why ==
          limit::none);
}

TEST_CASE("a GLU wants rows in pairs", "[epilogues]") {
    const std::vector<row> rows = {finishing(with_rows(1)), finishing(with_rows(2)),
                                   finishing(with_rows(3))};
    const product_problem p = finished(512, {member(64), member(64, glu)});
    const rejection no = constraint(rows[0], p, toy_arch);
    CHECK(no.why == limit::pairs);
    CHECK(sentence(no) == "a warp takes 1 rows at once; a GLU of two matrices needs pairs");
    CHECK(constraint(rows[2], p, toy_arch).why == limit::pairs);
    arch bound_by_memory = toy_arch;
    bound_by_memory.cycles_per_us = 1000;
    table t;
    t.target = &bound_by_memory;
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    CHECK(pick(p, t).row == 1);
    CHECK(pick(finished(512, {member(64, quantized)}), t).row == 2);
}

TEST_CASE("a policy of one column adds up as many slots as a warp has lanes", "[epilogues]") {
    matvec_policy one = with_rows(2);
    one.columns = 1, one.activation = activation_source::shared;
    const row r = finishing(one), several = finishing(with_rows(2));
    const auto summed = [](std::int64_t slots, std::int64_t tokens, std::int32_t rows = 512) {
        problem_member m = member(rows, epilogue_set::of(epilogue_part::combine));
        m.experts = 64;
        product_problem p = finished(512, {m}, slots * tokens);
        p.expert = true;
        p.tokens = tokens;
        return p;
    };
    CHECK(constraint(r, summed(8, 2), toy_arch).why == limit::none);
    CHECK(constraint(r, summed(32, 1), toy_arch).why == limit::none);
    CHECK(sentence(constraint(r, summed(33, 1), toy_arch)) ==
          "a token has 33 slots; it adds up at most 32");
    CHECK(constraint(several, summed(8, 1), toy_arch).why == limit::slots);
    // A block takes its rows of all slots: it holds the columns of all, and an SM has one such
    // block.
    product_problem apart = summed(8, 2);
    apart.needs.epilogue = apart.member[0].epilogue = {};
    CHECK(shared_bytes(r, summed(8, 2), 40) - shared_bytes(r, apart, 40) ==
          7 * shared_column_bytes(inner_product::dp4a, 512) + 8 * 4 * 40);
    CHECK(blocks_of(r, summed(8, 2), 8) == 2 * 512 / 8);
    CHECK(blocks_of(r, apart, 8) == 16 * 512 / 8);
    CHECK(blocks_of(r, summed(8, 1), band_of(r, summed(8, 1))) == toy_arch.sms);
    // Room for the results of eight slots, 256 of each, would take a block from an SM.
    CHECK(band_of(r, summed(8, 2)) == max_finished_rows / 2);
    CHECK(band_of(r, summed(2, 2)) == max_finished_rows);
    CHECK(band_of(r, summed(8, 1, 40)) == 10);  // 4 warps, which share the slots' rows
    CHECK(bytes_of(apart) - bytes_of(summed(8, 2)) == (16 - 2) * 512 * 4 - 16 * 4);
}

TEST_CASE("results that are quantized come in whole blocks", "[epilogues]") {
    const row r = finishing(with_rows(2));
    CHECK(constraint(r, finished(512, {member(64, quantized)}), toy_arch).why == limit::none);
    CHECK(constraint(r, finished(512, {member(80), member(64, quantized)}), toy_arch).why ==
          limit::none);
    const rejection no =
        constraint(r, finished(512, {member(64), member(80, quantized)}), toy_arch);
    CHECK(no.why == limit::requantized);
    CHECK(sentence(no) == "80 results a column; quantizing them wants whole blocks of 32");
}

TEST_CASE("the results of a band meet in shared memory", "[epilogues]") {
    const row r = finishing(with_rows(2));
    const auto bytes = [&](epilogue_set parts, std::int64_t columns) {
        return shared_bytes(r, finished(512, {member(64, parts)}, columns), 64);
    };
    CHECK(bytes(glu, 2) == bytes({}, 2));
    CHECK(bytes(quantized, 1) == bytes({}, 1) + 4 * 64);
    CHECK(bytes(quantized, 2) == bytes({}, 2) + 2 * 4 * 64);
    CHECK(bytes(glu | quantized, 2) == bytes({}, 2) + 2 * 4 * 32);
    product_problem experts = finished(512, {member(64, quantized)}, 16);
    experts.expert = true;
    experts.tokens = 2;
    CHECK(shared_bytes(r, experts, 64) == bytes(quantized, 1));
}

TEST_CASE("a band counts weight rows, of which a GLU reads two for a result", "[epilogues]") {
    const row r = finishing(with_rows(2));  // 4 warps of 2 rows, 16 blocks on the toy
    product_problem p = finished(1024, {member(1000, glu)});
    REQUIRE(blocks_per_sm(r, p, toy_arch) == 4);
    CHECK(band_of(r, p) == 128);  // 2000 rows over 16 blocks, in steps of 8
    CHECK(bands_of(p, 128) == 16);

    p = finished(1024, {member(64, glu), member(64)});
    CHECK(band_of(r, p) == 16);
    CHECK(bands_of(p.member[0], 16) == 8);
    CHECK(bands_of(p.member[1], 16) == 4);
    CHECK(launched(r, p, 16).blocks == 12);
    p = finished(1024, {member(std::numeric_limits<std::int32_t>::max())});
    CHECK(bands_of(p.member[0], 1 << 30) == 2);
}

TEST_CASE("bands of what is quantized are whole blocks, at most as many as meet", "[epilogues]") {
    const row r = finishing(with_rows(2));
    CHECK(band_of(r, finished(1024, {member(32)})) == 8);
    CHECK(band_of(r, finished(1024, {member(32, quantized)})) == 32);
    CHECK(band_of(r, finished(1024, {member(32, glu | quantized)})) == 64);
    CHECK(band_of(r, finished(1024, {member(640), member(32, quantized)})) == 64);
    CHECK(band_of(r, finished(1024, {member(32 * 1024, quantized)})) == max_finished_rows);
    CHECK(band_of(r, finished(1024, {member(32 * 1024, glu | quantized)})) ==
          2 * max_finished_rows);
    CHECK(band_of(r, finished(1024, {member(32 * 1024, glu | quantized), member(32, quantized)})) ==
          max_finished_rows);
    // 12 warps take 36 rows in turn: the blocks come first.
    matvec_policy odd = with_rows(3);
    odd.threads = 384;
    CHECK(band_of(finishing(odd), finished(1024, {member(64, quantized)})) == 64);
}

TEST_CASE("where the longest band would leave SMs behind others, bands are even", "[epilogues]") {
    const row r = finishing(with_rows(2));
    arch one = toy_arch;  // of a block on each of 4 SMs
    one.max_blocks_per_sm = 1;
    const auto band = [&](std::int32_t results, epilogue_set parts) {
        const product_problem p = finished(1024, {member(results, parts)});
        return band_rows(r, p, one, blocks_per_sm(r, p, one));
    };
    CHECK(band(1024, quantized) == 256);  // one for each SM, of as many results as meet
    CHECK(band(1056, quantized) == 160);  // 7: two for an SM, hardly more than three of 96
    CHECK(band(1280, quantized) == 160);  // 8: two for each
    CHECK(band(1280, glu | quantized) == 320);
    CHECK(band(8 * 1024, quantized) == 256);
}

TEST_CASE("an SM holds as many blocks as have room for the longest bands", "[epilogues]") {
    const row r = finishing(with_rows(2));
    const auto most = [&](std::int32_t results, epilogue_set parts) {
        return shared_bytes(r, finished(1024, {member(results, parts)}), toy_arch);
    };
    const std::int64_t without = most(1280, {});
    CHECK(most(1280, quantized) == without + 4 * max_finished_rows);
    CHECK(most(256, quantized) == without + 4 * 64);  // on 4 SMs
    const product_problem p = finished(1024, {member(1280, quantized)});
    CHECK(launched(r, p, 96).shared_bytes == without + 4 * 96);
}

TEST_CASE("where results quantized by 32 leave SMs empty, a block has the warps of several",
          "[epilogues]") {
    row r = finishing(with_rows(2));
    const product_problem few = finished(1024, {member(64, quantized)}),
                          many = finished(1024, {member(64)});
    const auto threads = [&](const product_problem& p) {
        return launched(r, p, band_of(r, p)).threads;
    };
    arch quick = toy_arch;  // what is on its way is what counts
    quick.bytes_per_us = 100e3, quick.cycles_per_us = 2000;
    const auto us = [&](const product_problem& p) {
        return predicted_us(
            r, p, quick, shape_with_bands(r, p, quick, blocks_per_sm(r, p, quick), band_of(r, p)));
    };
    REQUIRE(r.policy.matvec().min_blocks == 1);
    CHECK(threads(few) == 128);
    const double narrow = us(few);
    r.policy.matvec().min_blocks = 3;  // 2 blocks on 4 SMs, of 4 warps that take 8 rows at once
    CHECK(threads(few) == 3 * 128);
    CHECK(us(few) < narrow);
    CHECK(launched(r, few, band_of(r, few)).shared_bytes > shared_bytes(r, few, toy_arch));
    CHECK(threads(many) == 128);  // bands of 8 rows: nothing is left for more warps
    CHECK(threads(finished(1024, {member(256, quantized)})) == 256);   // 2 blocks on an SM, of 4
    CHECK(threads(finished(1024, {member(4096, quantized)})) == 128);  // more than an SM holds
    product_problem each = finished(1024, {member(128, quantized)});
    CHECK(threads(each) == 384);  // a block on each SM
    each.needs.stages = stage_kind::choose | stage_kind::weigh;
    each.tokens = 1;
    CHECK(threads(each) == 256);  // one more that routes: an SM has two
    CHECK(launched(r, each, band_of(r, each)).blocks == 4 + 1);
    each.tokens = 3;
    CHECK(launched(r, each, band_of(r, each)).blocks == 4 + 3);
    CHECK(launched(r, finished(1024, {member(0, quantized)}), 32).blocks == 0);
    r.policy.matvec().placement = norm_placement::deferred;  // whose threads are counted on
    CHECK(threads(few) == 128);
}

TEST_CASE("an SM has one block of many warps if a warp of several blocks had more rows",
          "[epilogues]") {
    row r = finishing(with_rows(2));  // 4 warps take 8 rows at once
    r.policy.matvec().min_blocks = 4;
    const auto shape = [&](std::int32_t rows) {
        return shape_of_launch(r, finished(1024, {member(rows, quantized)}), toy_arch, 5);
    };
    REQUIRE(toy_arch.sms == 4);
    CHECK(shape(384).band == 96);  // else 3 blocks of 32 rows, which have 12 warps
    CHECK(shape(384).share.width == 4);
    CHECK(shape(256).band == 32);  // 2 blocks of 8 warps
    CHECK(shape(256).share.width == 2);
    CHECK(shape(416).band == 32);  // a block of 128 rows would have more than 4 blocks of 32
}

TEST_CASE("where GPU and policy have clusters, their blocks share bands of quantized results",
          "[epilogues]") {
    row r = finishing(with_rows(2));  // 4 warps take 8 rows at once
    r.policy.matvec().cluster = 8;
    arch clustered = toy_arch;
    clustered.cluster_blocks = 8;
    clustered.sms = 16;
    const auto config = [&](const product_problem& p, const arch& a) {
        return config_of(r, p, a, shape_of_launch(r, p, a, blocks_per_sm(r, p, a)));
    };
    const product_problem few = finished(1024, {member(64, quantized)});  // 2 bands of 32 rows
    CHECK(config(few, clustered).cluster == 4);                           // a turn of rows each
    CHECK(config(few, clustered).blocks == 8);
    CHECK(config(few, toy_arch).cluster == 1);
    const product_problem gated = finished(1024, {member(64, glu | quantized)});  // of 64
    CHECK(config(gated, clustered).cluster == 8);
    clustered.sms = 15;  // as many blocks as SMs
    CHECK(config(gated, clustered).cluster == 4);
    CHECK(config(gated, clustered).threads == 128);
    r.policy.matvec().min_blocks = 3;
    CHECK(config(gated, clustered).threads == 256);  // two turns are left for more warps
    clustered.sms = 7;  // two blocks would wait for each other longer than they save
    CHECK(config(few, clustered).cluster == 1);
    CHECK(config(finished(1024, {member(64)}), clustered).cluster == 1);
    CHECK(config(finished(1024, {member(4096, quantized)}), clustered).cluster == 1);
    r.policy.matvec().cluster = 0;
    CHECK(config(few, clustered).cluster == 1);
}

TEST_CASE("blocks and warps share the rows of all slots that are added up", "[epilogues]") {
    matvec_policy n = with_rows(2);
    n.columns = 1, n.min_blocks = 3, n.cluster = 8;
    const row r = finishing(n);
    arch clustered = toy_arch;
    clustered.cluster_blocks = 8;
    clustered.sms = 16;
    problem_member m = member(64, quantized | epilogue_part::combine);
    m.experts = 64;
    product_problem p = finished(1024, {m}, 4);
    p.expert = true;
    p.tokens = 1;
    const int resident = blocks_per_sm(r, p, clustered);
    REQUIRE(resident > 2);
    const std::int32_t band = band_rows(r, p, clustered, resident);
    REQUIRE(band == 32);  // 16 groups of rows in each of two bands
    const launch_config config =
        config_of(r, p, clustered, shape_with_bands(r, p, clustered, resident, band));
    CHECK(config.cluster == 8);
    CHECK(config.threads == 2 * 128);  // two groups of four slots, four at once
}

TEST_CASE("a gated launch costs what its two products cost", "[epilogues]") {
    const row r = finishing(with_rows(2));
    const product_problem gated = finished(4096, {member(4096, glu)}),
                          products = finished(4096, {member(4096), member(4096)});
    const std::int32_t band = band_of(r, products);
    REQUIRE(band_of(r, gated) == band);
    const auto predicted = [&](const product_problem& p) {
        return predicted_us(r, p, toy_arch,
                            shape_with_bands(r, p, toy_arch, blocks_per_sm(r, p, toy_arch), band));
    };
    CHECK(predicted(gated) == predicted(products));
    CHECK(bytes_of(products) - bytes_of(gated) == 4 * 4096);  // half the results are written
}
