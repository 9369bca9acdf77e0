// What an engine or a user in trouble may ask of a planner, and what a plan tells about itself.
#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/log.hpp"
#include "catena/runtime.hpp"

#include "cases.hpp"

#include <cstdio>
#include <cstdlib>

using namespace catena;
using namespace catena_test;
using Catch::Contains;

namespace {

/// Sets variables as long as it lives.
class environment {
  public:
    environment(std::initializer_list<std::pair<const char*, const char*>> all) {
        for (const auto& [name, value] : all) {
            names_.push_back(name);
            setenv(name, value, 1);
        }
    }
    ~environment() {
        for (const char* name : names_) unsetenv(name);
    }
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

  private:
    std::vector<const char*> names_;
};

/// A norm whose q4_K readers can be served, and a matmul that cannot.
struct mixed_case : norm_case {
    id a = g.matmul(format::q4_K, 64, mul);
    id b = g.matmul(format::q4_K, 32, mul);
    id foreign = g.matmul(format::mxfp4, 64, mul);
};

plan plan_of(graph_builder& g, const options& asked) {
    return planner(toy_table(), asked).plan(g.view());
}

/// The chain of step i, as tables call it.
std::string chain_of(const plan& p, std::size_t i) {
    const planned_chain& c = p.chains()[static_cast<std::size_t>(p.steps()[i].chain)];
    return p.rows().chains[c.chain].name;
}

bool all_engine(const plan& p) {
    for (int i = 0; i < p.size(); ++i)
        if (p.at(i).role != role::engine || p.at(i).step >= 0) return false;
    return p.steps().size() == 0;
}

void keep(const char* text, void* lines) {
    static_cast<std::vector<std::string>*>(lines)->push_back(text);
}

/// Rows that want 16-byte aligned weights, and the plain one.
table aligned_table() {
    static const row rows[] = {
        row_of(norm_row, kept_row), row_of(norm_row, plain_row),
        row_of(matvec_of(q4), matvec_policy{.threads = 64,
                                            .rows = 2,
                                            .columns = 4,
                                            .piece = 1024,
                                            .stages = 2,
                                            .copy = copy_method::bulk}),
        row_of(matvec_of(q4),
               matvec_policy{.threads = 64, .rows = 1, .columns = 4, .piece = 1024, .stages = 2})};
    table t = toy_table();
    t.rows = rows;
    t.row_count = 4;
    return t;
}

}  // namespace

TEST_CASE(
    "a chain is switched off by its name, alone or with its kind, or for matrices of one format",
    "[controls]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.matmul(format::q8_0, 64, c.g.scaled_norm(c.g.input(format::f32, {512})));
    const auto steps = [&](const char* names) {
        options o;
        o.chains_off = names;
        const plan p = plan_of(c.g, o);
        REQUIRE(p.state().ok());
        return steps_of(p);
    };
    CHECK(steps("") == "1: 0 1, 2: 2, 4: 3 4, 5: 5");
    CHECK(steps("norm") == "2:, 2: 2, 5:, 5: 5");
    CHECK(steps("norm.q8") == "1: 0 1, 2: 2, 5:, 5: 5");
    CHECK(steps("norm.q4_K") == "2:, 2: 2, 4: 3 4, 5: 5");
    CHECK(steps(" norm.q8 ,\tvalue.q8") == "1: 0 1, 2: 2");
    CHECK(steps("norm,value,residual") == "");
}

TEST_CASE("a name that no chain has is an error that lists the names", "[controls]") {
    mixed_case c;
    for (const char* name : {"norms", "nor", "norm.q4", "norm.", "norm,residual,norm.q5"}) {
        options o;
        o.chains_off = name;
        const plan p = plan_of(c.g, o);
        CHECK(p.state().code == status_code::invalid_argument);
        CHECK(all_engine(p));
    }
    options o;
    o.chains_off = "norm,input_norm";
    CHECK(
        std::string(plan_of(c.g, o).state().message) ==
        "CATENA_CHAINS_OFF (options::chains_off): no chain is called 'input_norm': take from norm, "
        "residual, value");
}

