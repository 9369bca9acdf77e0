#include "catena/match/detail/matcher.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

using namespace catena;
using namespace catena_test;

namespace {

struct reader_case {
    graph_builder g;
    id x = g.input(format::f32, {512, 4});
    id mul = g.scaled_norm(x);
    id first = g.matmul(format::q4_K, 64, mul);

    /// Why the node that computes `t` is not served.
    reason left(id t) {
        graph_index index;
        const status s = index.build(g.view());
        INFO(s.message);
        REQUIRE(s.ok());
        const pattern p = pattern_of(chain_of("c", false, true, q4 | q6));
        const match m = matcher(index, p).at(g.position(mul) - 1);
        REQUIRE(m.found());
        for (const reader& r : m.readers)
            if (r.node == g.position(t)) return r.left.why;
        FAIL("not a reader");
        return reason::none;
    }
};

}  // namespace

TEST_CASE("a dense matmul of a listed format is served", "[reader]") {
    reader_case c;
    CHECK(c.left(c.first) == reason::none);
    CHECK(c.left(c.g.matmul(format::q6_K, 32, c.mul)) == reason::none);
}

TEST_CASE("experts read through a RESHAPE", "[reader]") {
    reader_case c;
    const id wide = c.g.reshape(c.mul, {512, 1, 4});
    const id ids = c.g.input(format::i32, {2, 4});
    const id w = c.g.weight(format::q4_K, {512, 64, 8});
    CHECK(c.left(c.g.mul_mat_id(w, wide, ids)) == reason::none);
    SECTION("whose ids are i32") {
        const id wrong = c.g.input(format::i64, {2, 4});
        CHECK(c.left(c.g.mul_mat_id(w, wide, wrong)) == reason::expert_ids);
    }
    SECTION("whose ids fit the activation") {
        const id wrong = c.g.input(format::i32, {2, 3});
        CHECK(c.left(c.g.mul_mat_id(w, wide, wrong)) == reason::matmul_shape);
    }
}

TEST_CASE("experts read one row of a token, or one for each of its slots", "[reader]") {
    reader_case c;
    const id w = c.g.weight(format::q4_K, {512, 64, 8}), two = c.g.reshape(c.mul, {512, 2, 2});
    CHECK(c.left(c.g.mul_mat_id(w, two, c.g.input(format::i32, {2, 2}))) == reason::none);
    CHECK(c.left(c.g.mul_mat_id(w, two, c.g.input(format::i32, {3, 2}))) == reason::matmul_shape);
}

TEST_CASE("more than kernels can number is left", "[reader]") {
    reader_case c;
    SECTION("columns of experts") {
        const id wide = c.g.reshape(c.mul, {512, 1, 4});
        const id ids = c.g.input(format::i32, {1 << 29, 4});
        const id w = c.g.weight(format::q4_K, {512, 64, 8});
        CHECK(c.left(c.g.mul_mat_id(w, wide, ids)) == reason::too_large);
    }
    SECTION("rows of a weight") {
        CHECK(c.left(c.g.matmul(format::q4_K, max_rows + 1, c.mul)) == reason::too_large);
    }
    SECTION("values of the activation") {
        graph_builder g;
        g.matmul(format::q4_K, 64, g.scaled_norm(g.input(format::f32, {512, 1 << 22})));
        graph_index index;
        REQUIRE(index.build(g.view()).ok());
        const pattern p = pattern_of(chain_of("c", false, true, q4));
        CHECK(matcher(index, p).at(0).why.why == reason::too_large);
    }
}

TEST_CASE("a view that holds everything is another name, one that does not is not", "[reader]") {
    reader_case c;
    CHECK(c.left(c.g.matmul(format::q4_K, 64, c.g.view(c.mul, {512, 4}))) == reason::none);
    const id start = c.g.view(c.mul, {512, 2});
    CHECK(c.left(c.g.matmul(format::q4_K, 64, start)) == reason::activation_strided);
    const id end = c.g.view(c.mul, {512, 2}, 4096);
    CHECK(c.left(c.g.matmul(format::q4_K, 64, end)) == reason::activation_strided);
    const id turned = c.g.view(c.mul, {512, 4});
    c.g[turned].kind = op::permute;
    CHECK(c.left(c.g.matmul(format::q4_K, 64, turned)) == reason::activation_strided);
}

TEST_CASE("rows of another length are not the rows that were quantized", "[reader]") {
    reader_case c;
    CHECK(c.left(c.g.matmul(format::q4_K, 64, c.mul)) == reason::none);
    const id cut = c.g.reshape(c.mul, {256, 8});  // each padded to 512 elements
    CHECK(c.left(c.g.matmul(format::q4_K, 64, cut)) == reason::row_length);
}

TEST_CASE("rows of any length that needs no padding share one quantized copy", "[reader]") {
    reader_case c;
    CHECK(c.left(c.g.matmul(format::q4_K, 64, c.mul)) == reason::none);
    const id merged = c.g.reshape(c.mul, {1024, 2});
    CHECK(c.left(c.g.matmul(format::q4_K, 64, merged)) == reason::none);
}

