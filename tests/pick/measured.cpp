// Medians that were measured decide over the cost model, for their problem and no other.
#include "catena/pick/measured_file.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <locale>
#include <set>
#include <string>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

const product_problem one = matvec_problem(4096, {{format::q4_K, 4096}});
const product_problem other = matvec_problem(4096, {{format::q4_K, 4128}});

/// Rows of the toy table that serve `one`: 3 (narrow), 4 (wide), 5 and 6 (with q6_K).
table with(const std::vector<measurement>& medians) {
    table t = toy_table();
    t.measured = medians.data();
    t.measured_count = static_cast<int>(medians.size());
    return t;
}

limit why_not(const choice& c, int row) {
    for (const rejection& r : c.rejected)
        if (r.row == row) return r.why;
    return limit::none;
}

struct text_file {
    std::string path = "measured_rows.txt";
    explicit text_file(const std::string& text) { std::ofstream(path) << text; }
    ~text_file() { std::remove(path.c_str()); }
};

std::string key_of(const problem& p) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(problem_key(p)));
    return text;
}

}  // namespace

TEST_CASE("a row that was measured slow loses to one that was measured fast", "[measured]") {
    REQUIRE(pick(one, toy_table()).row == 3);
    const std::vector<measurement> medians = {{problem_key(one), 3, 9, 0},
                                              {problem_key(one), 4, 8, 0}};
    const choice c = choose(one, with(medians));
    CHECK(c.best.row == 4);
    CHECK(c.best.measured);
    CHECK(c.best.predicted_us == 8);
    CHECK(why_not(c, 3) == limit::measured_slower);
}

TEST_CASE("a prediction does not displace a measurement of a row that is predicted as fast",
          "[measured]") {
    const std::vector<measurement> medians = {{problem_key(one), 6, 1e6f, 0}};
    const choice c = choose(one, with(medians));
    CHECK(c.best.row == 6);
    CHECK(why_not(c, 3) == limit::unmeasured);
}

TEST_CASE("a prediction displaces a median that it undercuts, and so does the row's prediction",
          "[measured]") {
    using detail::displaces;
    CHECK(displaces(7.9, 10, 10));
    CHECK_FALSE(displaces(8.1, 10, 12));  // too near to the median
    CHECK_FALSE(displaces(8.1, 12, 10));  // too near to the prediction of that row
}

TEST_CASE("a row that the set prefers needs no measurement to displace one", "[measured]") {
    const std::vector<measurement> medians = {{problem_key(one), 6, 1e-3f, 0}};
    table t = with(medians);
    const preferred_row few[] = {{{.k = 4096}, 4}};
    t.preferred = few;
    t.preferred_count = 1;
    const choice c = choose(one, t);
    CHECK(c.best.row == 4);
    CHECK(why_not(c, 6) == limit::not_preferred);
}

TEST_CASE("a measurement says nothing about another problem", "[measured]") {
    const std::vector<measurement> medians = {{problem_key(one), 6, 1e-3f, 0}};
    CHECK(pick(other, with(medians)).row == pick(other, toy_table()).row);
    CHECK_FALSE(pick(other, with(medians)).measured);
}

TEST_CASE("a measured row that may not run is not picked", "[measured]") {
    const product_problem two = matvec_problem(4096, {{format::q4_K, 4096}}, 2);
    const std::vector<measurement> medians = {{problem_key(two), 3, 1, 0}};  // serves one column
    CHECK(pick(two, with(medians)).row == 4);
}

TEST_CASE("a row that a tuner found is picked by its medians, never by the model", "[measured]") {
    std::vector<row> rows(toy_rows, toy_rows + toy_row_count);
    rows[3].evidence = {.kind = provenance_kind::measured, .by_medians = true};
    std::vector<measurement> medians = {{problem_key(one), 3, 9, 0}, {problem_key(one), 4, 10, 0}};
    table t = with(medians);
    t.rows = rows.data();
    CHECK(pick(one, t).row == 3);
    CHECK(pick(one, t).model_row == 5);
    table without = t;
    without.measured_count = 0;
    CHECK(pick(one, without).row == 5);
    CHECK(pick(one, t).model_us == pick(one, without).predicted_us);
    REQUIRE(pick(other, toy_table()).row == 3);
    CHECK(pick(other, t).row == 5);
    CHECK(pick(other, t).model_row == 5);
    CHECK(why_not(choose(other, t), 3) == limit::medians_alone);
    const preference measured{.measured_only = true};
    CHECK(pick(one, t, measured).row == 3);
    CHECK(pick(other, t, measured).row == -1);
}

