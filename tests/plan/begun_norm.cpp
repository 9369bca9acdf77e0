// Norms of two launches: the launch that makes a norm's input begins it, and those that multiply it
// end it. When a plan does that, when not, and what the proof finds if such a plan is wrong.
#include "cases.hpp"
#include "fault_places.hpp"
#include "random/tables.hpp"
#include "summed_case.hpp"

#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/verify.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr std::int64_t k = 512;

/// A product and a residual, as nodes 1 and 2; their norm, as nodes 3 and 4; two matrices that read
/// it; and a node of the engine that reads the sum.
struct two_launches {
    graph_builder g;
    std::int64_t columns;
    id x = g.input(format::f32, {k, columns});
    id made = g.other({x});
    id y = g.matmul(format::q8_0, k, made);
    id sum = g.add(y, x);
    id norm = g.rms_norm(sum);
    id weight = g.weight(format::f32, {k});
    id value = g.mul(norm, weight);
    id q = g.matmul(format::q8_0, k, value), v = g.matmul(format::q8_0, k, value);
    id last = g.other({sum, q, v});

    explicit two_launches(std::int64_t columns_of = 4) : columns(columns_of) {}
};

plan planned_by_host(graph_builder& g, const options& asked = {}) {
    return checked_plan(g, shipped_table(), asked);
}

/// Steps that begin a norm, and steps that end one.
std::pair<int, int> halves_of(const plan& p) {
    std::pair<int, int> met{0, 0};
    for (const step& s : p.steps()) {
        if (s.what.kind() == skeleton::row) continue;
        met.first += s.what.product().begins_norm;
        met.second += s.what.product().ends_norm;
    }
    return met;
}
bool whole(const plan& p) { return halves_of(p) == std::pair{0, 0}; }

}  // namespace

TEST_CASE("a norm begins in the launch of its input and ends in that of its readers",
          "[plan][begun]") {
    two_launches c(GENERATE(2, 3, 8));
    CAPTURE(c.columns);
    const plan p = planned_by_host(c.g);
    REQUIRE(steps_of(p) == "1:, 2: 1 2 3 4, 5: 5 6");
    CHECK(halves_of(p) == std::pair{1, 1});
    CHECK((p.at(1).elided && !p.at(2).elided && p.at(3).elided && p.at(4).elided));
    REQUIRE(p.chains().size() == 2);
    CHECK((!p.chains()[0].begun && p.chains()[1].begun && p.chains()[1].made_by == 1));
    CHECK(p.explain().chains[1].from_epilogue);

    std::byte workspace[1];
    const matvec_args begins = p.args(1, workspace).matvec, ends = p.args(2, workspace).matvec;
    const matvec_member& m = begins.member[0];
    CHECK(m.begun_weight == c.g[c.weight].data);
    CHECK(m.dst == c.g[c.sum].data);
    CHECK(ends.x == m.q8_1);
    CHECK(ends.begun_squares == m.begun_squares);
    CHECK(reinterpret_cast<const std::byte*>(m.begun_squares) ==
          static_cast<const std::byte*>(m.q8_1) + c.columns * q8_1_row_bytes(k));
    CHECK(ends.eps == 1e-6f);
    CHECK(begins.begun_squares == nullptr);
    CHECK(ends.member[0].begun_weight == nullptr);
}

TEST_CASE("a norm of what experts make begins where their launch adds that up", "[plan][begun]") {
    summed_case c{.tokens = GENERATE(2, 8)};
    CAPTURE(c.tokens);
    const plan p = planned_by_host(c.g);
    REQUIRE(halves_of(p) == std::pair{1, 1});
    CHECK(c.by_their_launch(p));
    const int step = p.at(c.g.position(c.norm)).step;
    CHECK(step == p.at(c.g.position(c.all)).step);
    std::byte workspace[1];
    const matvec_args a = p.args(step, workspace).matvec;
    CHECK(a.combined);
    CHECK(a.member[0].dst == c.g[c.all].data);
    CHECK(a.member[0].begun_weight == c.g[c.g[c.norm].src[1]].data);
    CHECK(reinterpret_cast<const std::byte*>(a.member[0].begun_squares) ==
          static_cast<const std::byte*>(a.member[0].q8_1) + c.tokens * q8_1_row_bytes(512));
}

