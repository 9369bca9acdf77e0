// Attention of few tokens with its heads: its launch is run and compared, and each damage to what
// it reads or writes is found.
#include "run/check.hpp"

#include "catena/kernel/args.hpp"

#include "catena_test/attention_graph.hpp"
#include "run_parts.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

int nodes_of(const attention_shape& is) {
    return 3 + (is.turns ? 2 : 0) + (is.norms ? 4 : 0) + (is.scale != 1 ? 1 : 0);
}
/// What the only step of the graph is found to be.
step_result run_attention(const attention_shape& is, const change<heads_args>& before = {},
                          const change<heads_args>& behind = {}) {
    attention_graph a(is);
    return run_only_step(as_file(a.g, "attending"), nodes_of(is), before, behind);
}
/// What attention, and the matrix that reads what it quantizes, are found to be.
std::vector<step_result> run_both(const attention_shape& is,
                                  const change<heads_args>& behind = {}) {
    attention_graph a(is);
    const auto all = run_steps(as_file(a.g, "multiplied"), nodes_of(is), {}, behind);
    REQUIRE(all.size() == 2);
    return all;
}

const attention_shape usual = {.tokens = 3, .first_row = 64, .sinks = true, .scale = 0.5f};

}  // namespace

TEST_CASE("a launch that attends agrees with the reference, as do the caches it writes",
          "[run][attended]") {
    for (const std::int64_t tokens : {1, 2, 4})
        for (const std::int64_t positions : {5, 64, 768})
            for (const bool all : {false, true}) {
                CAPTURE(tokens, positions, all);
                const step_result r = run_attention({.tokens = tokens,
                                                     .k = all ? 64 : 128,
                                                     .positions = positions,
                                                     .first_row = all ? 64 : 0,
                                                     .cache_rows = positions + 64,
                                                     .norms = all,
                                                     .mask = all || tokens > 1,
                                                     .sinks = all,
                                                     .scale = all ? 0.5f : 1});
                CHECK(wrong_in(r) == "");
                CHECK(r.comparisons.size() == 3);
                CHECK(r.computed == static_cast<double>(12 * tokens));
                CHECK(r.computed == r.rows);
            }
}

TEST_CASE("what a launch that attends reads or writes wrong is found", "[run][attended]") {
    const auto before = [](const change<heads_args>& f) {
        return wrong_in(run_attention(usual, f));
    };
    CHECK(before([](heads_args&) {}) == "");
    CHECK(before([](heads_args& a) { a.attended.scale *= 1.01f; }) == "attention f32");
    CHECK(before([](heads_args& a) { a.attended.mask = nullptr; }) == "attention f32");
    CHECK(before([](heads_args& a) { a.attended.mask_nb = 0; }) == "attention f32");
    CHECK(before([](heads_args& a) { a.attended.sinks = nullptr; }) == "attention f32");
    CHECK(before([](heads_args& a) { a.attended.positions /= 2; }) == "attention f32");
    CHECK(before([](heads_args& a) { ++a.attended.first_row; }) != "");
    CHECK(before([](heads_args& a) { a.member[0].scale = 1; }) == "attention f32");
    CHECK(before([](heads_args& a) { a.member[0].weight = a.member[1].weight; }) ==
          "attention f32");
    CHECK(before([](heads_args& a) { a.member[0].turned = false; }) == "attention f32");
    CHECK(before([](heads_args& a) { a.member[1].turned = false; }) == "attention f32 keys f16");
    CHECK(before([](heads_args& a) { a.member[2].x = a.member[1].x; }) ==
          "attention f32 values f16");
    // Rows of other positions hold other numbers.
    CHECK(before([](heads_args& a) {
              a.member[2].cache_ids = static_cast<const std::int64_t*>(a.member[2].cache_ids) + 1;
              a.member[2].cache_rows -= 1;
          }) != "");
    CHECK(before([](heads_args& a) { std::swap(a.member[1].cache, a.member[2].cache); }) ==
          "attention f32 keys f16 values f16");

    const auto behind = [](const change<heads_args>& f) {
        return wrong_in(run_attention(usual, {}, f));
    };
    CHECK(behind([](heads_args& a) { a.member[0].f32[usual.k * usual.heads * 3 - 1] += 0.5f; }) ==
          "attention f32");
    const auto in_cache = [&](int member) {
        return behind([=](heads_args& a) {
            const auto* const ids = static_cast<const std::int64_t*>(a.member[member].cache_ids);
            auto* const row = static_cast<std::byte*>(a.member[member].cache) +
                              ids[2] * a.member[member].cache_nb;
            row[1] ^= std::byte{64};  // of the exponent
        });
    };
    CHECK(in_cache(1) == "keys f16");
    CHECK(in_cache(2) == "values f16");
}

TEST_CASE("what a launch that attends quantizes is compared, and read by its matrix",
          "[run][attended]") {
    for (const std::int64_t heads : {4, 6})  // rows of 512 elements, and with padding
        for (const bool besides : {false, true}) {
            CAPTURE(heads, besides);
            const attention_shape is{
                .tokens = 3, .heads = heads, .matrix = format::q4_K, .read_besides = besides};
            const std::vector<step_result> all = run_both(is);
            for (const step_result& r : all) CHECK(wrong_in(r) == "");
            CHECK(all[0].comparisons.size() == (besides ? 5 : 4));
            const auto in_row = [&](std::int64_t byte) {
                return wrong_in(run_both(is, [=](heads_args& a) {
                    auto* const rows = static_cast<std::byte*>(a.attended.q8_1);
                    rows[2 * q8_1_row_bytes(128 * heads) + byte] ^= std::byte{64};
                })[0]);
            };
            CHECK(in_row(36 + 4) == "q8_1");
            if (heads == 6) CHECK(in_row(6 * 128 / 32 * 36) == "q8_1 padding");
        }
}
