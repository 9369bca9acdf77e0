#include "cases.hpp"

#include "catena/plan/explain_text.hpp"
#include "catena/plan/sentences.hpp"

#include <sstream>

using namespace catena;
using namespace catena_test;

TEST_CASE("a report tells chains, steps, rejected rows and what stayed", "[report]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({c.mul});
    c.g.matmul(format::mxfp4, 64, c.mul);
    const plan p = checked_plan(c.g);
    const explanation e = p.explain();
    CHECK(e.state.ok());
    CHECK(e.arch == "toy");
    CHECK(e.nodes == 5);
    CHECK(e.launches == 2);
    CHECK(e.engine_launches == 2);
    CHECK(e.workspace_bytes == p.workspace_bytes());
    REQUIRE(e.chains.size() == 1);
    CHECK(e.chains[0].name == "norm.q4_q6");
    CHECK(e.chains[0].served == std::vector<std::int32_t>{2});
    CHECK(e.chains[0].steps == std::vector<std::int32_t>{0, 1});
    REQUIRE(e.steps.size() == 2);
    CHECK(e.steps[0].instance == "scale_add_rms_norm_mul.f32_q8_1.t128_v16_vec.toy");
    CHECK(e.steps[1].instance == "matvec.q4_K.t64_r2_c1_p1024_plain2.toy");
    for (std::size_t i = 0; i < e.steps.size(); ++i) {
        const explained_step& s = e.steps[i];
        const choice c = p.choice_of(static_cast<int>(i));
        CHECK(c.best.row == p.steps()[i].row);
        CHECK(c.rejected.size() == toy_row_count - 1);
        CHECK(rejected_rows(c, p.rows()).size() == toy_row_count - 1);
        CHECK(s.predicted_us >= s.attainable_us);
        CHECK(s.bytes == bytes_of(s.what));
    }
    CHECK(e.bytes == e.steps[0].bytes + e.steps[1].bytes);
    REQUIRE(e.not_fused.size() == 1);
    CHECK(e.not_fused[0].node == 4);
    CHECK(e.not_fused[0].why == reason::format_not_in_chain);
    CHECK(e.not_fused[0].sentence == "the chain lists no matrix of this format");
}

TEST_CASE("a report prints: totals, steps, norms and what stayed, each like line once",
          "[report]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({c.mul});
    for (int i = 0; i < 2; ++i) c.g.matmul(format::mxfp4, 64, c.mul);
    const explanation e = checked_plan(c.g).explain();
    const std::string text = to_string(e);
    for (const std::string& line :
         {std::string("arch        toy (Toy 4)\n"), std::string("nodes       6\n"),
          std::string("launches    2 of Catena, 3 of the engine\n"),
          "workspace   " + std::to_string(e.workspace_bytes) + " bytes\n",
          "\nsteps\n     1 x  " + e.steps[0].instance + ": " + work(e.steps[0].what) +
              "  (first at node 1)\n",
          std::string("\nnot fused, or not as far\n     2 x  the chain lists no matrix of this "
                      "format  (first at node 4)\n")}) {
        INFO(line << text);
        CHECK(text.find(line) != std::string::npos);
    }
    std::ostringstream streamed;
    streamed << e;
    CHECK(streamed.str() == text);
    CHECK(work(e.steps[1].what) == "64 q4_K rows of 512, 1 column");

    explanation bad;
    bad.state = failure(status_code::no_instances, "the table has no rows");
    CHECK(to_string(bad) == "all is left to the engine: the table has no rows\n");
}

TEST_CASE("what no row served is told with the rejection that came closest", "[report]") {
    graph_builder g;
    g.matmul(format::q4_K, 64, g.scaled_norm(g.input(format::f32, {512, 6})));
    const explanation e = checked_plan(g).explain();
    REQUIRE(e.not_fused.size() == 2);
    CHECK(e.not_fused[1].sentence ==
          "no row of the table serves it; the nearest: 6 columns; it serves at most 4");
}

TEST_CASE("what a launch that recalls has to do is told by heads and tokens", "[report]") {
    row_problem p;
    p.needs.stages = stage_set::of(stage_kind::delta_rule);
    p.k = 128, p.rows = 512, p.slots = 1;
    CHECK(work(p) == "32 heads of 128 recalled for 1 token");
    p.k = p.rows * 8, p.slots = 4;
    CHECK(work(p) == "1 head of 4096 recalled for 4 tokens");
}

TEST_CASE("every reason and every limit has a sentence without open places", "[report]") {
    for (int r = 0; r <= static_cast<int>(reason::taken); ++r) {
        const std::string s = sentence(obstacle{0, static_cast<reason>(r), 1, 2});
        CHECK(!s.empty());
        CHECK(s.find('{') == std::string::npos);
    }
    for (int l = 0; l <= static_cast<int>(limit::slower); ++l) {
        const std::string s = sentence(rejection{0, static_cast<limit>(l), 1, 2});
        CHECK(!s.empty());
        CHECK(s.find('{') == std::string::npos);
    }
}

TEST_CASE("a malformed graph and a table without rows are the engine's, with the reason",
          "[report]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    SECTION("graph") {
        c.g[c.x].ne[0] = -5;
        const plan p = planner(toy_table()).plan(c.g.view());
        CHECK(p.state().code == status_code::invalid_argument);
        CHECK(std::string(p.state().message).find("ne[0] is -5") != std::string::npos);
        CHECK(p.size() == 3);
        for (int i = 0; i < p.size(); ++i) CHECK(p.at(i).role == role::engine);
        CHECK(p.launch(0, nullptr, nullptr).ok());
        CHECK(p.explain().state.code == status_code::invalid_argument);
    }
    SECTION("table") {
        const plan p = planner(table{}).plan(c.g.view());
        CHECK(p.state().code == status_code::no_instances);
        CHECK(p.size() == 3);
        CHECK(p.explain().nodes == 3);
    }
    SECTION("rows without an arch") {
        table t = toy_table();
        t.target = nullptr;
        CHECK(planner(t).plan(c.g.view()).state().code == status_code::no_instances);
    }
    SECTION("a state of the table is handed on") {
        table t = toy_table();
        t.state = failure(status_code::no_instances, "no instances for sm_61; built in: sm_90");
        CHECK(std::string(planner(t).plan(c.g.view()).state().message) ==
              "no instances for sm_61; built in: sm_90");
    }
}
