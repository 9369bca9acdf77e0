// The planner on real graphs, whole and cut: engines hand over slices.
#include "replay.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/measured.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

std::vector<json::graph> given_graphs() {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs"))
        if (entry.path().extension() == ".gz") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    std::vector<json::graph> out;
    for (const std::string& p : paths) out.push_back(json::read(p));
    return out;
}

/// The invented table, with matvecs of prompt width too, so that no graph is left alone.
table wide_table() {
    static const std::vector<row> rows = [] {
        std::vector<row> out(toy_rows, toy_rows + toy_row_count);
        matvec_policy p = wide_matvec;
        p.columns = 512;
        for (const format_set s : {q4, q4 | q6, q8}) out.push_back(row_of(matvec_of(s), p));
        return out;
    }();
    table t = toy_table();
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    return t;
}

/// A table whose epilogues add residuals, so that a norm's input lies in memory, and whose matvecs
/// make their norm themselves, where launches are so dear that this pays.
table norm_inside_table() {
    static constexpr epilogue_set after =
        epilogue_set::of(epilogue_part::residual) | epilogue_part::glu;
    static const arch dear = [] {
        arch a = toy_arch;
        a.node_us = 1e9;
        return a;
    }();
    static const std::vector<row> rows = [] {
        const table wide = wide_table();
        std::vector<row> out(wide.rows, wide.rows + wide.row_count);
        for (row& r : out)
            if (r.computes.kind() == skeleton::matvec) r.computes.product().epilogue = after;
        matvec_policy p = wide_matvec;
        p.activation = activation_source::shared;
        p.placement = norm_placement::deferred;
        for (const format_set s : {q4, q4 | q6, q8}) {
            product_computation c = matvec_of(s);
            c.stages = stage_kind::rms_norm | stage_kind::mul_weight;
            c.epilogue = after;
            out.push_back(row_of(c, p));
        }
        return out;
    }();
    static const std::vector<lowered_chain> chains = [] {
        const table toy = toy_table();
        std::vector<lowered_chain> out(toy.chains, toy.chains + toy.chain_count);
        for (lowered_chain& c : out)
            c.stages[c.count++] = {.kind = stage_kind::epilogue, .parts = after};
        return out;
    }();
    table t = wide_table();
    t.target = &dear;
    t.chains = chains.data();
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    return t;
}

/// Who reads a value, found in the most literal way: over the whole file and through every name.
struct readers {
    const json::graph& g;
    std::vector<std::vector<int>> nodes;  ///< per tensor: positions that read its memory
    std::vector<bool> output;             ///< per tensor: it, or another name of it, is an output

    explicit readers(const json::graph& graph)
        : g(graph), nodes(graph.tensors.size()), output(graph.tensors.size(), false) {
        for (std::size_t t = 0; t < g.tensors.size(); ++t)
            if ((g.tensors[t].flags & flag_output) != 0)
                output[root(static_cast<std::int32_t>(t))] = true;
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            const tensor& t = g.tensors[static_cast<std::size_t>(g.nodes[i])];
            if (launches_nothing(t.kind) || elements(t) == 0) continue;
            for (const std::int32_t s : t.src)
                if (s != no_tensor && elements(g.tensors[static_cast<std::size_t>(s)]) != 0)
                    nodes[root(s)].push_back(static_cast<int>(i));
        }
    }
    std::size_t root(std::int32_t t) const {
        while (g.tensors[static_cast<std::size_t>(t)].view_src != no_tensor)
            t = g.tensors[static_cast<std::size_t>(t)].view_src;
        return static_cast<std::size_t>(t);
    }

    /// Empty when every value that the plan of nodes [first, ...) elides is read by its own chain
    /// only.
    std::string lost(const plan& p, int first) const {
        const auto chain_of = [&p](int i) {
            const std::int32_t s = p.at(i).step;
            return s < 0 ? -1 : p.steps()[static_cast<std::size_t>(s)].chain;
        };
        for (const step& s : p.steps())
            for (const std::int32_t i : p.covered(s)) {
                if (!p.at(i).elided) continue;
                const std::size_t value = root(g.nodes[static_cast<std::size_t>(i + first)]);
                if (output[value])
                    return "node " + std::to_string(i + first) + " is an output, but elided";
                for (const int reader : nodes[value]) {
                    const int inside = reader - first;
                    if (inside < 0 || inside >= p.size() || chain_of(inside) != s.chain)
                        return "node " + std::to_string(i + first) + " is elided, but node " +
                               std::to_string(reader) + " reads it";
                }
            }
        return "";
    }
};

}  // namespace