TEST_CASE("a norm of what experts make is not begun elsewhere", "[plan][begun]") {
    summed_case c{.tokens = 2};
    SECTION("what adds it up may not write it there") { c.g.share(c.all, c.weights); }
    SECTION("bits must not depend on the tokens") {
        options asked;
        asked.pick.same_bits = true;
        CHECK(whole(planned_by_host(c.g, asked)));
        return;
    }
    SECTION("no row of experts begins norms") {
        table t = shipped_table();
        std::vector<row> rows(t.rows, t.rows + t.row_count);
        std::erase_if(rows, [](const row& r) {
            return r.computes.kind() == skeleton::matvec && begins_norms(r.policy.matvec(), true);
        });
        t.rows = rows.data();
        t.row_count = static_cast<int>(rows.size());
        CHECK(whole(checked_plan(c.g, t)));
        return;
    }
    CHECK(whole(planned_by_host(c.g)));
}

TEST_CASE("the report names both launches of a norm", "[plan][begun]") {
    two_launches c;
    const std::string text = to_string(planned_by_host(c.g).explain());
    INFO(text);
    CHECK(text.find("the next norm begun") != std::string::npos);
    CHECK(text.find("their norm ended") != std::string::npos);
    CHECK(text.find("begun by that of their input, ended by that of their readers") !=
          std::string::npos);
}

TEST_CASE("a norm of a product alone is not begun, since its slot is dealt from the norm on",
          "[plan][begun]") {
    graph_builder g;
    const id made = g.other({g.input(format::f32, {k, 4})});
    const id value = g.scaled_norm(g.matmul(format::q8_0, k, made));
    g.matmul(format::q8_0, k, value);
    CHECK(whole(planned_by_host(g)));
}

TEST_CASE("a norm of one column, or of more than eight, is not begun", "[plan][begun]") {
    two_launches c(GENERATE(1, 9));
    CHECK(whole(planned_by_host(c.g)));
}

TEST_CASE("a norm is begun only where that takes less time than a launch between",
          "[plan][begun]") {
    const std::int64_t length = GENERATE(512, 16384);  // 512 rows are 16 bands of 32
    graph_builder g;
    const id made = g.other({g.input(format::f32, {length, 4})});
    const id x = g.input(format::f32, {k, 4});
    const id sum = g.add(g.matmul(format::q8_0, k, made), x), value = g.scaled_norm(sum);
    g.other({sum, g.matmul(format::q8_0, k, value)});
    table t = shipped_table();
    arch wide = t.limits();
    wide.sms = 512;
    t.device = wide;
    CHECK(whole(checked_plan(g, t)) == (length > 512));
}

TEST_CASE("a norm is not begun where bits must not depend on the columns", "[plan][begun]") {
    two_launches c;
    options asked;
    asked.pick.same_bits = true;
    CHECK(whole(planned_by_host(c.g, asked)));
}