TEST_CASE("more chains than bits of a word can be switched off", "[controls]") {
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i) names.push_back("chain_" + std::to_string(i) + ".q4_q6");
    std::vector<lowered_chain> chains;
    for (const std::string& name : names) chains.push_back(chain_of(name.c_str(), false, true, q4));
    table t = toy_table();
    t.chains = chains.data();
    t.chain_count = static_cast<int>(chains.size());
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    options o;
    for (int i = 0; i < 99; ++i) o.chains_off += "chain_" + std::to_string(i) + ",";
    const plan last = planner(t, o).plan(c.g.view());
    REQUIRE(last.chains().size() == 1);
    CHECK(last.chains()[0].chain == 99);
    o.chains_off += "chain_99";
    CHECK(planner(t, o).plan(c.g.view()).steps().size() == 0);
}

TEST_CASE("the environment changes options, and only where it is set", "[controls]") {
    options base;
    base.pick.same_bits = true;
    base.chains_off = "value";
    {
        const options o = options::from_environment(base);
        CHECK(o.state.ok());
        CHECK(o.enabled);
        CHECK(o.pick.same_bits);
        CHECK(!o.pick.measured_only);
        CHECK(!o.error_on_fallback);
        CHECK(o.log == log_level::off);
        CHECK(o.chains_off == "value");
    }
    const environment set{{"CATENA_ENABLED", "0"},       {"CATENA_CHAINS_OFF", "norm.q8,residual"},
                          {"CATENA_MEASURED_ONLY", "1"}, {"CATENA_SAME_BITS", "0"},
                          {"CATENA_LOG", "steps"},       {"CATENA_ERROR_ON_FALLBACK", "1"},
                          {"CATENA_MAX_COLUMNS", "8"},   {"CATENA_DEPENDENT_LAUNCH", "0"}};
    const options o = options::from_environment(base);
    CHECK(o.state.ok());
    CHECK(!o.enabled);
    CHECK(!o.pick.same_bits);
    CHECK(o.pick.measured_only);
    CHECK(o.error_on_fallback);
    CHECK(o.log == log_level::steps);
    CHECK(o.pick.max_columns == 8);
    CHECK(!o.pick.dependent_launch);
    CHECK(o.chains_off == "value,norm.q8,residual");
    const environment empty{{"CATENA_ENABLED", ""}, {"CATENA_LOG", ""}, {"CATENA_CHAINS_OFF", ""}};
    CHECK(options::from_environment().state.ok());
    CHECK(options::from_environment().enabled);
    CHECK(options::from_environment().log == log_level::off);
    CHECK(options::from_environment().chains_off == "");
}

TEST_CASE("an engine may ask for matmuls of few columns alone", "[controls]") {
    graph_builder g;
    const std::int64_t columns = GENERATE(2, 3);
    g.other({g.matmul(format::q4_K, 64, g.scaled_norm(g.input(format::f32, {512, columns})))});
    options asked;
    CHECK(plan_of(g, asked).steps().size() == 2);
    asked.pick.max_columns = 2;
    const plan p = plan_of(g, asked);
    CHECK(p.steps().size() == (columns == 2 ? 2 : 0));
    if (columns == 2) return;
    bool said = false;
    for (const left_node& l : p.explain().not_fused)
        said = said || l.sentence.find("3 columns; the options leave more than 2 to the engine") !=
                           std::string::npos;
    CHECK(said);
}

TEST_CASE("an engine may ask for kernels one after the other", "[controls]") {
    mixed_case c;
    options asked;
    const auto early = [&] {
        int n = 0;
        const plan made = plan_of(c.g, asked);
        for (const step& s : made.steps()) n += s.config.dependent ? 1 : 0;
        return n;
    };
    CHECK(early() == 2);
    asked.pick.dependent_launch = false;
    CHECK(early() == 0);
}

