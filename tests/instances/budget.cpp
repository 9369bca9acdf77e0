// Sets within a budget of machine code: which rows stay, and what is said of the others.
#include "budget.hpp"
#include "catena_catalogue.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::generator;

namespace {

const std::string qwen3 = CATENA_TEST_DATA "/graphs/qwen3-8b-q4km.";
const std::vector<std::string> decode = {qwen3 + "tg1.json.gz"},
                               decode_and_prompt = {qwen3 + "tg1.json.gz", qwen3 + "pp512.json.gz"};

struct test_set {
    catalogue all = catena_catalogue();
    std::vector<json::graph> graphs;
    instance_set set;
    budget within;

    /// The rows of sm_90 that the graphs need, all of one size.
    explicit test_set(const std::vector<std::string>& files = decode) : graphs(graphs_of(files)) {
        std::vector<instance_set> sets = {
            expand_for(*arch_named("sm_90"), computations_of(all), nullptr)};
        keep_needed(sets, all, graphs);
        set = sets.front();
        within.costs.assign(set.rows.size(), 1000);
    }

    std::vector<left_out_row> keep(double most) { return weigh(most).left_out; }
    weighed_set weigh(double most) {
        within.most = most;
        return keep_within(set, within, all, graphs);
    }
};

}  // namespace

TEST_CASE("A budget that has room for every row leaves none out") {
    test_set w;
    const std::size_t rows = w.set.rows.size();
    CHECK(w.keep(1000 * static_cast<double>(rows)).empty());
    CHECK(w.set.rows.size() == rows);
}

TEST_CASE("Within a budget the rows stay that are worth most, and the others say what they are") {
    test_set w;
    const std::size_t rows = w.set.rows.size();
    REQUIRE(rows > 4);
    const weighed_set out = w.weigh(3500);
    CHECK(w.set.rows.size() == 3);
    CHECK(out.cost == 3000);
    CHECK(out.left_out.size() == rows - 3);
    // Most of a step's bytes are weights in q4_K, and most of the engine's launches are those of
    // heads, so the rows that take these over are among the last to go.
    CHECK(std::any_of(w.set.rows.begin(), w.set.rows.end(), [](const row& r) {
        return r.computes.kind() == skeleton::row && has_heads(r.computes.row().stages);
    }));
    CHECK(std::any_of(w.set.rows.begin(), w.set.rows.end(), [](const row& r) {
        return r.computes.kind() == skeleton::matvec &&
               r.computes.product().weights.has(format::q4_K);
    }));
    const std::string text = to_text(out, w.within, *w.set.target);
    CHECK(std::count(text.begin(), text.end(), '\n') ==
          static_cast<std::ptrdiff_t>(out.left_out.size() + 1));
    CHECK(text.find("qwen3-8b-q4km.tg1.json.gz") != text.npos);
}

TEST_CASE("A large row goes before a small one that the graphs would miss less") {
    // Rows that are missed least, all of one size, go one by one until one is missed at all.
    test_set w, before;
    left_out_row least;
    do {
        before = w;
        w.within.costs.assign(w.set.rows.size(), 1000);
        const auto out = w.keep(1000 * static_cast<double>(w.set.rows.size() - 1));
        REQUIRE(out.size() == 1);
        least = out.front();
    } while (least.gains.empty());
    // That one stays when it is a thousandth as large, though the others would fit without it.
    const std::size_t rows = before.set.rows.size();
    before.within.costs.assign(rows, 1000);
    const auto is_least = [&](const row& r) {
        return r.computes == least.what.computes && r.policy == least.what.policy;
    };
    for (std::size_t i = 0; i < rows; ++i)
        if (is_least(before.set.rows[i])) before.within.costs[i] = 1;
    const std::vector<left_out_row> out = before.keep(1000 * static_cast<double>(rows - 1));
    REQUIRE(out.size() == 1);
    CHECK_FALSE(is_least(out[0].what));
}

TEST_CASE("A small row comes back into the room that a large one leaves") {
    // The row worth most is the last to go, for it alone is larger than the budget.
    test_set w, alone;
    alone.keep(1500);
    REQUIRE(alone.set.rows.size() == 1);
    const row best = alone.set.rows.front();
    for (std::size_t i = 0; i < w.set.rows.size(); ++i)
        if (w.set.rows[i].computes == best.computes && w.set.rows[i].policy == best.policy)
            w.within.costs[i] = 5000;
    const std::vector<left_out_row> out = w.keep(4500);
    REQUIRE(!out.empty());
    CHECK(out.front().cost == 5000);
    CHECK(w.set.rows.size() == 4);
}

TEST_CASE("Rows are weighed anew only if a plan launched what went, and the same rows stay") {
    test_set at_once(decode_and_prompt), one_by_one(decode_and_prompt);
    const std::size_t rows = at_once.set.rows.size(), left = 3;
    const weighed_set out = at_once.weigh(1000 * static_cast<double>(left));
    int plans = 0;
    for (std::size_t n = rows - 1; n >= left; --n) {  // each weighs all rows from the beginning
        one_by_one.within.costs.assign(n + 1, 1000);
        plans += one_by_one.weigh(1000 * static_cast<double>(n)).plans;
    }
    REQUIRE(at_once.set.rows.size() == left);
    for (std::size_t i = 0; i < left; ++i) {
        CHECK(at_once.set.rows[i].computes == one_by_one.set.rows[i].computes);
        CHECK(at_once.set.rows[i].policy == one_by_one.set.rows[i].policy);
    }
    CHECK(out.plans < plans * 3 / 4);
}

TEST_CASE("A budget that no row fits is refused, and the smallest row named") {
    test_set w;
    w.within.costs.front() = 900;
    using Catch::Matchers::Contains;
    CHECK_THROWS_WITH(w.keep(800), Contains("no row fits a budget of 800 bytes: ") &&
                                       Contains(".sm_90, the smallest") &&
                                       Contains("takes 900 bytes"));
}

TEST_CASE("A budget of seconds counts the files that a set has, whatever rows are in them") {
    test_set w;
    code_costs costs{std::vector<code_cost>(w.set.rows.size(), {.bytes = 1, .seconds = 2}), 1.5};
    w.within = budget_of_seconds(0, costs);
    w.keep(4.5 + 3 * 2);  // three files and three rows
    CHECK(w.set.rows.size() == 3);
    CHECK_THROWS_WITH(w.keep(6), Catch::Matchers::Contains("a budget of 6.00 s") &&
                                     Catch::Matchers::Contains("takes 6.50 s"));
}