TEST_CASE("a norm that somebody else reads, or that cannot be ended, is not begun",
          "[plan][begun]") {
    two_launches c;
    REQUIRE(halves_of(planned_by_host(c.g)) == std::pair{1, 1});
    SECTION("a node of the engine reads it") { c.g.other({c.value}); }
    SECTION("a node of the engine reads it without its weight") { c.g.other({c.norm}); }
    SECTION("somebody outside reads it") { c.g.read_outside(c.value); }
    SECTION("it is wanted in the end") { c.g[c.value].flags |= flag_output; }
    SECTION("a matrix of floats reads it") { c.g.matmul(format::f16, 64, c.value); }
    SECTION("experts read it") {
        const id ids = c.g.input(format::i32, {2, c.columns});
        const id slots = c.g.reshape(c.value, {k, 1, c.columns});
        c.g.mul_mat_id(c.g.weight(format::q8_0, {k, 64, 4}), slots, ids);
    }
    SECTION("rows of another length are read") {
        c.g.matmul(format::q8_0, 64, c.g.reshape(c.value, {k / 2, 2 * c.columns}));
    }
    SECTION("a reader is on another stream") { c.g[c.v].stream = 1; }
    SECTION("the sum has another norm") { c.g.matmul(format::q8_0, 64, c.g.scaled_norm(c.sum)); }
    SECTION("its weight is no constant") { c.g[c.weight].weight = false; }
    SECTION("its weight is misaligned") {
        c.g[c.weight].offset += 2;
        c.g[c.weight].data = moved(static_cast<std::byte*>(c.g[c.weight].data), 2);
    }
    CHECK(whole(planned_by_host(c.g)));
}

TEST_CASE("a table without warps that share rows begins no norm", "[plan][begun]") {
    table t = shipped_table();
    std::vector<row> rows(t.rows, t.rows + t.row_count);
    std::erase_if(rows, [](const row& r) {
        return r.computes.kind() == skeleton::matvec && ends_norms(r.policy.matvec());
    });
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    two_launches c;
    CHECK(whole(checked_plan(c.g, t)));
}

TEST_CASE("a norm may lie where its input lay, which then stays", "[plan][begun]") {
    graph_builder g;
    const id x = g.input(format::f32, {k, 4});
    const id sum = g.add(g.matmul(format::q8_0, k, g.other({x})), x);
    const id value = g.scaled_norm(sum);
    const id q = g.matmul(format::q8_0, k, value);
    g.share(g[value].src[0], sum);
    g.share(value, sum);
    SECTION("something else lies elsewhere") {}
    SECTION("something else lies there later") { g.share(g.other({q}), sum); }
    SECTION("the product of the norm lies there") { g.share(q, sum); }
    CHECK(halves_of(planned_by_host(g)) == std::pair{1, 1});
}

TEST_CASE("a norm is begun although its memory, or its input's, has other values before it",
          "[plan][begun]") {
    two_launches c;
    const id between = c.g.other({c.x});
    c.g.nodes.pop_back();
    c.g.nodes.insert(c.g.nodes.begin() + c.g.position(c.norm), between);
    SECTION("where the first launch reads") { c.g.share(between, c.made); }
    SECTION("where the norm would lie") { c.g.share(between, c.norm); }
    CHECK(halves_of(planned_by_host(c.g)) == std::pair{1, 1});
}

TEST_CASE("fewer columns never need more workspace than the bound of more", "[plan][begun]") {
    std::int64_t before = 0;
    for (const std::int64_t columns : {1, 2, 7, 8, 9, 16}) {
        CAPTURE(columns);
        two_launches c(columns);
        graph_index index;
        REQUIRE(index.build(c.g.view()).ok());
        const slot_map slots(index);
        CHECK(slots.bound() >= before);
        before = slots.bound();
        CHECK(planned_by_host(c.g).workspace_bytes() <= before);
    }
}

