// Weights that have a matrix for each head, as attention with latent caches has them.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/plan/verify.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// A part of each head, which the engine made, times the head's own matrix.
struct heads_case {
    static constexpr std::int64_t heads = 4, size = 192, part = 128, rows = 512;
    graph_builder g;
    std::int64_t streams;
    id made, of_head, w, product;

    explicit heads_case(std::int64_t tokens, format type = format::q8_0, std::int64_t streams = 1)
        : streams(streams) {
        made = g.other({g.input(format::f32, {size * heads, tokens * streams})});
        of_head = g.view(made, {part, tokens, heads, streams});
        g[of_head].kind = op::permute;
        g[of_head].nb[1] = size * heads * 4;
        g[of_head].nb[2] = size * 4;
        g[of_head].nb[3] = size * heads * tokens * 4;
        w = g.weight(type, {part, rows, heads});
        product = g.mul_mat(w, of_head);
    }
    plan planned() { return proved_plan(g, shipped_table()); }
};

template <class Args>
void read_by_head(const heads_case& c, const Args& a, std::int64_t tokens) {
    CHECK(a.ids == nullptr);
    CHECK(a.columns == tokens * c.heads * c.streams);
    CHECK(a.slots == tokens);
    CHECK(a.x_slots == tokens);
    CHECK(a.member[0].experts == c.heads);
    CHECK(a.member[0].expert_bytes == c.rows * row_bytes(format::q8_0, c.part));
    CHECK(a.member[0].dst_nb1 == c.rows * 4);
    CHECK(a.member[0].dst_nb2 == c.rows * 4 * tokens);
}

}  // namespace

TEST_CASE("a matrix for each head is a launch, whose activation is quantized from where it lies",
          "[plan][heads]") {
    for (const std::int64_t tokens : {1, 3, 40}) {
        heads_case c(tokens);
        const plan p = c.planned();
        REQUIRE(steps_of(p) == "2:, 2: 2");
        const row_args row = p.args(0, nullptr).row;
        CHECK(row.x_at.nb1 == c.size * c.heads * 4);
        CHECK(row.x_at.nb2 == c.size * 4);
        CHECK(row.n1 == tokens);
        CHECK(row.rows == tokens * c.heads);
        const step_args a = p.args(1, nullptr);
        CHECK(a.kind == (tokens < 8 ? skeleton::matvec : skeleton::matmul));
        if (a.kind == skeleton::matvec)
            read_by_head(c, a.matvec, tokens);
        else
            read_by_head(c, a.matmul, tokens);
    }
}

TEST_CASE("all streams of tokens read the same matrices, in one launch", "[plan][heads]") {
    for (const std::int64_t streams : {2, 4})
        for (const std::int64_t tokens : {1, 3, 40}) {
            heads_case c(tokens, format::q8_0, streams);
            const plan p = c.planned();
            REQUIRE(steps_of(p) == "2:, 2: 2");
            const row_args row = p.args(0, nullptr).row;
            CHECK(row.x_at.nb3 == c.size * c.heads * tokens * 4);
            CHECK(row.rows == tokens * c.heads * streams);
            const step_args a = p.args(1, nullptr);
            CHECK(a.kind == (tokens < 8 ? skeleton::matvec : skeleton::matmul));
            if (a.kind == skeleton::matmul) {
                read_by_head(c, a.matmul, tokens);
                CHECK(a.matmul.x_rows == tokens * c.heads * streams);
                CHECK(a.matmul.experts == c.heads * streams);
            } else {
                read_by_head(c, a.matvec, tokens);
            }
        }
}

TEST_CASE("streams whose results lie apart stay with the engine", "[plan][heads]") {
    heads_case c(2, format::q8_0, 2);
    c.g[c.product].nb[3] *= 2;
    CHECK(left_why(c.planned(), 2) == reason::batched_result);
}

TEST_CASE("many heads of one token are few columns of each matrix", "[plan][heads]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {128, 1, 64})});
    g.mul_mat(g.weight(format::q8_0, {128, 512, 64}), x);
    const plan p = checked_plan(g, shipped_table());
    REQUIRE(p.steps().size() == 2);
    CHECK(p.steps()[1].what.kind() == skeleton::matvec);
    CHECK(p.steps()[1].what.product().tokens == 1);
}

TEST_CASE("two matrices for each head that read the same are one launch, others are not",
          "[plan][heads]") {
    heads_case c(2);
    const id more = c.g.mul_mat(c.g.weight(format::q8_0, {c.part, 64, c.heads}), c.of_head);
    CHECK(steps_of(c.planned()) == "2:, 2: 2 3");
    SECTION("experts of the same activation") {
        const id ids = c.g.input(format::i32, {2, c.heads});
        c.g[more].kind = op::mul_mat_id;
        c.g[more].src[2] = ids;
        CHECK(steps_of(c.planned()) == "2:, 2: 2, 3: 3");
    }
}

TEST_CASE("what follows a matrix for each head joins its launch", "[plan][heads]") {
    heads_case c(2);
    const id gate = c.product,
             up = c.g.mul_mat(c.g.weight(format::q8_0, {c.part, c.rows, c.heads}), c.of_head);
    c.g.glu(gate, up);
    const plan p = c.planned();
    CHECK(steps_of(p) == "2:, 2: 2 3 4");
    heads_case half(2);
    half.g.glu_of_halves(half.product);
    CHECK(steps_of(half.planned()) == "2:, 2: 2 3");
}

TEST_CASE("matrices that are not one for each part of the activation are the engine's",
          "[plan][heads]") {
    heads_case c(2);
    SECTION("two parts share one") {
        c.g[c.w].ne[2] = c.heads / 2;
        CHECK(left_why(c.planned(), 2) == reason::weight_batched);
    }
    SECTION("in two dimensions") {
        c.g[c.w].ne[2] = 2, c.g[c.w].ne[3] = 2;
        CHECK(left_why(c.planned(), 2) == reason::weight_batched);
    }
    SECTION("of numbers that lie apart") {
        heads_case f16(2, format::f16);
        CHECK(left_why(f16.planned(), 2) == reason::activation_strided);
    }
}

TEST_CASE("the proof finds a head that reads another matrix or another part", "[plan][heads]") {
    using put_fault = void (*)(plan_faults&);
    const put_fault wrong[] = {
        [](plan_faults& p) { p.member(1, 0).expert_bytes += 136; },
        [](plan_faults& p) { p.member(1, 0).experts = 3; },
        [](plan_faults& p) { p.member(1, 0).experts = 0; },
        [](plan_faults& p) { p.head(1).slots = 4, p.head(1).x_slots = 4; },
        [](plan_faults& p) { p.head(1).x_slots = 1; },
        [](plan_faults& p) { std::swap(p.row(0).x_at.nb1, p.row(0).x_at.nb2); }};
    for (const put_fault put : wrong) {
        heads_case c(2);
        plan p = c.planned();
        plan_faults inside{p};
        put(inside);
        CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
    }
}
