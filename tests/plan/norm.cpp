// Activations made in the launch of their readers, norms and what is only quantized: when a plan
// makes them there, when not, and why.
#include "norm_table.hpp"

#include "catena/plan/explain.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Two matrices that read the norm, as nodes 2 and 3.
struct read_norm : norm_case {
    id q = g.matmul(format::q4_K, 64, mul), k = g.matmul(format::q4_K, 32, mul);
};

reason apart(const plan& p) { return p.chains()[0].norm_apart.why; }

}  // namespace

TEST_CASE("a norm that one launch alone reads is made by that launch", "[plan][norm]") {
    read_norm c;
    const norm_table rows;
    const plan p = rows.planned(c.g);
    CHECK(steps_of(p) == "2: 0 1 2 3");
    CHECK((p.at(0).elided && p.at(1).elided && !p.at(2).elided));
    CHECK(p.at(0).role == role::covered);
    CHECK(p.workspace_bytes() == 0);
    CHECK(p.left().size() == 0);
    const matvec_args a = p.args(0, nullptr).matvec;
    CHECK(a.x == c.g[c.x].data);
    CHECK(a.x_bytes == 2048);
    CHECK(a.norm_weight == c.g[c.g[c.mul].src[1]].data);
    CHECK(a.eps == 1e-6f);
    CHECK(a.member[1].weight == c.g[c.g[c.k].src[0]].data);
    const explanation e = p.explain();
    CHECK(e.chains[0].placement == norm_placement::deferred);
    CHECK(e.chains[0].norm_apart == "");
    CHECK(!e.chains[0].from_epilogue);
    CHECK(e.chains[0].served == std::vector<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("where launches are cheap the norm has one of its own, and the report says why",
          "[plan][norm]") {
    read_norm c;
    const norm_table rows(0.1);
    const plan p = rows.planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3");
    const obstacle why = p.chains()[0].norm_apart;
    CHECK(why.why == reason::norm_slower);
    CHECK(why.node == 0);
    CHECK(why.have >= why.need);
    const double both = p.steps()[0].predicted_us + p.steps()[1].predicted_us;
    CHECK(why.need == static_cast<std::int64_t>(both * 1000));
    CHECK(p.explain().chains[0].placement == norm_placement::producer);
    CHECK(p.explain().chains[0].norm_apart == sentence(why));
}

TEST_CASE("a norm that others read too is made apart", "[plan][norm]") {
    const norm_table rows;
    SECTION("a node of the engine") {
        read_norm c;
        c.g.other({c.mul});
        CHECK(apart(rows.planned(c.g)) == reason::norm_shared);
    }
    SECTION("a node outside the graph") {
        read_norm c;
        c.g.read_outside(c.mul);
        CHECK(apart(rows.planned(c.g)) == reason::norm_shared);
    }
    SECTION("a matrix of float weights") {
        read_norm c;
        c.g.matmul(format::f32, 8, c.mul);
        CHECK(apart(rows.planned(c.g)) == reason::norm_shared);
    }
    SECTION("experts") {
        read_norm c;
        const id x = c.g.reshape(c.mul, {512, 1, 1});
        c.g.mul_mat_id(c.g.weight(format::q4_K, {512, 64, 4}), x, c.g.input(format::i32, {2, 1}));
        CHECK(apart(rows.planned(c.g)) == reason::norm_shared);
    }
    SECTION("a matrix of another set") {
        norm_case c;
        c.g.matmul(format::q6_K, 64, c.mul);
        c.g.matmul(format::q8_0, 64, c.mul);
        CHECK(apart(rows.planned(c.g)) == reason::no_norm_inside);
    }
}

TEST_CASE("a norm that no row makes inside a launch is made apart", "[plan][norm]") {
    const norm_table rows;
    SECTION("a format that has no such row") {
        norm_case c;
        c.g.matmul(format::q8_0, 64, c.mul);
        CHECK(apart(rows.planned(c.g)) == reason::no_norm_inside);
    }
    SECTION("more columns than its policy serves") {
        graph_builder g;
        g.matmul(format::q4_K, 64, g.scaled_norm(g.input(format::f32, {512, 3})));
        CHECK(apart(rows.planned(g)) == reason::no_norm_inside);
    }
    SECTION("a residual before it, whose sum others read") {
        graph_builder g;
        const id sum = g.add(g.input(format::f32, {512}), g.input(format::f32, {512}));
        g.matmul(format::q4_K, 64, g.scaled_norm(sum));
        g.other({sum});
        CHECK(apart(rows.planned(g)) == reason::no_norm_inside);
    }
    SECTION("rows that are read as longer ones") {
        graph_builder g;
        const id norm = g.scaled_norm(g.input(format::f32, {256, 2}));
        g.matmul(format::q4_K, 64, g.reshape(norm, {512}));
        CHECK(apart(rows.planned(g)) == reason::no_norm_inside);
    }
    SECTION("an input that is not 16-byte aligned") {
        read_norm c;
        c.g[c.x].offset += 4;
        c.g[c.x].data = static_cast<std::byte*>(c.g[c.x].data) + 4;
        CHECK(apart(rows.planned(c.g)) == reason::no_norm_inside);
    }
}

TEST_CASE("columns of a norm are read at their own distance", "[plan][norm]") {
    graph_builder g;
    const id x = g.view(g.input(format::f32, {1024, 2}), {512, 2});
    g[x].nb[1] = 4096;
    g.matmul(format::q4_K, 64, g.scaled_norm(x));
    const norm_table rows;
    const plan p = rows.planned(g);
    CHECK_FALSE(p.chains()[0].norm_apart.found());
    CHECK(p.args(0, nullptr).matvec.x_bytes == 4096);
    CHECK(p.args(0, nullptr).matvec.columns == 2);
}

TEST_CASE("the same bits for all column counts keep the norm in a launch of its own",
          "[plan][norm]") {
    read_norm c;
    options asked;
    asked.pick.same_bits = true;
    const norm_table rows;
    const plan p = rows.planned(c.g, asked);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3");
    CHECK(apart(p) == reason::same_bits);
}

TEST_CASE("a norm is made where it is read only if its input is still there", "[plan][norm]") {
    read_norm c;
    const norm_table rows;
    SECTION("a node between writes over it") {
        graph_builder g;
        const id x = g.input(format::f32, {512});
        const id mul = g.scaled_norm(x);
        g.share(g.other({g.input(format::f32, {512})}), x);
        g.matmul(format::q4_K, 64, mul);
        const norm_table rows;
        const plan p = rows.planned(g);
        CHECK(steps_of(p) == "1: 0 1, 3: 3");
        CHECK(apart(p) == reason::norm_split);
    }
    SECTION("a result of its readers takes its place") {
        c.g.share(c.k, c.x);
        const norm_table rows;
        const plan p = rows.planned(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2 3");
        CHECK(apart(p) == reason::norm_split);
        CHECK(p.left().size() == 0);
    }
    SECTION("a reader cannot stand beside the others") {
        const id late = c.g.input(format::f32, {512});
        c.g.share(c.g.other({late}), c.k);
        const id v = c.g.matmul(format::q4_K, 32, c.mul);
        c.g.share(v, late);
        const norm_table rows;
        const plan p = rows.planned(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2 3, 5: 5");
        CHECK(apart(p) == reason::norm_split);
        CHECK(left_why(p, 5) == reason::group_split);
    }
}

TEST_CASE("a launch that makes its norm gates and quantizes what it makes", "[plan][norm]") {
    norm_case c;
    const id gate = c.g.matmul(format::q4_K, 512, c.mul), up = c.g.matmul(format::q4_K, 512, c.mul);
    c.g.matmul(format::q4_K, 512, c.g.glu(gate, up));
    const norm_table rows;
    const plan p = rows.planned(c.g);
    CHECK(steps_of(p) == "2: 0 1 2 3 4, 5: 5");
    CHECK(p.chains().size() == 2);
    CHECK(p.chains()[1].made_by == 0);
    CHECK(p.explain().chains[1].from_epilogue);
    CHECK(p.args(0, nullptr).matvec.norm_weight != nullptr);
    CHECK(p.args(1, nullptr).matvec.norm_weight == nullptr);
}

TEST_CASE("medians decide where a norm is made if all three launches have one", "[plan][norm]") {
    read_norm c;
    norm_table rows(0.1);
    const plan before = rows.planned(c.g);
    product_problem inside = before.steps()[1].what.product();
    inside.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
    SECTION("a median of one way beside predictions of the other decides nothing") {
        rows.measure(inside, 0.01f, rows.normed_row());
        CHECK(steps_of(rows.planned(c.g)) == steps_of(before));
        CHECK(rows.planned(c.g).chains()[0].norm_apart.have == before.chains()[0].norm_apart.have);
    }
    SECTION("nor do medians of the two launches beside a prediction of the one") {
        rows.target.node_us = 1000;
        REQUIRE(steps_of(rows.planned(c.g)) == "2: 0 1 2 3");
        rows.measure(before.steps()[0].what, 0.01f, before.steps()[0].row);
        CHECK(steps_of(rows.planned(c.g)) == "2: 0 1 2 3");
        rows.measure(before.steps()[1].what, 0.01f, before.steps()[1].row);
        CHECK(steps_of(rows.planned(c.g)) == "2: 0 1 2 3");
    }
    SECTION("of two measured, the faster") {
        rows.measure(before.steps()[0].what, 3, before.steps()[0].row);
        rows.measure(before.steps()[1].what, 4, before.steps()[1].row);
        rows.measure(inside, 7.5f, rows.normed_row());
        CHECK(apart(rows.planned(c.g)) == reason::norm_slower);
        rows.medians.clear();
        rows.measure(before.steps()[0].what, 3, before.steps()[0].row);
        rows.measure(before.steps()[1].what, 4, before.steps()[1].row);
        rows.measure(inside, 6.5f, rows.normed_row());
        CHECK(steps_of(rows.planned(c.g)) == "2: 0 1 2 3");
    }
}

TEST_CASE("what the engine makes is quantized by the launch that alone reads it", "[plan][norm]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    g.matmul(format::q4_K, 64, x);
    const id k = g.matmul(format::q6_K, 32, x);
    const norm_table rows;
    SECTION("with what follows, and without a workspace") {
        const plan p = rows.planned(g);
        CHECK(steps_of(p) == "1: 1 2");
        CHECK(p.workspace_bytes() == 0);
        const matvec_args a = p.args(0, nullptr).matvec;
        CHECK(a.x == g[x].data);
        CHECK(a.x_bytes == 2048);
        CHECK(a.norm_weight == nullptr);
        CHECK(a.member[1].weight == g[g[k].src[0]].data);
        CHECK(quantizes_inside(p.steps()[0].what));
        CHECK(placement_of(p.rows().rows[p.steps()[0].row].policy) == norm_placement::deferred);
        CHECK(p.explain().chains[0].served == std::vector<std::int32_t>{1, 2});
    }
    SECTION("others may read it too: it is there") {
        g.other({x});
        g.matmul(format::f32, 8, x);
        CHECK(rows.planned(g).workspace_bytes() == 0);
    }
    SECTION("not where launches are cheap") {
        const plan p = norm_table(0.1).planned(g);
        CHECK(steps_of(p) == "1:, 1: 1 2");
        CHECK(p.workspace_bytes() > 0);
    }
    SECTION("not twice: matmuls of two launches read what a step quantizes once") {
        g.matmul(format::q8_0, 64, x);
        const plan p = rows.planned(g);
        CHECK(steps_of(p) == "1:, 1: 1 2, 3: 3");
    }
    SECTION("not where memory splits the launch") {
        const id late = g.input(format::f32, {512});
        g.share(g.other({late}), k);
        const id v = g.matmul(format::q4_K, 32, x);
        g.share(v, late);
        const plan p = rows.planned(g);
        CHECK(p.steps().size() == 3);
        CHECK(p.workspace_bytes() > 0);
    }
    SECTION("not of more columns than its policy serves") {
        graph_builder wide;
        const id y = wide.other({wide.input(format::f32, {512, 3})});
        wide.matmul(format::q4_K, 64, y);
        CHECK(steps_of(rows.planned(wide)) == "1:, 1: 1");
    }
    SECTION("not where it is not aligned to 16 bytes") {
        const int off = GENERATE(0, 4);
        graph_builder odd;
        const id room = odd.input(format::f32, {1024}), y = odd.input(format::f32, {512});
        odd.share(y, room, off);
        odd.matmul(format::q4_K, 64, y);
        CHECK((rows.planned(odd).workspace_bytes() > 0) == (off != 0));
    }
    SECTION("not with the same bits for all column counts") {
        options asked;
        asked.pick.same_bits = true;
        CHECK(rows.planned(g, asked).workspace_bytes() > 0);
    }
}
