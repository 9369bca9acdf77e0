#include "catena/match/detail/matcher.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

#include "takes.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Matches a chain at the tensor `norm`; longer chains take the ADD before it too.
match match_at(graph_builder& g, id norm, bool residual = false) {
    graph_index index;
    const status s = index.build(g.view());
    INFO(s.message);
    REQUIRE(s.ok());
    const pattern p = pattern_of(chain_of("c", residual, true, q4 | q6));
    return matcher(index, p).at(g.position(norm));
}

/// x, norm, MUL with a weight, one q4_K matmul.
struct plain_case {
    graph_builder g;
    id x = g.input(format::f32, {512, 2});
    id norm = g.rms_norm(x, 1e-5f);
    id w = g.weight(format::f32, {512});
    id mul = g.mul(norm, w);
    id out = g.matmul(format::q4_K, 64, mul);
};

}  // namespace

TEST_CASE("a norm, its weight and a quantized matmul are a place", "[match]") {
    plain_case c;
    const match m = match_at(c.g, c.norm);
    REQUIRE(m.found());
    CHECK(m.reads[operand::x].tensor == c.x);
    CHECK(m.reads[operand::weight].tensor == c.w);
    CHECK(m.reads[operand::residual].tensor == no_tensor);
    CHECK(m.activation == c.mul);
    CHECK(m.params.eps == 1e-5f);
    CHECK(m.quant_k == 512);
    REQUIRE(m.readers.size() == 1);
    CHECK(m.readers[0].servable());
    CHECK_FALSE(m.f32_needed);
}

TEST_CASE("the arguments of the MUL may be swapped", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id norm = g.rms_norm(x);
    const id w = g.weight(format::f32, {512});
    const id mul = g.mul(w, norm);
    g.matmul(format::q4_K, 64, mul);
    const match m = match_at(g, norm);
    REQUIRE(m.found());
    CHECK(m.reads[operand::weight].tensor == w);
    CHECK(m.activation == mul);
}

TEST_CASE("a SCALE that alone reads the norm is part of the place", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id mul = g.mul(norm, g.weight(format::f32, {512}));
    const id scaled = g.scale(mul, 0.25f);
    const id out = g.matmul(format::q4_K, 64, scaled);
    bool taken = true;
    SECTION("by a number") {}
    SECTION("and a sum") { g[scaled].params[1] = 1, taken = false; }
    SECTION("beside others") { g.other({mul}), taken = false; }
    const match m = match_at(g, norm);
    REQUIRE(m.found());
    CHECK(takes(m, g.position(scaled)) == taken);
    CHECK(m.params.norm_scale == (taken ? 0.25f : 1.0f));
    CHECK(m.activation == (taken ? scaled : mul));
    CHECK(m.servable() == (taken ? 1 : 0));
    g.other({out});
}

TEST_CASE("a SCALE may stand before the residual", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2}), past = g.input(format::f32, {512, 2});
    const id scaled = g.scale(x, 0.25f);
    const id sum = GENERATE(false, true) ? g.add(scaled, past) : g.add(past, scaled);
    const id norm = g.rms_norm(sum);
    g.matmul(format::q4_K, 64, g.mul(norm, g.weight(format::f32, {512})));
    const bool read = GENERATE(false, true);
    if (read) g.other({scaled});
    const match m = match_at(g, norm, true);
    REQUIRE(m.found());
    CHECK(takes(m, g.position(scaled)) == !read);
    CHECK(m.params.x_scale == (read ? 1.0f : 0.25f));
    if (!read) CHECK(m.reads[operand::x].tensor == x);
    if (!read) CHECK(m.reads[operand::residual].tensor == past);
}

TEST_CASE("members stand anywhere behind the norm, and other readers keep f32", "[match]") {
    plain_case c;
    const id rope = c.g.other({c.out});
    c.g.matmul(format::q6_K, 64, c.mul);
    c.g.other({rope, c.mul});
    const match m = match_at(c.g, c.norm);
    REQUIRE(m.found());
    CHECK(m.servable() == 2);
    CHECK(m.readers.size() == 3);
    CHECK(m.f32_needed);
}

