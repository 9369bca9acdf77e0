// Steps run on the host executor and are compared; a machine that computes nothing or something
// else is found.
#include "run/check.hpp"
#include "run/report.hpp"

#include "catena/kernel/args.hpp"
#include "catena/launch/host.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

/// The host executor with another launch function.
class other_machine : public machine {
  public:
    explicit other_machine(launch_fn launch) : real_(host_machine(1)), launch_(launch) {}
    std::string name() const override { return "other"; }
    table preferred() const override { return real_->preferred(); }
    table equip(const table& t) const override {
        table changed = real_->equip(t);
        changed.launch = launch_;
        return changed;
    }
    void* reserve(const std::string& name, std::size_t bytes,
                  const std::vector<byte_range>& constants) override {
        return real_->reserve(name, bytes, constants);
    }
    void write(void* to, std::span<const std::byte> bytes) override { real_->write(to, bytes); }
    void read(const void* from, std::span<std::byte> bytes) override { real_->read(from, bytes); }
    void* stream() override { return real_->stream(); }
    void only(const std::vector<std::uint32_t>& blocks) override { real_->only(blocks); }
    std::string finish(const status& launched) override { return real_->finish(launched); }

  private:
    std::unique_ptr<machine> real_;
    launch_fn launch_;
};

std::vector<step_result> results_of(const json::graph& g, machine& on,
                                    const check_options& asked = {}, const char* arch = "sm_90") {
    const placement where{g, on};
    const plan p = planner{on.equip(table_for(arch))}.plan(where.view());
    REQUIRE(p.state().ok());
    checker check{p, where, on, asked};
    std::vector<step_result> all;
    for (std::size_t i = 0; i < p.steps().size(); ++i)
        all.push_back(check.run(static_cast<int>(i)));
    return all;
}

json::graph small() { return json::parse(catena_test::small_graph().dump(), "small.json"); }

/// x, ids, a matrix of 4 experts of which each of 3 tokens uses 2.
json::graph small_experts() {
    auto text = catena_test::small_graph();
    auto& t = text["tensors"];
    for (int i : {0, 3, 4}) {
        t[i]["ne"] = {512, 3, 1, 1};
        t[i]["nb"] = {4, 2048, 6144, 6144};
    }
    t[5]["ne"] = {512, 1, 3, 1};
    t[5]["nb"] = {4, 2048, 2048, 6144};
    t[2]["ne"] = {512, 64, 4, 1};
    t[2]["nb"] = {144, 288, 18432, 73728};
    t[6]["op"] = "MUL_MAT_ID";
    t[6]["ne"] = {64, 2, 3, 1};
    t[6]["nb"] = {4, 256, 512, 1536};
    t[7]["ne"] = {32, 2, 3, 1};
    t[7]["nb"] = {4, 256, 512, 1536};
    t[8]["ne"] = {32, 2, 3, 1};
    t[8]["nb"] = {4, 128, 256, 768};
    auto ids = t[0];
    ids["id"] = 9;
    ids["type"] = "i32";
    ids["ne"] = {2, 3, 1, 1};
    ids["nb"] = {4, 8, 24, 24};
    ids["off"] = 9 * 65536;
    t.push_back(ids);
    t[6]["src"] = {2, 5, 9};
    return json::parse(text.dump(), "experts.json");
}

status launch_nothing(const void*, const launch_config&, const void*, std::size_t, void*) noexcept {
    return {};
}

status refuse(const void*, const launch_config&, const void*, std::size_t, void*) noexcept {
    status s{status_code::device_error, {}};
    std::strcpy(s.message, "the device is on fire");
    return s;
}

/// Runs the kernel, then shifts the first result of a matvec by one percent.
status launch_nearly(const void* kernel, const launch_config& c, const void* args,
                     std::size_t bytes, void* stream) noexcept {
    const status s = launch_host(kernel, c, args, bytes, stream);
    if (bytes == sizeof(matvec_args)) {
        matvec_args a;
        std::memcpy(&a, args, sizeof a);
        for (int i = 0; i < a.member[0].rows; ++i) a.member[0].dst[i] *= 1.01f;
    }
    return s;
}

}  // namespace

