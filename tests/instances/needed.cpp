// The sets of an engine that knows its models: the rows that plans of their graphs pick.
#include "needed.hpp"
#include "catena_catalogue.hpp"
#include "policies.hpp"
#include "render_set.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <set>

using namespace catena;
using namespace catena::generator;
using Catch::Matchers::Contains;

namespace {

const std::string graphs = CATENA_TEST_DATA "/graphs/";
const std::vector<std::string> of_qwen3 = {graphs + "qwen3-8b-q4km.tg1.json.gz",
                                           graphs + "qwen3-8b-q4km.b4.json.gz",
                                           graphs + "qwen3-8b-q4km.pp512.json.gz"};

/// The set of sm_90, whole.
std::vector<instance_set> sets_of(const catalogue& all) {
    return {expand_for(*arch_named("sm_90"), computations_of(all), nullptr)};
}

/// Matvecs of q4_K as they are compiled with `change`.
std::vector<row> matvecs_of_q4_K(policy_change change) {
    for (const computation& c : computations_of(catena_catalogue()))
        if (c.kind() == skeleton::matvec && c.product().weights == format_set::of(format::q4_K))
            return rows_for(*arch_named("sm_90"), c, change);
    throw std::runtime_error("the catalogue has no matvec of q4_K");
}

/// The steps of a plan by that set: where each is launched, and the row's name.
std::vector<std::string> steps_of(const instance_set& set, const catalogue& all,
                                  const std::string& file) {
    const table t = described(set, all);
    const json::graph graph = json::read(file);
    const plan p = planner{t}.plan(graph.view());
    std::vector<std::string> out;
    for (const step& one : p.steps())
        out.push_back(std::to_string(one.launch_at) + " " + row_name(t, one.row));
    return out;
}

}  // namespace

TEST_CASE("A set for given graphs plans them as the whole set does, and has no row more") {
    const catalogue all = catena_catalogue();
    const instance_set whole = sets_of(all).front();
    std::vector<instance_set> sets = sets_of(all);
    keep_needed(sets, all, graphs_of(of_qwen3));
    std::set<std::string> used;
    for (const std::string& file : of_qwen3) {
        const auto steps = steps_of(sets.front(), all, file);
        CHECK(steps == steps_of(whole, all, file));
        for (const std::string& one : steps) used.insert(one.substr(one.find(' ') + 1));
    }
    CHECK(sets.front().rows.size() == used.size());
    CHECK(sets.front().rows.size() < whole.rows.size() / 10);
}

TEST_CASE("A graph that uses no row of a set is named") {
    const catalogue all = catena_catalogue();
    std::vector<instance_set> sets = sets_of(all);
    std::erase_if(sets.front().rows, [](const row&) { return true; });
    CHECK_THROWS_WITH(keep_needed(sets, all, graphs_of(of_qwen3)),
                      Contains("qwen3-8b-q4km.tg1.json.gz: "));
    CHECK_THROWS_AS(graphs_of({graphs + "none.json"}), json::error);
    sets = sets_of(all);
    std::erase_if(sets.front().rows,
                  [](const row& r) { return r.computes.kind() != skeleton::row; });
    CHECK_THROWS_WITH(keep_needed(sets, all, graphs_of({}, {"q4_K,4096,14336,1"})),
                      Contains("a plan for sm_90 uses no chain of the catalogue"));
}

TEST_CASE("A set for shapes has the rows that one matmul of each needs") {
    const catalogue all = catena_catalogue();
    std::vector<instance_set> sets = sets_of(all);
    keep_needed(sets, all, graphs_of({}, {"q4_K,4096,14336,1", "q6_K,4096,4096,64"}));
    std::set<std::string> of;
    for (const row& r : sets.front().rows) {
        const skeleton kind = r.computes.kind();
        const format_set weights =
            kind == skeleton::row ? format_set{} : r.computes.product().weights;
        of.insert(std::string(name(kind)) + (weights.has(format::q4_K)   ? " q4_K"
                                             : weights.has(format::q6_K) ? " q6_K"
                                                                         : ""));
    }
    CHECK(of == std::set<std::string>{"row", "matvec q4_K", "matmul q6_K"});
}

TEST_CASE("A shape that is none is refused by a sentence that names SHAPES") {
    CHECK_THROWS_WITH(graphs_of({}, {"q4_K,4096,14336"}),
                      Contains("SHAPES takes FORMAT,ROWS,COLUMNS,BATCH"));
    CHECK_THROWS_WITH(graphs_of({}, {"q4_K,4096,300,1"}), Contains("SHAPES: 300 columns are not"));
}

TEST_CASE(
    "A policy that an engine prefers for a shape stays preferred in the rows that are needed") {
    const auto prefer = [](const arch&, const computation& c, policy_list& all) {
        if (c.kind() != skeleton::matvec || c.product().weights != format_set::of(format::q4_K))
            return;
        const auto with_norm = std::find_if(all.begin(), all.end(), [](const policy& p) {
            return p.matvec().placement == norm_placement::deferred;
        });
        if (with_norm == all.end()) return;
        policy narrower = *with_norm;
        narrower.matvec().threads /= 2;
        all.prefer({.k = 14336, .rows = 4096}, narrower);
    };
    const catalogue all = catena_catalogue();
    std::vector<instance_set> sets = {
        expand_for(*arch_named("sm_90"), computations_of(all), prefer)};
    const auto preferred_policy = [&] {
        REQUIRE_FALSE(sets[0].preferred.empty());
        return sets[0].rows[static_cast<std::size_t>(sets[0].preferred[0].row)].policy;
    };
    const policy before = preferred_policy();
    keep_needed(sets, all, graphs_of({}, {"q4_K,4096,14336,1"}));
    CHECK(preferred_policy() == before);
    const std::vector<rendered_file> files = render_set("test", all, sets);
    CHECK(std::any_of(files.begin(), files.end(), [](const rendered_file& f) {
        return f.path == "instances/sm_90/table.cpp" &&
               f.content.find("preferred[] = {\n    {{14336, 4096, ") != std::string::npos;
    }));
}

TEST_CASE("Policies that an engine cannot have are refused by the name of their row") {
    const auto said = [](policy_change change) -> std::string {
        try {
            (void)matvecs_of_q4_K(change);
            return "";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    };
    CHECK(said([](const arch&, const computation&, policy_list&) {}) == "");
    CHECK_THAT(
        said([](const arch&, const computation&, policy_list& all) { all.push_back(all.front()); }),
        Contains("policies: matvec.q4_K.") && Contains("stands there twice"));
    CHECK_THAT(said([](const arch&, const computation&, policy_list& all) { all.clear(); }),
               Contains("none is left for matvec.q4_K on sm_90"));
}