TEST_CASE("nothing but from_environment reads the environment", "[controls]") {
    const environment set{{"CATENA_ENABLED", "0"}, {"CATENA_CHAINS_OFF", "norm"}};
    mixed_case c;
    CHECK(plan_of(c.g, {}).steps().size() == 2);
}

TEST_CASE("a wrong value of a variable is never ignored", "[controls]") {
    mixed_case c;
    const auto message = [&](const char* name, const char* value) -> std::string {
        const environment set{{name, value}};
        const plan p = plan_of(c.g, options::from_environment());
        CHECK(p.state().code == status_code::invalid_argument);
        CHECK(all_engine(p));
        return p.state().message;
    };
    for (const char* name :
         {"CATENA_ENABLED", "CATENA_MEASURED_ONLY", "CATENA_SAME_BITS", "CATENA_ERROR_ON_FALLBACK"})
        for (const char* value : {"yes", "2", " 1", "10"})
            CHECK(message(name, value) ==
                  std::string(name) + " is '" + value + "': set it to 0 or 1, or unset it");
    for (const char* value : {"-1", "8 columns", "1000000000"})
        CHECK(message("CATENA_MAX_COLUMNS", value) ==
              std::string("CATENA_MAX_COLUMNS is '") + value +
                  "': set it to a number below 1000000000, or unset it");
    CHECK(message("CATENA_LOG", "1") ==
          "CATENA_LOG is '1': set it to off, summary, steps or times, or unset it");
    CHECK_THAT(message("CATENA_CHAINS_OFF", "nrom"),
               Contains("CATENA_CHAINS_OFF") && Contains("'nrom'") && Contains("norm"));
    const environment two{{"CATENA_ENABLED", "maybe"}, {"CATENA_LOG", "loud"}};
    CHECK_THAT(options::from_environment().state.message, Contains("CATENA_ENABLED"));  // the first
}

TEST_CASE("a plan counts what it serves, what it leaves and why", "[controls]") {
    mixed_case c;
    const id f32 = c.g.matmul(format::f32, 64, c.mul);
    c.g[c.g.matmul(format::q4_K, 64, c.mul)].params[3] = 10;  // f32
    c.g[c.g.matmul(format::q4_K, 64, c.mul)].flags = 0;       // not computed
    const plan p = plan_of(c.g, {});
    CHECK(c.g.position(f32) == 5);
    const plan_counters& n = p.counters();
    CHECK(n.matmuls == 4);
    CHECK(n.served == 2);
    CHECK(n.left[static_cast<int>(reason::format_not_in_chain)] == 1);
    CHECK(n.left[static_cast<int>(reason::activation_precision)] == 1);
    int left = 0;
    for (const std::int32_t l : n.left) left += l;
    CHECK(left == 2);
    CHECK(n.steps == 3);  // and one for the matmul of float weights
    CHECK(n.plain_rows == 0);
    CHECK(!n.stand_in);
    CHECK(n.fallbacks() == 2);
    CHECK(summary(p) ==
          "catena toy: 2 of 4 quantized matmuls in 3 steps; 1 groups, 0 whole, 1 in part; left to "
          "the "
          "engine: 1 format_not_in_chain, 1 activation_precision");
}

TEST_CASE("a group is whole in one launch, partial in two, split in as many as it has members",
          "[controls]") {
    norm_case c;
    const id a = c.g.matmul(format::q4_K, 64, c.mul);
    const id between = c.g.other({c.x});
    const id b = c.g.matmul(format::q4_K, 64, c.mul);
    const auto groups = [&] {
        const plan_counters n = plan_of(c.g, {}).counters();
        return std::vector<int>{n.groups_whole, n.groups_partial, n.groups_split};
    };
    CHECK(groups() == std::vector<int>{1, 0, 0});
    c.g.share(b, c.g[between].src[0]);  // what `between` reads is overwritten if b moves before it
    CHECK(groups() == std::vector<int>{0, 0, 1});
    c.g.matmul(format::q4_K, 32, c.mul);
    CHECK(groups() == std::vector<int>{0, 1, 0});
    CHECK(a >= 0);

    norm_case e;  // the same activation by expert is a group of its own, in whichever launch
    const id ids = e.g.input(format::i32, {2, 1});
    const id x = e.g.reshape(e.mul, {512, 1, 1});
    e.g.matmul(format::q4_K, 64, e.mul);
    e.g.mul_mat_id(e.g.weight(format::q4_K, {512, 64, 4}), x, ids);
    e.g.mul_mat_id(e.g.weight(format::q4_K, {512, 64, 4}), x, ids);
    const plan_counters n = plan_of(e.g, {}).counters();
    CHECK(n.matmuls == 3);
    CHECK(n.groups() == 1);
    CHECK(n.groups_whole == 1);
}

