// Matvecs that turn their results: the bits of a matvec and a launch of heads.
#include "order.hpp"

#include "catena/format/codec.hpp"
#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr stage_set norm = stage_kind::rms_norm | stage_kind::mul_weight;
constexpr format_set two_formats = format_set::of(format::q4_K) | format::q8_0;

constexpr product_computation computes(bool turns, stage_set stages) {
    return {.kind = skeleton::matvec,
            .stages = stages,
            .activation = format::q8_1,
            .weights = two_formats,
            .epilogue = turns ? parts_of_heads : every_part};
}

constexpr matvec_policy two_rows = {.threads = 128,
                                    .min_blocks = 1,
                                    .rows = 2,
                                    .columns = 1,
                                    .piece = 1024,
                                    .stages = 2,
                                    .copy = copy_method::bulk,
                                    .activation = activation_source::shared,
                                    .placement = norm_placement::deferred};
constexpr matvec_policy eight_rows = {.threads = 64,
                                      .min_blocks = 1,
                                      .rows = 8,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 3,
                                      .copy = copy_method::plain};

constexpr matvec_policy turned(matvec_policy p) {
    p.turns = true;
    return p;
}

instance heads_row() {
    constexpr row_computation c{.stages = norm | stage_kind::rope | stage_kind::store,
                                .emits = cache_formats};
    constexpr row_policy p{.threads = 128, .values = 8, .rows = 4};
    return on_host(c, p, reinterpret_cast<const void*>(&instances::run_on_host<c, p>),
                   row_name(c, p, "test"));
}

/// What a matvec and a launch of heads make of a case.
matvec_outputs by_two_launches(const instance& products, const matvec_case& c) {
    matvec_case first = c;
    first.heads.reset();
    for (member_shape& m : first.members) {
        m.parts = m.parts.without(epilogue_set::of(epilogue_part::heads));
        m.written = true;
    }
    const matvec_outputs made = run(products, first);
    head_case second = *c.heads;
    for (std::size_t i = 0; i < made.size(); ++i) second.values[i].x = made[i].f32;
    const head_outputs heads = run(heads_row(), second);
    matvec_outputs out(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (second.values[i].written) out[i].f32 = from_bytes<float>(heads[i].f32);
        if (!heads[i].cache.empty()) out[i].quantized[second.values[i].cache] = heads[i].cache;
    }
    return out;
}

template <stage_set Stages, matvec_policy P>
void has_the_bits_of_two_launches() {
    const instance both = made<computes(true, Stages), turned(P)>();
    const instance products = made<computes(false, Stages), P>();
    for (const matvec_case& c : matvec_cases(computes(true, Stages), turned(P))) {
        INFO(row_name(both.computes, both.policy, "test") << ": " << c.what);
        CHECK(run(both, c) == by_two_launches(products, c));
    }
}

}  // namespace

TEST_CASE("Results are turned and stored by the launch that multiplies") {
    sweep(made<computes(true, norm), turned(two_rows)>());
    sweep(made<computes(true, {}), turned(eight_rows)>());
}

TEST_CASE("Turned results have the bits of a matvec and a launch of heads") {
    has_the_bits_of_two_launches<norm, two_rows>();
    has_the_bits_of_two_launches<stage_set{}, eight_rows>();
}

TEST_CASE("What cannot turn results is refused with a sentence") {
    const auto why = [](matvec_policy p, bool turns = true) {
        const objection no = objection_to(computes(turns, norm), p);
        return std::string(no ? no.rule : "");
    };
    CHECK(why(turned(two_rows)).empty());
    CHECK(why(two_rows).find("says so") != std::string::npos);
    CHECK(why(turned(two_rows), false).find("says so") != std::string::npos);
    matvec_policy odd = turned(two_rows);
    odd.rows = 1;
    CHECK(why(odd).find("an even number of rows") != std::string::npos);
    matvec_policy several = turned(two_rows);
    several.columns = 2;
    CHECK(why(several).find("one column") != std::string::npos);
    product_computation added = computes(true, norm);
    added.epilogue = added.epilogue | epilogue_part::residual;
    CHECK(std::string(objection_to(added, turned(two_rows)).rule).find("gets a bias") !=
          std::string::npos);
}