namespace {

/// Faults of the launch that begins a norm, of dense matrices or of experts, and of the one that
/// ends it.
std::vector<fault> faults_of_begun_norms(bool experts) {
    const auto beginning = [](auto f) {
        return in_member([f](matvec_member& m) { return m.begun_weight != nullptr && f(m); });
    };
    const auto ending = [](auto f) {
        return put_fault([f](plan_faults& p, std::size_t s) {
            return p.is_group(s) && p.at(s).what.product().ends_norm && f(p, s);
        });
    };
    const auto chain_of = [](plan_faults& p, std::size_t s) -> planned_chain& {
        return p.chains()[static_cast<std::size_t>(p.at(s).chain)];
    };
    return {
        {"a norm begun without its weight",
         beginning([](matvec_member& m) { return drop(m.begun_weight); })},
        {"a norm begun with a weight of other rows",
         beginning([](matvec_member& m) { return shift(m.begun_weight, 4); })},
        {"a norm begun with a misaligned weight",
         beginning([](matvec_member& m) { return shift(m.begun_weight, 2); })},
        {"a norm begun with what is no weight",
         beginning([](matvec_member& m) { return (m.begun_weight = m.residual) != nullptr; })},
        {"the input of a norm that is begun and not written",
         beginning([](matvec_member& m) { return drop(m.dst); })},
        {"a norm ended with another eps",
         ending([](plan_faults& p, std::size_t s) { return (p.head(s).eps *= 2) > 0; })},
        {"a norm that is begun, at other distances",
         ending([](plan_faults& p, std::size_t s) { return (p.head(s).x_bytes += 36) > 0; })},
        {"a norm that is begun and not ended", ending([](plan_faults& p, std::size_t s) {
             return std::exchange(p.at(s).what.product().ends_norm, false);
         })},
        {"a value that is ended as if it were a norm",
         [](plan_faults& p, std::size_t s) {
             if (!reads_workspace(p, s) || p.at(s).what.product().ends_norm) return false;
             return p.at(s).what.product().ends_norm = true;
         }},
        {"squares in the slot of a value that is read meanwhile",
         ending([=](plan_faults& p, std::size_t s) {
             const step& begins = p.at(static_cast<std::size_t>(chain_of(p, s).made_by));
             const planned_chain& read = p.chains()[static_cast<std::size_t>(begins.chain)];
             // The first row of q8_1 that its launch reads lies where the squares end.
             chain_of(p, s).workspace_offset[0] = read.workspace_offset[0];
             return true;
         })},
        {"a workspace that ends before the squares", ending([=](plan_faults& p, std::size_t s) {
             p.workspace_bytes() = chain_of(p, s).workspace_offset[0] +
                                   p.head(s).columns * q8_1_row_bytes(p.head(s).k);
             return true;
         })},
        {"a norm begun by a row that begins none",
         [experts](plan_faults& p, std::size_t s) {
             if (!p.is_group(s) || !p.at(s).what.product().begins_norm) return false;
             const row& own = p.p.rows().rows[p.at(s).row];
             for (int r = 0; r < p.p.rows().row_count; ++r) {
                 const row& other = p.p.rows().rows[r];
                 if (other.computes.kind() != skeleton::matvec) continue;
                 const product_computation& c = other.computes.product();
                 const matvec_policy& how = other.policy.matvec();
                 const bool serves =
                     experts ? slots_added(how) > 1 : how.columns >= p.head(s).columns;
                 if (!c.weights.contains(own.computes.product().weights) ||
                     c.epilogue != own.computes.product().epilogue || !c.stages.empty() ||
                     !serves || begins_norms(how, experts))
                     continue;
                 p.give_row(s, r);
                 return true;
             }
             return false;
         }},
    };
}

}  // namespace

TEST_CASE("the proof finds each fault of a norm of two launches", "[plan][begun]") {
    two_launches dense;
    summed_case of_experts{.tokens = 2};
    const bool experts = GENERATE(false, true);
    options asked;
    asked.verify = false;
    const graph_view view = (experts ? of_experts.g : dense.g).view();
    const table host = shipped_table();
    const plan made = planner(host, asked).plan(view);
    REQUIRE(halves_of(made) == std::pair{1, 1});
    REQUIRE(verify(view, made).proved);
    for (const fault& f : faults_of_begun_norms(experts)) {
        CAPTURE(f.name, experts);
        int put = 0;
        for (std::size_t s = 0; s < made.steps().size(); ++s) {
            plan broken = made;
            plan_faults inside{broken};
            if (!f.put(inside, s)) continue;
            ++put;
            const verification found = verify(view, broken);
            CHECK_FALSE(found.state.ok());
            if (!found.state.ok()) UNSCOPED_INFO(found.state.message);
        }
        CHECK(put > 0);
    }
}