TEST_CASE("a plain row counts as a fallback where its computation has another", "[controls]") {
    norm_case c;
    const id a = c.g.matmul(format::q4_K, 64, c.mul);
    const auto counted = [&](const table& t) { return planner(t).plan(c.g.view()).counters(); };
    CHECK(counted(aligned_table()).plain_rows == 0);
    CHECK(counted(toy_table()).plain_rows == 0);  // its matvecs copy plainly, all of them
    c.g.share(c.g[a].src[0], c.g[a].src[0], 2);   // weights at an odd place
    CHECK(counted(aligned_table()).plain_rows == 1);
    CHECK(counted(aligned_table()).fallbacks() == 1);

    options strict;
    strict.error_on_fallback = true;
    const plan p = planner(aligned_table(), strict).plan(c.g.view());
    CHECK(all_engine(p));
    CHECK(p.state().code == status_code::fallback);
    CHECK_THAT(p.state().message, Contains("node 2 runs on a plain row") &&
                                      Contains("operands are aligned to 2 bytes; it needs 16") &&
                                      Contains("CATENA_ERROR_ON_FALLBACK"));
}

TEST_CASE("a plain row that was measured faster than others is no fallback", "[controls]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    table t = aligned_table();
    const plan before = planner(t).plan(c.g.view());
    const std::uint64_t key = problem_key(before.steps()[1].what);
    const measurement medians[] = {{key, 3, 5, 0}, {key, 2, 6, 0}};
    t.measured = medians;
    t.measured_count = 1;  // the other row was not held against it
    REQUIRE(planner(t).plan(c.g.view()).steps()[1].row == 3);
    CHECK(planner(t).plan(c.g.view()).counters().plain_rows == 1);
    t.measured_count = 2;
    REQUIRE(planner(t).plan(c.g.view()).steps()[1].row == 3);
    CHECK(planner(t).plan(c.g.view()).counters().plain_rows == 0);
}

TEST_CASE("an error on fallback leaves all to the engine and names the first", "[controls]") {
    mixed_case c;
    options strict;
    strict.error_on_fallback = true;
    const plan p = plan_of(c.g, strict);
    CHECK(p.state().code == status_code::fallback);
    CHECK(all_engine(p));
    CHECK(p.size() == 5);
    CHECK(p.counters().fallbacks() == 1);
    CHECK(p.launch(2, nullptr, nullptr).ok());  // nothing starts there
    CHECK(std::string(p.state().message) ==
          "node 4, a matmul of mxfp4, stays with the engine (the chain lists no matrix of this "
          "format): mend that, or clear error_on_fallback (CATENA_ERROR_ON_FALLBACK)");
    CHECK_THAT(summary(p), Contains("all is left to the engine: node 4"));

    norm_case whole;
    whole.g.matmul(format::q4_K, 64, whole.mul);
    CHECK(plan_of(whole.g, strict).state().ok());
    CHECK(plan_of(whole.g, strict).steps().size() == 2);
    strict.enabled = false;  // what was not asked for does not fall back
    CHECK(plan_of(c.g, strict).state().ok());
}

