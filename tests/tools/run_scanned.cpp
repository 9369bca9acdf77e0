// State spaces of Mamba-2: their launch is run and compared, and each damage to what it reads or
// writes is found.
#include "run/check.hpp"

#include "catena/kernel/args.hpp"

#include "run_parts.hpp"

#include <cstdint>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

constexpr std::int64_t scanned_k = 32, scanned_heads = 4, groups = 2, state_size = 64, states = 5;

/// What a test asks of a layer. `whole`: dt has a bias, a share of x is added, and z gates the sum.
struct scan_layer {
    std::int64_t tokens = 3, sequences = 2;
    bool whole = true;
};

/// A scan with states that are some of five, and the copy of the next states over the first ones.
json::graph scanning_layer(const scan_layer& is) {
    graph_builder b;
    const std::int64_t tokens = is.tokens, sequences = is.sequences;
    const std::int64_t values = scanned_k * scanned_heads * tokens * sequences;
    const std::int64_t next = state_size * scanned_k * scanned_heads * sequences;
    const auto of_tokens = [&](std::int64_t k, std::int64_t count) {
        return b.input(format::f32, {k, count, tokens, sequences});
    };
    const id all = b.input(format::f32, {state_size, scanned_k, scanned_heads, states});
    const id x = of_tokens(scanned_k, scanned_heads);
    id dt = b.input(format::f32, {scanned_heads, tokens, sequences});
    if (is.whole) dt = b.add(dt, b.weight(format::f32, {scanned_heads}));
    const id scan = b.node(
        op::ssm_scan, format::f32, {values + next},
        {all, x, dt, b.weight(format::f32, {1, scanned_heads}), of_tokens(state_size, groups),
         of_tokens(state_size, groups), b.input(format::i32, {sequences})});
    b[scan].params[0] = 1;
    const id to = b.view(all, {next});
    const id kept = b.node(op::cpy, format::f32, {next}, {b.view(scan, {next}, 4 * values), to});
    b.rename(kept, all);
    b.share(kept, to);
    id y = b.view(scan, {scanned_k, scanned_heads, tokens, sequences});
    if (is.whole) {
        y = b.add(y, b.mul(x, b.weight(format::f32, {1, scanned_heads})));
        y = b.glu(of_tokens(scanned_k, scanned_heads), y);
    }
    b.other({y});
    return as_file(b, "scanning");
}

/// What the only step of the layer is found to be.
step_result run_scan(const scan_layer& is, const change<heads_args>& before = {},
                     const change<heads_args>& behind = {}) {
    return run_only_step(scanning_layer(is), is.whole ? 6 : 2, before, behind);
}

}  // namespace

TEST_CASE("a launch that scans agrees with the reference, as do values and states it writes",
          "[run][scanned]") {
    for (const std::int64_t tokens : {1, 3, 8})
        for (const std::int64_t sequences : {1, 3})
            for (const bool whole : {false, true}) {
                CAPTURE(tokens, sequences, whole);
                const step_result r = run_scan({tokens, sequences, whole});
                CHECK(wrong_in(r) == "");
                CHECK(r.comparisons.size() == 2);
                CHECK(r.computed == static_cast<double>(scanned_heads * scanned_k / 8 * sequences));
                CHECK(r.computed == r.rows);
            }
}

TEST_CASE("what a launch that scans reads or writes wrong is found", "[run][scanned]") {
    const auto before = [](const change<heads_args>& f) { return wrong_in(run_scan({}, f)); };
    // The other states have not been written.
    CHECK(before([](heads_args& a) {
              a.scanned.state += state_size * scanned_k * scanned_heads;
          }) == "fault");
    CHECK(before([](heads_args& a) { ++a.scanned.state_ids; }) == "fault");
    CHECK(before([](heads_args& a) { a.scanned.dt_bias = nullptr; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.scanned.a = a.scanned.dt_bias; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.scanned.x = a.scanned.z; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.scanned.b = a.scanned.c; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.scanned.c = a.scanned.b; }) == "f32");
    CHECK(before([](heads_args& a) { a.scanned.d = nullptr; }) == "f32");
    CHECK(before([](heads_args& a) { a.scanned.z = a.scanned.x; }) == "f32");
    CHECK(before([](heads_args& a) { a.scanned.groups = 1; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.scanned.next_state = nullptr; }) == "states");
    const auto behind = [](const change<heads_args>& f) { return wrong_in(run_scan({}, {}, f)); };
    CHECK(behind([](heads_args& a) {
              a.member[0].f32[scanned_k * scanned_heads * 6 - 1] += 0.5f;
          }) == "f32");
    CHECK(behind([](heads_args& a) {
              a.scanned.next_state[2 * state_size * scanned_k * scanned_heads - 1] += 0.5f;
          }) == "states");
}
