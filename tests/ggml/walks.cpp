// A backend of ggml that plans before its walks: which graph a plan is of, and what it may believe
// about a graph that somebody cut.
#include "model.hpp"

#include "catena/engine/ggml/backend_planner.hpp"
#include "catena/engine/ggml/graph_opt.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <ggml-alloc.h>

#include <map>

namespace {

using namespace catena_test;
using catena::ggml::backend_planner;
using catena::ggml::submission;

/// A graph of a model in memory, with the use counts that ggml keeps behind its private header.
struct allocated {
    graph g;
    ggml_gallocr_ptr memory{ggml_gallocr_new(ggml_backend_cpu_buffer_type())};
    std::map<const ggml_tensor*, int> uses;

    allocated(const model& m, int tokens) : g(m, tokens) {
        ggml_gallocr_alloc_graph(memory.get(), g.cgraph());
        for (int i = 0; i < g.size(); ++i)
            for (const ggml_tensor* s : g.node(i)->src)
                if (s != nullptr) ++uses[s];
    }

    submission as(std::uint64_t uid) {
        submission s{g.cgraph(), uid, {}};
        s.known.user = this;
        s.known.uses = [](const ggml_tensor* t, void* self) {
            const auto& uses = static_cast<allocated*>(self)->uses;
            const auto found = uses.find(t);
            return found == uses.end() ? 0 : found->second;
        };
        return s;
    }
};

const model& llama() {
    static const model m{architecture{}};
    return m;
}

int elided(const catena::plan& p) {
    int n = 0;
    for (int i = 0; i < p.size(); ++i) n += p.at(i).elided;
    return n;
}

/// The columns that the first matvec or matmul of a plan was made for.
std::int64_t columns(const catena::plan& p) {
    for (const catena::step& s : p.steps())
        if (s.what.kind() != catena::skeleton::row) return s.what.product().columns;
    return 0;
}

const catena::plan& walked(backend_planner& b, const submission& s) {
    catena::status state;
    const catena::plan* p = b.before_walk(s, state);
    INFO(state.message);
    REQUIRE(p != nullptr);
    REQUIRE(p->state().ok());
    return *p;
}

TEST_CASE("Every walk gets the plan of its own graph, whatever was walked before", "[ggml]") {
    backend_planner b(toy_table());
    allocated decode(llama(), 1), prompt(llama(), 4);
    REQUIRE(decode.g.size() == prompt.g.size());
    for (int turn = 0; turn < 3; ++turn) {
        CHECK(columns(walked(b, decode.as(1))) == 1);
        CHECK(columns(walked(b, prompt.as(2))) == 4);
        CHECK(columns(walked(b, decode.as(0))) == 1);
        CHECK(columns(walked(b, prompt.as(0))) == 4);
    }
    CHECK(b.walks() == 12);
    CHECK(b.plans_made() == 4);
}

TEST_CASE("A graph that was allocated elsewhere under a new number is planned there", "[ggml]") {
    backend_planner b(toy_table());
    allocated here(llama(), 1), there(llama(), 1);
    const catena::plan* first = &walked(b, here.as(1));
    CHECK(&walked(b, here.as(1)) == first);
    CHECK(&walked(b, there.as(2)) != first);
    CHECK(&walked(b, here.as(3)) == first);
}

TEST_CASE("In a slice without a number every value is written, unless it is the whole graph",
          "[ggml]") {
    backend_planner b(toy_table());
    allocated a(llama(), 1);
    CHECK(elided(walked(b, a.as(1))) > 0);
    const catena::plan& slice = walked(b, a.as(0));
    CHECK(slice.steps().size() > 0);
    CHECK(elided(slice) == 0);
    submission whole{a.g.cgraph(), 0, {}};
    whole.known.whole_graph = true;
    CHECK(elided(walked(b, whole)) > 0);
}

TEST_CASE("The workspace that an order asks for is enough for the plans behind it", "[ggml]") {
    backend_planner b(toy_table());
    graph large(llama(), 8);
    submission s{large.cgraph(), 0, {}};
    s.known.whole_graph = true;
    REQUIRE(b.order(s).state.ok());
    const std::int64_t bound = b.workspace_bound();
    CHECK(bound > 0);
    for (const int tokens : {1, 4, 8}) {
        allocated a(llama(), tokens);
        CHECK(walked(b, a.as(static_cast<std::uint64_t>(tokens))).workspace_bytes() <= bound);
    }
    CHECK(b.workspace_bound() == bound);
}

TEST_CASE("A graph that is null has no plan and says so", "[ggml]") {
    backend_planner b(toy_table());
    catena::status state;
    CHECK(b.before_walk({}, state) == nullptr);
    CHECK_FALSE(state.ok());
}

TEST_CASE("GGML_CUDA_GRAPH_OPT=1 is refused by its name, as ggml reads it", "[ggml]") {
    for (const char* off : {static_cast<const char*>(nullptr), "", "0", "2", "on"})
        CHECK(catena::ggml::keeps_order(off).ok());
    const catena::status refused = catena::ggml::keeps_order("1");
    CHECK_FALSE(refused.ok());
    CHECK_THAT(refused.message, Catch::Contains("GGML_CUDA_GRAPH_OPT=1"));
}

}  // namespace
