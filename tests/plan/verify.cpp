// The proof of finished plans: right plans of real graphs are proved, each kind of fault is found.
#include "cases.hpp"
#include "faults.hpp"

#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include "catena_test/catch.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// A given graph that can be proved, and its plan, which is not verified on its own.
struct proved_graph {
    json::graph file;
    std::vector<tensor> tensors;
    graph_view view;
    plan made;

    explicit proved_graph(const std::string& path) : file(json::read(path)) {
        tensors = with_addresses(file.view());
        view = file.view();
        view.tensors = tensors.data();
        options asked;
        asked.verify = false;
        made = planner(instances::sm_90(), asked).plan(view);
    }
};

/// A copy of a plan, to put faults into.
struct broken_plan {
    plan made;
    plan_faults inside;

    explicit broken_plan(const plan& whole) : made(whole), inside{made} {}
};

std::vector<std::string> graph_files() {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs"))
        if (entry.path().extension() == ".gz") out.push_back(entry.path().string());
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

TEST_CASE("Plans of the given graphs are proved right") {
    for (const std::string& path : graph_files()) {
        CAPTURE(path);
        const proved_graph g(path);
        const verification v = verify(g.view, g.made);
        CHECK(v.state.message == std::string());
        CHECK(v.proved);
        CHECK(v.steps == static_cast<int>(g.made.steps().size()));
        CHECK(v.results > v.steps / 3);
        CHECK(v.slots > 0);
    }
}

TEST_CASE("Every kind of fault that is put into a finished plan is found") {
    constexpr std::size_t places = 5;  // of a plan, for each kind
    std::map<std::string, int> put;
    for (const std::string& path : graph_files()) {
        if (path.find("llama-3.1") != std::string::npos) continue;  // nothing that others have not
        const proved_graph g(path);
        for (const fault& f : faults()) {
            const std::size_t steps = g.made.steps().size();
            std::size_t here = 0;
            std::optional<broken_plan> tried;  // steps that cannot have the fault share a copy
            for (std::size_t i = 0; i < steps && here < places; ++i) {
                const std::size_t s = i * 97 % steps;  // from all over the graph: 97 is a prime
                if (!tried) tried.emplace(g.made);
                if (!f.put(tried->inside, s)) continue;
                tried.reset();
                ++here;
                ++put[f.name];
                CAPTURE(path, f.name, s);
                broken_plan broken(g.made);
                REQUIRE(f.put(broken.inside, s));
                CHECK_FALSE(verify(g.view, broken.made).state.ok());
            }
        }
    }
    for (const fault& f : faults()) {
        CAPTURE(f.name);
        CHECK(put[f.name] > 0);
    }
    CHECK(put.size() >= 25);
}

TEST_CASE("A proof names step, node and byte") {
    const proved_graph g(CATENA_TEST_DATA "/graphs/qwen3-8b-q4km.tg1.json.gz");
    plan broken = g.made;
    plan_faults inside{broken};
    std::size_t s = 0;
    while (!inside.is_group(s) || inside.member(s, 0).dst == nullptr) ++s;
    inside.member(s, 0).dst += 1;
    const verification v = verify(g.view, broken);
    CHECK(v.state.code == status_code::wrong_plan);
    CHECK(v.step == static_cast<int>(s));
    CHECK(v.node == g.made.steps()[s].launch_at);
    CHECK(v.byte == reinterpret_cast<std::uintptr_t>(inside.member(s, 0).dst));
    const std::string message = v.state.message;
    CHECK(message.find("step " + std::to_string(s)) != std::string::npos);
    CHECK(message.find("byte " + std::to_string(v.byte)) != std::string::npos);
}

TEST_CASE("A plan is verified when options or the environment ask for it") {
    norm_case c;
    c.g.mul_mat(c.g.weight(format::q4_K, {512, 32}), c.mul);
    options asked;
    asked.verify = false;
    CHECK_FALSE(planner(toy_table(), asked).plan(c.g.view()).counters().proved);
    setenv("CATENA_VERIFY", "1", 1);
    const options heard = options::from_environment(asked);
    unsetenv("CATENA_VERIFY");
    CHECK(heard.verify);
    const plan p = planner(toy_table(), heard).plan(c.g.view());
    CHECK(p.state().ok());
    CHECK(p.counters().proved);
    CHECK_FALSE(p.counters().dropped);
}

TEST_CASE("A plan of tensors without an address or a buffer is not proved, and says so") {
    norm_case c;
    c.g.mul_mat(c.g.weight(format::q4_K, {512, 32}), c.mul);
    for (tensor& t : c.g.tensors) t.data = nullptr, t.buffer = no_buffer;
    options asked;
    asked.verify = true;
    const plan p = planner(toy_table(), asked).plan(c.g.view());
    CHECK(p.state().ok());
    CHECK_FALSE(p.counters().proved);
}

TEST_CASE("the proof refuses a malformed view with the planner's sentence") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2}), sum = g.add(g.scaled_norm(x), x);
    const graph_view view = g.view();
    const plan made = planner(instances::sm_90()).plan(view);
    REQUIRE(verify(view, made).state.ok());
    const auto refused = [&](const char* wanted) {
        const status said = verify(view, made).state;
        CHECK(said.code == status_code::invalid_argument);
        CHECK(said.message == std::string(wanted));
        CHECK(planner(instances::sm_90()).plan(view).state().message == std::string(wanted));
    };
    const tensor before = g[x];
    g[x].ne[1] = g[x].nb[1] = std::int64_t{1} << 36;
    refused("tensor 0: nb[1] is 68719476736; expected a tensor of 2^60 bytes at most");
    g[x] = before;
    g[sum].src[1] = 99;
    refused("tensor 4: src is 99; expected a tensor of the view, or -1");
}
