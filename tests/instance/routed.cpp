// Experts whose launch finds them itself: every router, and the bits of a launch of routing.
#include "products.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr stage_set routing = stage_kind::score | stage_kind::choose | stage_kind::weigh;

constexpr product_computation given = {.kind = skeleton::matvec,
                                       .activation = format::q8_1,
                                       .weights = format_set::of(format::q4_K) | format::q8_0,
                                       .epilogue = every_part};
constexpr product_computation found = {.kind = skeleton::matvec,
                                       .stages = routing,
                                       .activation = format::q8_1,
                                       .weights = given.weights,
                                       .epilogue = every_part};

constexpr matvec_policy short_rings = {.threads = 64,
                                       .min_blocks = 3,
                                       .rows = 2,
                                       .columns = 1,
                                       .piece = 1024,
                                       .stages = 2,
                                       .copy = copy_method::plain};
constexpr matvec_policy long_rings = {.threads = 128,
                                      .min_blocks = 2,
                                      .rows = 2,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 3,
                                      .copy = copy_method::bulk,
                                      .activation = activation_source::shared};

constexpr matvec_policy routed(matvec_policy p) {
    p.routes = true;
    return p;
}

template <matvec_policy P>
void stands_every_case() {
    INFO(row_name(found, P, "test"));
    sweep(made<found, P>());
}

template <row_policy P>
instance router() {
    constexpr row_computation c{.stages = routing, .emits = format_set::of(format::f32)};
    return on_host(c, P, reinterpret_cast<const void*>(&instances::run_on_host<c, P>),
                   row_name(c, P, "test"));
}

}  // namespace

TEST_CASE("Experts are found by the launch that multiplies with them") {
    stands_every_case<routed(short_rings)>();
    stands_every_case<routed(long_rings)>();
}

TEST_CASE("Experts that a launch finds, their weights and products have the bits of two launches") {
    const instance both = made<found, routed(long_rings)>(), behind = made<given, long_rings>();
    const instance first = router<row_policy{.threads = 128, .values = 4}>();
    for (const matvec_case& c : matvec_cases(found, routed(long_rings))) {
        INFO(c.what);
        matvec_outputs outputs = run(both, c);
        const matvec_output chosen = outputs.back();
        outputs.pop_back();
        matvec_case told = c;
        told.routed.reset();
        CHECK(outputs == run(behind, told));
        const route_outputs alone = run(first, *c.routed);
        CHECK(chosen.quantized.at(format::i32) == alone.ids);
        CHECK(to_bytes(chosen.f32) == alone.weights);
    }
}

TEST_CASE("A block of any size routes a token to the same bits") {
    const instance warp = router<row_policy{.threads = 32, .values = 16}>();
    const instance block = router<row_policy{.threads = 128, .values = 4}>();
    for (const route_case& c : route_cases(512)) {
        INFO(c.what);
        CHECK(run(warp, c) == run(block, c));
    }
}

TEST_CASE("What cannot find experts is refused with a sentence") {
    const auto why = [](matvec_policy p, const product_computation& c = found) {
        const objection no = objection_to(c, p);
        return std::string(no ? no.rule : "");
    };
    CHECK(why(routed(long_rings)).empty());
    CHECK(why(long_rings).find("says so") != std::string::npos);
    CHECK(why(routed(long_rings), given).find("says so") != std::string::npos);
    matvec_policy several = routed(long_rings);
    several.columns = 4;
    CHECK(why(several).find("one column") != std::string::npos);
    matvec_policy shorter = routed(short_rings);
    shorter.rows = 1;
    product_computation small = found;
    small.weights = format_set::of(format::q4_K);
    CHECK(why(shorter, small).find("no room") != std::string::npos);
    matvec_policy sharing = routed(long_rings);
    sharing.cluster = 4;
    CHECK(why(sharing).find("each by itself") != std::string::npos);
}