TEST_CASE("medians do not choose the accumulation order of the same bits", "[measured]") {
    std::vector<row> rows(toy_rows, toy_rows + toy_row_count);
    rows[3].order = 7;  // which no row for more columns has
    product_problem alone = one, two = one;
    alone.tokens = 1;
    two.columns = two.tokens = 2;
    const std::vector<measurement> medians = {{problem_key(alone), 3, 9, 0},
                                              {problem_key(alone), 4, 10, 0}};
    table t = with(medians);
    t.rows = rows.data();
    rows[3].evidence = {.kind = provenance_kind::measured, .by_medians = true};
    REQUIRE(pick(alone, t).row == 3);
    const preference same{.same_bits = true};
    CHECK(pick(alone, t, same).row == 4);
    CHECK(pick(two, t, same).row == 4);
}

TEST_CASE("a matmul's measurement is one of its class of columns", "[measured]") {
    product_problem p = matvec_problem(4096, {{format::q4_K, 4096, 8}}, 16);
    p.needs.kind = skeleton::matmul;
    const auto with_columns = [&p](std::int64_t columns) {
        product_problem q = p;
        q.columns = q.expert ? 2 * columns : columns;
        q.tokens = q.expert ? columns : 0;
        return problem_key(q);
    };
    for (const bool expert : {false, true}) {
        p.expert = expert;
        std::set<std::uint64_t> classes;
        for (const auto& [first, last] :
             {std::pair{9, 16}, {17, 32}, {33, 64}, {65, 128}, {129, 256}, {257, 9999}}) {
            CHECK(with_columns(first) == with_columns(last));
            CHECK(classes.insert(with_columns(first)).second);
        }
    }
    p.needs.kind = skeleton::matvec;
    CHECK(with_columns(4) != with_columns(3));
}

/// Changes one field after the other of a problem; every key is another one.
template <class Problem>
class every_field {
  public:
    explicit every_field(const Problem& p) : p_(p), keys_{problem_key(p)} {}

    template <class Set>
    void with(Set set) {
        Problem q = p_;
        set(q);
        keys_.insert(problem_key(q));
        CHECK(keys_.size() == ++changes_);
    }

  private:
    Problem p_;
    std::set<std::uint64_t> keys_;
    std::size_t changes_ = 1;
};

TEST_CASE("every field of a row step's problem is in its key", "[measured]") {
    every_field keys(norm_problem(4096));
    for (const stage_kind kind : row_stages) {
        if (norm_problem(4096).needs.stages.has(kind)) continue;
        keys.with([&](row_problem& q) { q.needs.stages = q.needs.stages | kind; });
    }
    keys.with([](row_problem& q) { q.needs.emits = format_set::of(format::f32); });
    keys.with([](row_problem& q) { q.needs.own = true; });
    keys.with([](row_problem& q) { q.sum = true; });
    keys.with([](row_problem& q) { q.k = 1; });
    keys.with([](row_problem& q) { q.rows = 7; });
    keys.with([](row_problem& q) { q.quant_k = 1; });
    keys.with([](row_problem& q) { q.slots = 8; });
    keys.with([](row_problem& q) { q.positions = 8; });
    keys.with([](row_problem& q) { q.positions = 9; });
    keys.with([](row_problem& q) { q.stored = 3; });
    keys.with([](row_problem& q) { q.values = 7 * 64; });
    keys.with([](row_problem& q) { q.values = 7 * 64, q.least_k = 32; });
    keys.with([](row_problem& q) { q.values = 7 * 64, q.stored_values = 64; });
    keys.with([](row_problem& q) { q.alignment = 2; });
}

