// What is tuned: problems that a planner asks for in real graphs.
#include "shapes.hpp"
#include "space.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

using namespace catena;
using namespace catena::tune;

namespace {

const described_set& listed() {
    static const described_set set(*arch_named("sm_90"));
    return set;
}
const std::string graphs = CATENA_TEST_DATA "/graphs/";
const std::vector<std::string> qwen = {graphs + "qwen3-8b-q4km.tg1.json.gz",
                                       graphs + "qwen3-8b-q4km.b4.json.gz"};

}  // namespace

TEST_CASE("Shapes are those of the graph, with the places that they stand for", "[tune]") {
    const std::vector<shape> all = shapes_of(qwen, listed(), {});
    int norms = 0, matvecs = 0;
    for (const shape& s : all) {
        CHECK(s.places > 0);
        CHECK(s.computes.kind() == s.what.kind());
        if (s.what.kind() == skeleton::matvec && s.what.product().columns == 1) matvecs += s.places;
        if (s.what.kind() == skeleton::row && s.what.row().rows == 1 &&
            stages_of(s.what).has(stage_kind::rms_norm))
            norms += s.places;
    }
    CHECK(norms == 73);  // 36 layers of two norms that feed matmuls, and the last one
    CHECK(matvecs > 100);
    CHECK(std::any_of(all.begin(), all.end(), [](const shape& s) {
        return s.what.kind() == skeleton::matvec && s.what.product().columns == 4;
    }));
}

TEST_CASE("A norm is tuned both apart from its readers and in their launch", "[tune]") {
    const std::vector<shape> all = shapes_of({qwen.front()}, listed(), {});
    int inside = 0;
    for (const shape& s : all) {
        if (!makes_norm(s.what)) continue;
        inside += s.places;
        product_problem apart = s.what.product();
        apart.needs.stages = {};
        CHECK(std::any_of(all.begin(), all.end(),
                          [&](const shape& o) { return o.what == problem(apart); }));
        const auto space = space_of(*arch_named("sm_90"), s.computes);
        CHECK(std::any_of(space.begin(), space.end(), [](const row& r) {
            return placement_of(r.policy) == norm_placement::deferred;
        }));
    }
    // The ffn of all 36 layers: gate and up that quantize, and that leave it to down.
    CHECK(inside == 2 * 36);
}

TEST_CASE("A prompt's matmuls are tuned at columns of every class, and after all else", "[tune]") {
    const std::vector<std::string> files = {graphs + "qwen3-30b-a3b-q4km.tg1.json.gz",
                                            graphs + "qwen3-30b-a3b-q4km.pp512.json.gz"};
    const std::vector<shape> all = shapes_of(files, listed(), {});
    std::map<std::int64_t, int> dense, experts;
    for (const shape& s : all) {
        if (s.what.kind() != skeleton::matmul) continue;
        CHECK(s.computes.kind() == skeleton::matmul);
        const product_problem& what = s.what.product();
        const std::int64_t tokens = tokens_of(what);
        if (what.expert) CHECK(what.columns == 8 * tokens);
        (what.expert ? experts : dense)[tokens] += s.places;
    }
    for (const auto& places : {dense, experts}) {
        REQUIRE(places.size() == 5);
        for (const std::int64_t columns : {16, 32, 64, 128, 512}) {
            REQUIRE(places.count(columns) == 1);
            CHECK(places.at(columns) == places.at(512));  // each class has every step of the prompt
        }
    }
    CHECK(dense[512] > 48);
    const auto prompts = std::find_if(
        all.begin(), all.end(), [](const shape& s) { return s.what.kind() == skeleton::matmul; });
    for (auto s = all.begin(); s != all.end(); ++s) {
        CHECK((s->what.kind() == skeleton::matmul) == (s >= prompts));
        if (s != all.begin() && s != prompts) CHECK(s->work <= (s - 1)->work);
    }
}

TEST_CASE("A class has one shape, and each shape its own class", "[tune]") {
    const std::vector<shape> all = shapes_of(qwen, listed(), {});
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(all[i].what == all[j].what);
    CHECK(all.size() < 60);
}

TEST_CASE("Chains and formats select shapes", "[tune]") {
    for (const shape& s : shapes_of(qwen, listed(), {.chains = {"gated_input"}}))
        CHECK(!stages_of(s.what).has(stage_kind::rms_norm));
    const std::vector<shape> q6 = shapes_of(qwen, listed(), {.formats = {"q6_K"}});
    CHECK_FALSE(q6.empty());
    for (const shape& s : q6) CHECK(s.what.product().needs.weights == format_set::of(format::q6_K));
}

TEST_CASE("A name that is not known is refused with those that are", "[tune]") {
    CHECK_THROWS_WITH(shapes_of(qwen, listed(), {.chains = {"nonsense"}}),
                      Catch::StartsWith("no chain is called 'nonsense'; there are norm_input, ") &&
                          Catch::Contains(", layer_norm_input, "));  // which others end in
    CHECK_THROWS_WITH(
        shapes_of(qwen, listed(), {.formats = {"q99"}}),
        Catch::StartsWith("no format is called 'q99'; there are ") && Catch::Contains("q4_K"));
}
