// Parameters that are floats: what is no number stays with the engine.
#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/matcher.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

#include <cstring>
#include <limits>

using namespace catena;
using namespace catena_test;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

void set(graph_builder& g, id t, int word, float value) {
    std::memcpy(&g[t].params[word], &value, sizeof value);
}

struct indexed {
    graph_index index;
    explicit indexed(graph_builder& g) { REQUIRE(index.build(g.view()).ok()); }
};

}  // namespace

TEST_CASE("a norm whose eps is NaN, infinite or negative is left", "[parameters]") {
    const float eps = GENERATE(
        values<float>({no_number, -no_number, infinity, -infinity, -1e-6f, 0.0f, -0.0f, 1e-6f}));
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512}), eps);
    g.matmul(format::q4_K, 64, g.mul(norm, g.weight(format::f32, {512})));
    const indexed in(g);
    const match m =
        matcher(in.index, pattern_of(chain_of("c", false, true, q4))).at(g.position(norm));
    CHECK(m.why.why == (eps >= 0 && eps < infinity ? reason::none : reason::eps));
}

TEST_CASE("a SCALE by NaN or infinity is part of no place and no epilogue", "[parameters]") {
    const float by = GENERATE(values<float>({no_number, infinity, -infinity, -0.5f}));
    const bool taken = by == -0.5f;
    graph_builder g;
    const id value = g.input(format::f32, {512});
    const id product = g.matmul(format::q4_K, 512, value);
    const id scaled = g.scale(product, by);
    g.other({scaled});
    const indexed in(g);
    CHECK(scale_at(in.index, g.position(scaled)).has_value() == taken);
    slot_sums sums(in.index);
    const epilogue_site site{sums, epilogue_set::of(epilogue_part::scale)};
    CHECK(biased(site, g.position(product)).parts.has(epilogue_part::scale) == taken);
}

TEST_CASE("a gate with an alpha or a limit that is no number is no known function",
          "[parameters]") {
    const float alpha = GENERATE(values<float>({no_number, infinity, 1.702f}));
    const float limit = GENERATE(values<float>({no_number, -1.0f, 7.0f}));
    graph_builder g;
    const id gate = g.input(format::f32, {512}), x = g.input(format::f32, {512});
    const id value = g.glu(gate, x, sub_op::swiglu_oai);
    set(g, value, 2, alpha);
    set(g, value, 3, limit);
    const indexed in(g);
    const reason why = gated_at(in.index, g.position(value)).why.why;
    CHECK(why == (alpha == 1.702f && limit == 7 ? reason::none : reason::gate_function_unknown));
}