TEST_CASE("plans of the given graphs read what the engine would read", "[graphs]") {
    const planner planner(wide_table());
    int graphs = 0;
    for (const json::graph& g : given_graphs()) {
        INFO(g.file);
        ++graphs;
        const plan p = planner.plan(g.view());
        REQUIRE(p.state().ok());
        CHECK(p.steps().size() > 0);
        CHECK(inconsistency(g.view(), p) == "");
        CHECK(difference(g.view(), p) == "");
        CHECK(readers(g).lost(p, 0) == "");
    }
    CHECK(graphs == 27);
}

TEST_CASE("plans that make norms in their readers' launch read what the engine would read",
          "[graphs]") {
    const planner planner(norm_inside_table());
    int norms = 0;
    for (const json::graph& g : given_graphs()) {
        INFO(g.file);
        const plan p = planner.plan(g.view());
        REQUIRE(p.state().ok());
        CHECK(inconsistency(g.view(), p) == "");
        CHECK(difference(g.view(), p) == "");
        CHECK(readers(g).lost(p, 0) == "");
        for (const planned_chain& c : p.chains())
            norms += has_norm(c.stages) && !c.norm_apart.found();
    }
    CHECK(norms > 100);
}

TEST_CASE("chains that the engine keeps for its speed leave the others legal",
          "[graphs][contest]") {
    for (table t : {wide_table(), norm_inside_table()}) {
        int left = 0;
        for (const json::graph& g : given_graphs()) {
            INFO(g.file);
            const plan all = planner(t).plan(g.view());
            std::vector<std::uint64_t> key(all.chains().size());
            for (const step& s : all.steps())
                key[static_cast<std::size_t>(s.chain)] += problem_key(s.what);
            std::map<std::uint64_t, float> engine_us;  // of every second kind of chain less
            for (const std::uint64_t k : key)
                engine_us.emplace(k, engine_us.size() % 2 == 0 ? 1.f : 3.f);
            std::vector<engine_median> medians;
            for (const auto& [steps, us] : engine_us) medians.push_back({steps, us, 2});
            table contested = t;
            contested.engine = medians.data();
            contested.engine_count = static_cast<int>(medians.size());
            const plan p = planner(contested).plan(g.view());
            REQUIRE(p.state().ok());
            CHECK(p.steps().size() < all.steps().size());
            CHECK(inconsistency(g.view(), p) == "");
            CHECK(difference(g.view(), p) == "");
            CHECK(readers(g).lost(p, 0) == "");
            left += p.counters().left[static_cast<int>(reason::engine_faster)];
        }
        CHECK(left > 1000);
    }
}

TEST_CASE("cut anywhere, nothing that is read beyond the cut is elided", "[graphs][cut]") {
    const planner planner(wide_table());
    constexpr int layers = 200;  // nodes beside a cut: more than two layers of any of the graphs
    constexpr int apart = 7;     // so that among the layers of a model each place is cut
    int graph = 0;
    for (const json::graph& g : given_graphs()) {
        INFO(g.file);
        const readers read(g);
        const int nodes = static_cast<int>(g.nodes.size());
        for (int cut = 1 + graph++ % apart; cut < nodes; cut += apart) {
            const bool whole = cut % 600 < apart;
            for (const auto& [first, last] :
                 {std::pair{whole ? 0 : std::max(0, cut - layers), cut},
                  std::pair{cut, whole ? nodes : std::min(nodes, cut + layers)}}) {
                const graph_view part = g.slice(first, last);
                const plan p = planner.plan(part);
                if (!p.state().ok()) FAIL("cut " << cut << ": " << p.state().message);
                if (const std::string s = read.lost(p, first); !s.empty())
                    FAIL("cut " << cut << ": " << s);
                if (!whole) continue;
                if (const std::string s = inconsistency(part, p); !s.empty())
                    FAIL("cut " << cut << ": " << s);
                if (const std::string s = difference(part, p); !s.empty())
                    FAIL("cut " << cut << ": " << s);
            }
        }
    }
}