TEST_CASE("every field of a product's problem is in its key", "[measured]") {
    every_field keys(one);
    keys.with([](product_problem& q) { q.needs.kind = skeleton::matmul; });
    keys.with([](product_problem& q) { q.needs.stages = stage_set::of(stage_kind::rms_norm); });
    keys.with([](product_problem& q) { q.needs.emits = q8; });
    keys.with([](product_problem& q) { q.needs.activation = format::f32; });
    keys.with([](product_problem& q) { q.needs.weights = q6; });
    keys.with([](product_problem& q) { q.needs.epilogue = {1}; });
    keys.with([](product_problem& q) { q.needs.own = true; });
    keys.with([](product_problem& q) { q.expert = true; });
    keys.with([](product_problem& q) { q.k = 1; });
    keys.with([](product_problem& q) { q.gate_k = 64; });
    keys.with([](product_problem& q) { q.columns = 7; });
    keys.with([](product_problem& q) { q.tokens = 1; });
    keys.with([](product_problem& q) { q.ends_norm = true; });
    keys.with([](product_problem& q) { q.begins_norm = true; });
    keys.with([](product_problem& q) { q.ends_norm = q.begins_norm = true; });
    keys.with([](product_problem& q) { q.alignment = 2; });
    keys.with([](product_problem& q) { q.member_count = 2; });
    keys.with([](product_problem& q) { q.member[0].type = format::q6_K; });
    keys.with([](product_problem& q) { q.member[0].rows = 1; });
    keys.with([](product_problem& q) { q.member[0].experts = 1; });
    keys.with([](product_problem& q) { q.member[0].epilogue = {1}; });
    keys.with([](product_problem& q) { q.member[0].written = false; });
}

TEST_CASE("a file of medians is laid over a table", "[measured]") {
    const text_file text("# a comment\n" + row_name(toy_table(), 4) + " " + key_of(one) +
                         " 8.5 0.01\nmul_mat.q4_K.gone.toy " + key_of(one) + " 1 0\n" +
                         row_name(toy_table(), 3) + " " + key_of(one) + " 9 0.02\n");
    measured_file file;
    const status read = file.read(text.path.c_str(), toy_table());
    INFO(read.message);
    REQUIRE(read.ok());
    CHECK(file.size() == 2);
    CHECK(file.passed_over() == 1);
    CHECK(pick(one, file.over(toy_table())).row == 4);
    CHECK(pick(one, file.over(toy_table())).predicted_us == 8.5);
}

TEST_CASE("a table keeps its medians of problems that a file does not name", "[measured]") {
    const text_file text(row_name(toy_table(), 4) + " " + key_of(one) + " 8.5 0.01\n");
    std::vector<measurement> medians = {{problem_key(one), 3, 1, 0}, {problem_key(other), 3, 2, 0}};
    std::sort(medians.begin(), medians.end(),
              [](const auto& a, const auto& b) { return a.problem < b.problem; });
    measured_file file;
    REQUIRE(file.read(text.path.c_str(), with(medians)).ok());
    CHECK(file.size() == 1);
    const table t = file.over(with(medians));
    CHECK(t.measured_count == 2);
    CHECK(pick(one, t).predicted_us == 8.5);
    CHECK(pick(other, t).predicted_us == 2);
    CHECK(pick(other, t).row == 3);
}

TEST_CASE("a file of medians reads the same wherever the engine's users live", "[measured]") {
    struct comma : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
    };
    const std::locale before = std::locale::global({std::locale::classic(), new comma});
    const text_file text(row_name(toy_table(), 4) + " " + key_of(one) + " 8.5 0.01\n");
    measured_file file;
    const status read = file.read(text.path.c_str(), toy_table());
    std::locale::global(before);
    INFO(read.message);
    REQUIRE(read.ok());
    CHECK(pick(one, file.over(toy_table())).predicted_us == 8.5);
}

TEST_CASE("a file of an engine's medians is laid over a table, which keeps its rows'",
          "[measured]") {
    const text_file text("engine 000000000000002a 7.5 8\nengine 0000000000000007 1 2\n");
    measured_file file;
    REQUIRE(file.read(text.path.c_str(), toy_table()).ok());
    CHECK(file.size() == 2);
    const std::vector<measurement> medians = {{problem_key(one), 6, 1, 0}};
    const table t = file.over(with(medians));
    CHECK(t.measured_count == 1);
    REQUIRE(t.engine_count == 2);
    CHECK(t.engine[0].steps == 7);
    CHECK(t.engine[1].steps == 42);
    CHECK(t.engine[1].engine_us == 7.5f);
    CHECK(t.engine[1].catena_us == 8);
}