TEST_CASE("another architecture's set is a fallback that is told", "[controls]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    table t = toy_table();
    t.state = failure(status_code::ok, "device 0 is sm_88, which has no set here: toy serves");
    const plan p = planner(t).plan(c.g.view());
    CHECK(p.state().ok());
    CHECK(p.counters().stand_in);
    CHECK_THAT(summary(p), Contains("device 0 is sm_88"));
    options strict;
    strict.error_on_fallback = true;
    const plan none = planner(t, strict).plan(c.g.view());
    CHECK(all_engine(none));
    CHECK_THAT(none.state().message, Contains("sm_88") && Contains("link its own instances"));
}

TEST_CASE("a log has a line for the plan, each step and each obstacle", "[controls]") {
    mixed_case c;
    std::vector<std::string> lines;
    options o;
    o.log_to = {keep, &lines};
    CHECK(plan_of(c.g, o).steps().size() == 2);
    CHECK(lines.empty());
    o.log = log_level::summary;
    const plan p = plan_of(c.g, o);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == summary(p));
    lines.clear();
    o.log = log_level::times;
    CHECK(plan_of(c.g, o).state().ok());
    CHECK(lines == std::vector<std::string>{summary(p)});
    lines.clear();
    o.log = log_level::steps;
    CHECK(plan_of(c.g, o).state().ok());
    REQUIRE(lines.size() == 1 + p.steps().size() + p.left().size());
    const step& first = p.steps()[0];
    char cost[64];
    std::snprintf(cost, sizeof(cost), "%.2f", first.predicted_us);
    CHECK(lines[1] == "  node 1 " + chain_of(p, 0) + ": " + row_name(p.rows(), first.row) +
                          " covers 0 1, " + std::to_string(first.bytes) + " bytes, " + cost +
                          " us predicted");
    CHECK_THAT(lines[2], Contains("node 2 " + chain_of(p, 1) + ": matvec.q4_K.") &&
                             Contains(" covers 2 3, "));
    CHECK(lines[3] == "  node 4 stays with the engine: the chain lists no matrix of this format");
    lines.clear();
    o.enabled = false;
    CHECK(plan_of(c.g, o).state().ok());
    CHECK(lines ==
          std::vector<std::string>{"catena toy: switched off (CATENA_ENABLED, options::enabled)"});
}

TEST_CASE("a step is named after its tensors if its plan is to be logged by steps", "[controls]") {
    mixed_case c;
    c.g[c.mul].name = "attn_norm-3";
    c.g[c.g[c.a].src[0]].name = "blk.3.attn_q.weight";
    c.g[c.g[c.b].src[0]].name = "blk.3.attn_k.weight";
    options o;
    o.log_to = [](const char*) {};
    const auto names = [&](log_level level) {
        o.log = level;
        const plan p = plan_of(c.g, o);
        return std::vector<std::string>{p.step_name(0), p.step_name(1)};
    };
    const plan p = plan_of(c.g, o);
    const std::vector<std::string> bare{"node 1 " + chain_of(p, 0), "node 2 " + chain_of(p, 1)};
    CHECK(names(log_level::summary) == bare);
    for (const log_level level : {log_level::steps, log_level::times})
        CHECK(names(level) ==
              std::vector<std::string>{bare[0] + " attn_norm-3",
                                       bare[1] + " attn_norm-3 -> blk.3.attn_q.weight, "
                                                 "blk.3.attn_k.weight"});
}

TEST_CASE("a log goes to whatever can be called with a line", "[controls]") {
    mixed_case c;
    std::vector<std::string> lines;
    options o;
    o.log = log_level::summary;
    o.log_to = [&lines](const char* text) { lines.emplace_back(text); };
    const plan p = plan_of(c.g, o);
    const std::function<void(std::string)> by_string = [&lines](std::string text) {
        lines.push_back(std::move(text));
    };
    o.log_to = by_string;
    CHECK(plan_of(c.g, o).state().ok());
    log(p, o.log_to);
    REQUIRE(lines.size() == 3 + p.steps().size() + p.left().size());
    for (std::size_t i = 0; i < 3; ++i) CHECK(lines[i] == summary(p));
}
