// What experts made, found in front of a norm.
#include "catena/match/detail/experts.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/experts.hpp"

#include <algorithm>

using namespace catena;
using namespace catena_test;

namespace {

combination found_at(graph_builder& g, id sum) {
    graph_index index;
    const status s = index.build(g.view());
    INFO(s.message);
    REQUIRE(s.ok());
    slot_sums sums(index);
    return sums.whole(sum);
}

bool takes(graph_builder& g, const combination& c, id tensor) {
    return std::count(c.nodes.begin(), c.nodes.end(), g.position(tensor)) == 1;
}

}  // namespace

TEST_CASE("experts, a shared one with its gate and a residual are one combination", "[match]") {
    experts_case c;
    const bool turned = GENERATE(false, true);
    const id both = turned ? c.g.add(c.gated, c.sum) : c.g.add(c.sum, c.gated);
    const id all = turned ? c.g.add(c.residual, both) : c.g.add(both, c.residual);
    c.g.other({all});
    const combination found = found_at(c.g, all);
    REQUIRE(found.found());
    CHECK(found.results == c.results);
    CHECK(found.weights == c.weights);
    CHECK(found.shared == c.shared);
    CHECK(found.gate == c.gate);
    CHECK(found.residual == c.residual);
    for (const id t : {c.weighted, c.sum, c.open, c.gated, both, all}) CHECK(takes(c.g, found, t));
    CHECK(found.nodes.size() == 7);  // and the first ADD of three slots
}

TEST_CASE("what joins the experts may be missing", "[match]") {
    experts_case c;
    SECTION("the shared expert") {
        const id all = c.g.add(c.sum, c.residual);
        c.g.other({all, c.gated});
        const combination found = found_at(c.g, all);
        REQUIRE(found.found());
        CHECK(found.shared == no_tensor);
        CHECK(found.residual == c.residual);
    }
    SECTION("everything") {
        c.g.other({c.sum, c.gated, c.residual});
        const combination found = found_at(c.g, c.sum);
        REQUIRE(found.found());
        CHECK(found.residual == no_tensor);
        CHECK(found.nodes.size() == 3);
    }
    SECTION("the shared expert's gate") {
        const id all = c.g.add(c.g.add(c.sum, c.shared), c.residual);
        c.g.other({all, c.gated});
        const combination found = found_at(c.g, all);
        REQUIRE(found.found());
        CHECK(found.shared == c.shared);
        CHECK(found.gate == no_tensor);
    }
    SECTION("the residual: what a shared expert made stands in its place") {
        const id both = c.g.add(c.sum, c.gated);
        c.g.other({both, c.residual});
        const combination found = found_at(c.g, both);
        REQUIRE(found.found());
        CHECK(found.residual == c.gated);
        CHECK(found.shared == no_tensor);
    }
}

TEST_CASE("what experts made may be scaled before the residual", "[match]") {
    experts_case c;
    const bool with_shared = GENERATE(false, true);
    if (!with_shared) c.g.other({c.gated});
    const id both = with_shared ? c.g.add(c.sum, c.gated) : c.sum;
    const id scaled = c.g.scale(both, 0.25f);
    const auto found = [&](id part) {
        const id all =
            GENERATE(false, true) ? c.g.add(c.residual, part) : c.g.add(part, c.residual);
        c.g.other({all});
        return found_at(c.g, all);
    };
    SECTION("by a number") {
        const combination here = found(scaled);
        REQUIRE(here.found());
        CHECK(here.scale == 0.25f);
        CHECK((here.shared == c.shared) == with_shared);
        CHECK(here.residual == c.residual);
        CHECK(takes(c.g, here, scaled));
        CHECK(here.nodes.size() == (with_shared ? 8 : 5));
    }
    SECTION("and be shifted: that is something else") {
        c.g[scaled].params[1] = 1;
        CHECK_FALSE(found(scaled).found());
    }
    SECTION("and be read by others: then it is made") {
        c.g.other({scaled});
        CHECK_FALSE(found(scaled).found());
    }
    SECTION("twice: once is enough") { CHECK_FALSE(found(c.g.scale(scaled, 2)).found()); }
}