TEST_CASE("a file's verdicts on whole models are laid over a table", "[measured]") {
    const text_file text("models q4_K+q6_K 17 32 0.93 there.json\nmodels q8_0 9 9 0.5 here.json\n");
    measured_file read;
    REQUIRE(read.read(text.path.c_str(), toy_table()).ok());
    const measured_file file = std::move(read);
    CHECK(file.size() == 2);
    const table t = file.over(toy_table());
    REQUIRE(t.verdict_count == 2);
    CHECK(t.verdicts[0].weights == (format_set::of(format::q4_K) | format::q6_K));
    CHECK(t.verdicts[0].least == 17);
    CHECK(t.verdicts[0].most == 32);
    CHECK(t.verdicts[0].ratio == 0.93f);
    CHECK(std::string(t.verdicts[0].record) == "there.json");
    CHECK(std::string(t.verdicts[1].record) == "here.json");
    CHECK(t.engine_count == 0);
}

TEST_CASE("a file of medians that cannot be read is refused with file and line", "[measured]") {
    measured_file file;
    CHECK_THAT(file.read("no such file", toy_table()).message,
               Catch::Contains("no such file cannot be read"));
    CHECK_THAT(file.read("/", toy_table()).message,
               Catch::Contains("/ cannot be read: Is a directory"));
    const std::string four = "expected four words", key = "field 'key': expected 16 hex digits",
                      us = "field 'us': expected a number above 0",
                      steps = "field 'us of the steps': expected a number above 0",
                      spread = "field 'spread': expected a number from 0 on",
                      whole = "000000000000002a", six = "expected six words",
                      formats = "field 'formats': expected formats of weights",
                      columns = "fields 'least', 'most': expected two numbers",
                      ratio = "field 'ratio': expected a number between 0 and 1";
    const std::pair<std::string, std::string> wrong[] = {{"row", four},
                                                         {"engine " + whole + " 1", four},
                                                         {"engine " + whole + " 1 2 junk", four},
                                                         {"row " + whole + " 1 0 0", four},
                                                         {"row 000000000000xyzk 1 0", key},
                                                         {"row -1 1 0", key},
                                                         {"engine -00000000000002a 1 2", key},
                                                         {"row 0x72 1 0", key},
                                                         {"row 0x0000000000002a 1 0", key},
                                                         {"row 2a 1 0", key},
                                                         {"row " + whole + "0 1 0", key},
                                                         {"row " + whole + " 0 0", us},
                                                         {"row " + whole + " -1 0", us},
                                                         {"row " + whole + " nan 0", us},
                                                         {"row " + whole + " inf 0", us},
                                                         {"row " + whole + " 1e99 0", us},
                                                         {"row " + whole + " 0x72 0", us},
                                                         {"row " + whole + " 1,5 0", us},
                                                         {"engine " + whole + " 0 1", us},
                                                         {"engine " + whole + " 12.5 0", steps},
                                                         {"engine " + whole + " 12.5 -1", steps},
                                                         {"engine " + whole + " 12.5 1us", steps},
                                                         {"models q4_K 17 32 0.9", six},
                                                         {"models q4_K 17 32 0.9 a b", six},
                                                         {"models q4_K 17 x 0.9 a", six},
                                                         {"models q4_K 17 4294967297 0.9 a", six},
                                                         {"models q4_X 17 32 0.9 a", formats},
                                                         {"models q8_1 17 32 0.9 a", formats},
                                                         {"models + 17 32 0.9 a", formats},
                                                         {"models q4_K 0 32 0.9 a", columns},
                                                         {"models q4_K 33 32 0.9 a", columns},
                                                         {"models q4_K 17 32 1 a", ratio},
                                                         {"models q4_K 17 32 0,9 a", ratio},
                                                         {"row " + whole + " 1 -1", spread},
                                                         {"row " + whole + " 1 0.1%", spread}};
    for (const auto& [line, field] : wrong) {
        CAPTURE(line);
        const text_file text("# first\n" + line + "\n");
        const status read = file.read(text.path.c_str(), toy_table());
        CHECK_FALSE(read.ok());
        CHECK_THAT(read.message, Catch::Contains("measured_rows.txt:2: " + field));
        CHECK(file.size() == 0);
    }
}