TEST_CASE("every step of a small graph agrees with the reference", "[run]") {
    for (const json::graph& g : {small(), small_experts()})
        for (const char* arch : {"sm_90", "sm_80", "sm_75", "host"}) {
            INFO(g.file << " " << arch);
            const auto on = host_machine(1);
            const auto all = results_of(g, *on, {}, arch);
            REQUIRE(all.size() == 2);
            for (const step_result& r : all) {
                INFO(r.fault);
                CHECK(r.ok());
                CHECK(r.comparisons.size() >= 2);
            }
            CHECK(all[1].rows == (g.file == "small.json" ? 128 : 384));
            CHECK(all[1].computed > 0);
            CHECK(all[1].computed <= all[1].rows);
        }
}

TEST_CASE("the same seed gives the same numbers, another seed others", "[run]") {
    const auto nmse = [](std::uint64_t seed) {
        const auto on = host_machine(seed);
        return results_of(small(), *on, {.seed = seed})[1].comparisons[1].nmse;
    };
    CHECK(nmse(1) == nmse(1));
    CHECK(nmse(1) != nmse(2));
}

TEST_CASE("a machine that computes nothing fails every step", "[run]") {
    for (const json::graph& g : {small(), small_experts()}) {
        other_machine idle{launch_nothing};
        for (const step_result& r : results_of(g, idle)) CHECK_FALSE(r.ok());
    }
}

TEST_CASE("results that are wrong by one percent fail", "[run]") {
    other_machine nearly{launch_nearly};
    const auto all = results_of(small(), nearly);
    CHECK(all[0].ok());
    CHECK_FALSE(all[1].ok());
}

TEST_CASE("a launch that fails is a failed step with its sentence", "[run]") {
    other_machine broken{refuse};
    for (const step_result& r : results_of(small(), broken)) {
        CHECK_FALSE(r.ok());
        CHECK(r.fault == "the device is on fire");
    }
}

TEST_CASE("a graph whose memory was not allocated cannot run, and the tensor is named", "[run]") {
    auto text = catena_test::small_graph();
    text["tensors"][0]["buf"] = -1;
    const json::graph g = json::parse(text.dump(), "g.json");
    const auto on = host_machine(1);
    CHECK_THROWS_WITH((placement{g, *on}),
                      Catch::Contains("g.json: tensor 0: field 'buf': expected a buffer"));
}

TEST_CASE("the report of a run says what failed, as text and as JSON", "[run]") {
    const json::graph g = small();
    const auto on = host_machine(1);
    const placement where{g, *on};
    const plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
    run_report r{g, p, "host executor", {}, {}};
    r.results = {{{{"f32", 1e-9, 1e-7}}, 2, 2, ""},
                 {{{"product, same activation", 0.5, 1e-6}}, 64, 128, ""}};
    CHECK_FALSE(r.ok());
    CHECK_THAT(as_text(r), Catch::Contains("1 steps FAILED") && Catch::Contains("TOO LARGE"));
    const auto j = nlohmann::json::parse(as_json(r));
    CHECK(j["total"]["failed"] == 1);
    CHECK(j["total"]["covered"] == 0.5);
    CHECK(j["steps"][0]["ok"] == true);
    CHECK(j["steps"][1]["ok"] == false);
    r.results[1].comparisons[0].nmse = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(r.ok());
}

TEST_CASE("the worst comparison of a run is the one nearest to its own limit", "[run]") {
    const json::graph g = small();
    const auto on = host_machine(1);
    const placement where{g, *on};
    const plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
    run_report r{g, p, "host executor", {}, {}};
    r.results = {{{{"product", 1e-3, 2e-3}}, 2, 2, ""}, {{{"product", 6e-4, 5e-4}}, 64, 128, ""}};
    const auto worst = nlohmann::json::parse(as_json(r))["total"]["worst"][0];
    CHECK(worst["nmse"] == 6e-4);
    CHECK(worst["limit"] == 5e-4);
    CHECK(worst["ok"] == false);
}