TEST_CASE("what others read is left to the engine", "[match]") {
    experts_case c;
    const auto whole = [&] {
        const id all = c.g.add(c.g.add(c.sum, c.gated), c.residual);
        c.g.other({all});
        return all;
    };
    SECTION("the weighted results") {
        c.g.other({c.weighted});
        const combination found = found_at(c.g, whole());
        REQUIRE(found.found());
        CHECK(found.results == c.weighted);
        CHECK(found.weights == no_tensor);
    }
    SECTION("the weighted results, outside") {
        c.g.read_outside(c.weighted);
        CHECK(found_at(c.g, whole()).results == c.weighted);
    }
    SECTION("the gate's sigmoid") {
        c.g.other({c.open});
        const combination found = found_at(c.g, whole());
        REQUIRE(found.found());
        CHECK(found.shared == c.gated);
        CHECK(found.gate == no_tensor);
    }
    SECTION("the sum of the experts") {
        c.g.other({c.sum});
        CHECK_FALSE(found_at(c.g, whole()).found());
    }
    SECTION("a sum on the way") {
        c.g.other({c.first});
        CHECK_FALSE(found_at(c.g, whole()).found());
    }
}

TEST_CASE("what is no sum of all slots in turn is no combination", "[match]") {
    experts_case c;
    const auto is_found = [&](id a, id b, id d) {
        const id sum = c.g.add(c.g.add(a, b), d);
        c.g.other({sum, c.sum, c.gated, c.residual});
        if (GENERATE(false, true)) c.g.deallocate();  // then a view says itself what it names
        return found_at(c.g, sum).found();
    };
    SECTION("a slot twice") { CHECK_FALSE(is_found(c.slot[0], c.slot[1], c.slot[1])); }
    SECTION("slots in another order, which rounds otherwise") {
        CHECK_FALSE(is_found(c.slot[0], c.slot[2], c.slot[1]));
    }
    SECTION("a slot left out") { CHECK_FALSE(is_found(c.slot[0], c.residual, c.slot[2])); }
    SECTION("the first slot left out") { CHECK_FALSE(is_found(c.residual, c.slot[1], c.slot[2])); }
    SECTION("a view of something else") {
        const id part = c.g.view(c.weighted, {512, 2}, 4);
        c.g[part].nb[1] = c.g[c.weighted].nb[2];
        CHECK_FALSE(is_found(c.slot[0], c.slot[1], part));
    }
    SECTION("the first two in either order round alike") {
        const id sum = c.g.add(c.g.add(c.slot[1], c.slot[0]), c.slot[2]);
        c.g.other({sum, c.gated, c.residual});
        CHECK(found_at(c.g, sum).results == c.weighted);  // c.sum reads it too
    }
}

TEST_CASE("a product by more than a weight for each slot is no weighted sum", "[match]") {
    experts_case c;
    c.g.other({c.sum, c.gated, c.residual});
    tensor& w = c.g[c.weights];
    for (int d = 1; d < 4; ++d) w.nb[d] *= 512;
    w.ne[0] = 512;
    const combination found = found_at(c.g, c.sum);
    CHECK(found.results == c.weighted);
    CHECK(found.weights == no_tensor);
}

TEST_CASE("a sum over slots is the same in whatever turn it is asked for", "[match]") {
    experts_case c;
    c.g.other({c.sum, c.gated, c.residual});
    graph_index index;
    REQUIRE(index.build(c.g.view()).ok());
    slot_sums sums(index);
    for (int turn = 0; turn < 2; ++turn) {
        CHECK(sums.at(c.sum).results == c.results);
        CHECK_FALSE(sums.at(c.residual).found());
        CHECK(sums.at(c.sum).nodes.size() == 3);
        CHECK_FALSE(sums.at(c.first).found());
    }
}

TEST_CASE("what has more slots than the graph has nodes is no sum, and takes no memory",
          "[match]") {
    experts_case c;
    c.g.other({c.sum, c.gated, c.residual});
    c.g[c.weighted].ne[1] = std::int64_t{1} << 36;
    CHECK_FALSE(found_at(c.g, c.sum).found());
}