TEST_CASE("the first reader that is served says how long rows are", "[reader]") {
    reader_case c;
    c.g[c.first].stream = 1;  // it runs elsewhere
    CHECK(c.left(c.first) == reason::stream);
    const id merged = c.g.matmul(format::q4_K, 64, c.g.reshape(c.mul, {1024, 2}));
    CHECK(c.left(merged) == reason::none);
    graph_index index;
    REQUIRE(index.build(c.g.view()).ok());
    const pattern p = pattern_of(chain_of("c", false, true, q4 | q6));
    CHECK(matcher(index, p).at(c.g.position(c.mul) - 1).quant_k == 1024);
}

TEST_CASE("a norm row need not be an activation row", "[reader]") {
    graph_builder g;
    const id x = g.input(format::f32, {128, 8, 2});
    const id mul = g.scaled_norm(x);
    g.matmul(format::q4_K, 64, g.reshape(mul, {1024, 2}));
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    const pattern p = pattern_of(chain_of("c", false, true, q4));
    const match m = matcher(index, p).at(0);
    REQUIRE(m.found());
    CHECK(m.quant_k == 1024);
    CHECK(m.servable() == 1);
}

TEST_CASE("a matmul that asks for something else is left with its reason", "[reader]") {
    reader_case c;
    const id t = c.g.matmul(format::q4_K, 64, c.mul);
    const id w = c.g[t].src[0];
    CHECK(c.left(t) == reason::none);
    SECTION("an accumulator, which is never less than f32") {
        for (const int rank : {10, 15, 20}) {
            c.g[t].params[0] = rank;
            CHECK(c.left(t) == reason::none);
        }
        c.g[t].params[0] = 30;  // ggml allows none of 8 bits
        CHECK(c.left(t) == reason::precision);
    }
    SECTION("an activation of a rank") {
        for (const int rank : {30, 40}) {
            c.g[t].params[3] = rank;
            CHECK(c.left(t) == reason::none);
        }
        for (const int rank : {10, 15, 20}) {
            c.g[t].params[3] = rank;
            CHECK(c.left(t) == reason::activation_precision);
        }
    }
    SECTION("what nobody here knows") {
        c.g[t].params[2] = 1;
        CHECK(c.left(t) == reason::parameter);
    }
    SECTION("a transform") {
        c.g[t].params[1] = 1;
        CHECK(c.left(t) == reason::hint);
    }
    SECTION("nothing: it is not computed") {
        c.g[t].flags = 0;
        CHECK(c.left(t) == reason::not_computed);
    }
    SECTION("a weight that the engine may write") {
        c.g[w].weight = false;
        CHECK(c.left(t) == reason::weight_not_leaf);
    }
    SECTION("a weight with gaps") {
        c.g[w].nb[1] += 144;
        CHECK(c.left(t) == reason::weight_strided);
    }
    SECTION("a weight for each batch") {
        c.g[w].ne[2] = 2;
        c.g[w].nb[3] *= 2;
        CHECK(c.left(t) == reason::weight_batched);
    }
    SECTION("a result with gaps") {
        c.g[t].nb[0] = 8;
        CHECK(c.left(t) == reason::not_unit_stride);
    }
    SECTION("a result with a gap between batches") {
        c.g[t].ne[1] = 1;
        c.g[t].ne[3] = 4;
        c.g[t].nb[3] = 4096;
        CHECK(c.left(t) == reason::batched_result);
    }
    SECTION("a weight that a node writes") {
        c.g.rename(c.g.node(op::other, format::f32, {64}, {c.first}), w);
        CHECK(c.left(t) == reason::weight_not_leaf);
    }
    SECTION("an operand that MUL_MAT is not known to have") {
        c.g[t].src[2] = c.x;
        CHECK(c.left(t) == reason::extra_source);
    }
    SECTION("no values at all") {
        c.g[w].ne[0] = 0;
        CHECK(c.left(t) == reason::no_elements);
    }
    SECTION("sizes that do not fit") {
        c.g[t].ne[0] = 63;
        CHECK(c.left(t) == reason::matmul_shape);
    }
}

TEST_CASE("a RESHAPE is its source's memory, whether or not it says so", "[reader]") {
    reader_case c;
    const id flat = c.g.reshape(c.mul, {2048});
    c.g[flat].view_src = no_tensor;
    const id reads = c.g.other({flat});
    CHECK(c.left(reads) == reason::not_activation);
}

TEST_CASE("a RESHAPE of which nobody says where it lies is its source's memory", "[reader]") {
    graph_builder g;
    const id mul = g.scaled_norm(g.input(format::f32, {512, 2}));
    const id name = g.reshape(mul, {512, 2, 1});
    const graph_view view = g.view();
    g[name].buffer = no_buffer;
    CHECK(value_behind(view, name) == mul);
    g[name].data = nullptr;
    CHECK(value_behind(view, name) == mul);
    g[name].data = static_cast<std::byte*>(g[mul].data) + 16;
    CHECK(value_behind(view, name) == name);
}

TEST_CASE("other readers of the value are told apart", "[reader]") {
    reader_case c;
    CHECK(c.left(c.g.matmul(format::f32, 8, c.mul)) == reason::plain_weight);
    CHECK(c.left(c.g.matmul(format::f16, 8, c.mul)) == reason::plain_weight);
    CHECK(c.left(c.g.matmul(format::mxfp4, 8, c.mul)) == reason::format_not_in_chain);
    CHECK(c.left(c.g.other({c.x, c.mul})) == reason::not_activation);
    const id first_operand = c.g.node(op::mul_mat, format::f32, {4, 4}, {c.mul, c.x});
    CHECK(c.left(first_operand) == reason::not_activation);
}