TEST_CASE("what cannot be a chain is left with its reason", "[match]") {
    plain_case c;
    const auto reason_of = [&](id norm) { return match_at(c.g, norm).why.why; };
    SECTION("the norm is not computed") {
        c.g[c.norm].flags = 0;
        CHECK(reason_of(c.norm) == reason::not_computed);
    }
    SECTION("the MUL is not computed") {
        c.g[c.mul].flags = 0;
        CHECK(reason_of(c.norm) == reason::not_computed);
    }
    SECTION("the norm is read twice") {
        c.g.other({c.norm});
        CHECK(reason_of(c.norm) == reason::read_elsewhere);
    }
    SECTION("the norm is read twice by its own MUL") {
        c.g[c.mul].src[1] = c.norm;
        CHECK(reason_of(c.norm) == reason::read_elsewhere);
    }
    SECTION("the norm is read through a view") {
        c.g.other({c.g.reshape(c.norm, {1024})});
        CHECK(reason_of(c.norm) == reason::read_elsewhere);
    }
    SECTION("the norm is read outside") {
        c.g.read_outside(c.norm);
        CHECK(reason_of(c.norm) == reason::read_outside);
    }
    SECTION("nobody knows who reads the norm") {
        c.g.uncounted = {c.norm};
        CHECK(reason_of(c.norm) == reason::read_outside);
    }
    SECTION("the norm is an output") {
        c.g[c.norm].flags |= flag_output;
        CHECK(reason_of(c.norm) == reason::is_output);
    }
    SECTION("there is no MUL") {
        const id lonely = c.g.rms_norm(c.x);
        c.g.other({lonely});
        CHECK(reason_of(lonely) == reason::unscaled);
    }
    SECTION("the weight is made by a node") {
        c.g[c.mul].src[1] = c.g.same_shape(op::cont, c.w, {c.w});
        std::rotate(c.g.nodes.begin(), c.g.nodes.end() - 1, c.g.nodes.end());
        CHECK(reason_of(c.norm) == reason::weight_not_leaf);
    }
    SECTION("it is none: RESHAPE only names the leaf of the weight") {
        c.g[c.mul].src[1] = c.g.reshape(c.w, {512});
        std::rotate(c.g.nodes.begin(), c.g.nodes.end() - 1, c.g.nodes.end());
        CHECK(reason_of(c.norm) == reason::none);
    }
    SECTION("the weight is a leaf that the engine may write") {
        c.g[c.w].weight = false;
        CHECK(reason_of(c.norm) == reason::weight_not_leaf);
    }
    SECTION("the weight is f16") {
        c.g[c.w].type = format::f16;
        CHECK(reason_of(c.norm) == reason::weight_not_f32);
    }
    SECTION("the weight is one number") {
        c.g[c.mul].src[1] = c.g.weight(format::f32, {1});
        CHECK(reason_of(c.norm) == reason::weight_shape);
    }
    SECTION("the weight has a row for each row") {
        c.g[c.mul].src[1] = c.g.weight(format::f32, {512, 2});
        CHECK(reason_of(c.norm) == reason::weight_shape);
    }
    SECTION("the MUL spreads the norm over more rows") {
        c.g[c.mul].ne[1] = 4;
        CHECK(reason_of(c.norm) == reason::reshaped);
    }
    SECTION("x is f16") {
        c.g[c.x].type = format::f16;
        CHECK(reason_of(c.norm) == reason::not_f32);
    }
    SECTION("x has gaps between neighbors") {
        c.g[c.x].nb[0] = 8;
        CHECK(reason_of(c.norm) == reason::not_unit_stride);
    }
    SECTION("the norm writes over its input by declaration") {
        c.g.rename(c.norm, c.x);
        CHECK(reason_of(c.norm) == reason::written_in_place);
    }
    SECTION("somebody writes into the MUL's result by declaration") {
        c.g.rename(c.g.node(op::cpy, format::f32, {512, 2}, {c.x, c.mul}), c.mul);
        CHECK(reason_of(c.norm) == reason::written_in_place);
    }
}

TEST_CASE("rows of x may be apart", "[match]") {
    plain_case c;
    c.g[c.x].nb[1] = 8192;
    CHECK(match_at(c.g, c.norm).found());
}

TEST_CASE("the residual chain takes the ADD before the norm", "[match][residual]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id r = g.input(format::f32, {512, 2});
    const id sum = g.add(x, r);
    const id norm = g.rms_norm(sum);
    const id mul = g.mul(norm, g.weight(format::f32, {512}));
    g.matmul(format::q4_K, 64, mul);
    SECTION("and does not write the sum that nobody else reads") {
        const match m = match_at(g, norm, true);
        REQUIRE(m.found());
        CHECK(m.reads[operand::x].tensor == x);
        CHECK(m.reads[operand::residual].tensor == r);
        CHECK(m.sum == g.position(sum));
        CHECK_FALSE(m.sum_needed);
    }
    SECTION("and writes the sum when the next layer reads it") {
        g.other({sum});
        CHECK(match_at(g, norm, true).sum_needed);
    }
    SECTION("and writes the sum when the next slice reads it") {
        g.read_outside(sum);
        CHECK(match_at(g, norm, true).sum_needed);
    }
    SECTION("and writes the sum that is an output") {
        g[sum].flags |= flag_output;
        CHECK(match_at(g, norm, true).sum_needed);
    }
    SECTION("but not an ADD that spreads a bias") {
        g[sum].src[1] = g.weight(format::f32, {512});
        CHECK(match_at(g, norm, true).why.why == reason::no_residual);
        CHECK(match_at(g, norm, false).found());
    }
}

TEST_CASE("a result that is flagged or read outside keeps f32", "[match]") {
    plain_case c;
    SECTION("output") { c.g[c.mul].flags |= flag_output; }
    SECTION("read outside") { c.g.read_outside(c.mul); }
    SECTION("unknown readers") { c.g.uncounted = {c.mul}; }
    SECTION("an output by another name") { c.g[c.g.reshape(c.mul, {1024})].flags |= flag_output; }
    SECTION("read outside by another name") { c.g.read_outside(c.g.reshape(c.mul, {1024})); }
    SECTION("another name that nobody reads") { c.g.reshape(c.mul, {1024}); }
    const match m = match_at(c.g, c.norm);
    REQUIRE(m.found());
    CHECK(m.f32_needed);
}

TEST_CASE("names of no elements read nothing", "[match]") {
    plain_case c;
    const id nothing = c.g.view(c.mul, {0});
    c.g.same_shape(op::scale, nothing, {nothing});
    c.g.view(c.mul, {0});
    c.g.node(op::cpy, format::f32, {0}, {c.mul});
    const match m = match_at(c.g, c.norm);
    REQUIRE(m.found());
    CHECK_FALSE(m.f32_needed);
    CHECK(m.readers.size() == 1);
}
