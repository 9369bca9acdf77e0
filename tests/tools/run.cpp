// Steps run on the host executor and are compared; a machine that computes nothing or something
// else is found.
#include "run/check.hpp"
#include "run/report.hpp"

#include "catena/exec/host/launch.hpp"
#include "catena/kernel/args.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

/// The host executor with another launch function, or with kernels left out.
class other_machine : public machine {
  public:
    explicit other_machine(launch_fn launch, std::optional<skeleton> without = {})
        : real_(host_machine(1)), launch_(launch), without_(without) {}
    std::string name() const override { return "other"; }
    table preferred() const override { return real_->preferred(); }
    table equip(const table& t) const override {
        table changed = real_->equip(t);
        changed.launch = launch_;
        kernels_.assign(changed.kernels, changed.kernels + changed.row_count);
        for (int i = 0; i < changed.row_count; ++i)
            if (changed.rows[i].computes.kind() == without_)
                kernels_[static_cast<std::size_t>(i)] = nullptr;
        changed.kernels = kernels_.data();
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
    std::optional<skeleton> without_;  ///< whose kernels are left out
    mutable std::vector<const void*> kernels_;
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

/// Runs the kernel, then doubles the scale of the first block that a row step quantizes.
status launch_row_wrong(const void* kernel, const launch_config& c, const void* args,
                        std::size_t bytes, void* stream) noexcept {
    const status s = launch_host(kernel, c, args, bytes, stream);
    if (bytes == sizeof(row_args)) {
        row_args a;
        std::memcpy(&a, args, sizeof a);
        static_cast<std::byte*>(a.q8_1)[2] ^= std::byte{64};  // of the first block's scale
    }
    return s;
}

/// A report of the small graph, whose two steps came to this.
struct reported {
    json::graph g = small();
    std::unique_ptr<machine> on = host_machine(1);
    tool::placement where{g, *on};
    plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
    run_report r;

    explicit reported(std::vector<step_result> results)
        : r{g, p, "host executor", {}, std::move(results)} {}
};

const comparison right{"f32", 1e-9, 1e-7}, wrong{"product, same activation", 0.5, 1e-6};

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
        const auto all = results_of(g, idle);
        CHECK(all[0].outcome() == verdict::failed);
        CHECK(all[1].outcome() == verdict::follows);
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
    const auto all = results_of(small(), broken);
    CHECK(all[0].outcome() == verdict::failed);
    CHECK(all[0].fault == "the device is on fire");
    // The matmul would have read what the norm's step did not make.
    CHECK(all[1].outcome() == verdict::follows);
    CHECK(all[1].follows == 0);
    CHECK_FALSE(all[1].launched);
    CHECK(all[1].rows == 128);
}

TEST_CASE("a step that reads wrong numbers is run, and follows from the step that made them",
          "[run]") {
    other_machine damaged{launch_row_wrong};
    const auto all = results_of(small(), damaged);
    CHECK(all[0].outcome() == verdict::failed);
    CHECK(all[1].launched);
    CHECK(all[1].outcome() == verdict::follows);
    CHECK(all[1].follows == 0);
    CHECK(all[1].comparisons[0].ok());  // the kernel itself is right
}

TEST_CASE("a step without a kernel did not run, and neither did who reads what it makes", "[run]") {
    other_machine no_matvec{launch_host, skeleton::matvec};
    const auto without = results_of(small(), no_matvec);
    CHECK(without[0].outcome() == verdict::agrees);
    CHECK(without[1].outcome() == verdict::not_run);
    CHECK_THAT(without[1].fault, Catch::Contains("configure it with CATENA_WEIGHTS=all"));
    CHECK(without[1].follows == -1);
    other_machine no_row{launch_host, skeleton::row};
    const auto both = results_of(small(), no_row);
    CHECK(both[0].outcome() == verdict::not_run);
    CHECK(both[1].outcome() == verdict::not_run);
    CHECK(both[1].follows == 0);
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
    reported of({{{right}, 2, 2, ""}, {{wrong}, 64, 128, ""}});
    CHECK(of.r.exit_code() == exit_check_failed);
    CHECK_THAT(as_text(of.r), Catch::Contains("1 step FAILED") && Catch::Contains("TOO LARGE"));
    const auto j = nlohmann::json::parse(as_json(of.r));
    CHECK(j["total"]["failed"] == 1);
    CHECK(j["total"]["covered"] == 0.5);
    CHECK(j["steps"][0]["ok"] == true);
    CHECK(j["steps"][1]["ok"] == false);
    CHECK(j["steps"][1]["verdict"] == "failed");
    of.r.results[1].comparisons[0].nmse = std::numeric_limits<double>::quiet_NaN();
    CHECK(of.r.exit_code() == exit_check_failed);
}

TEST_CASE("the report tells steps that follow from a fault apart from that", "[run]") {
    const step_result follower{{}, 0, 128, "not launched", false, false, 0};
    const reported of({{{wrong}, 2, 2, ""}, follower});
    CHECK(of.r.exit_code() == exit_check_failed);
    CHECK_THAT(
        as_text(of.r),
        Catch::Contains("FOLLOWS from the step at node 1: not launched") &&
            Catch::Contains("1 of 2 steps ran, 1 launch, ") &&
            Catch::EndsWith("1 step FAILED; 1 step reads what a step at fault should have made\n"));
    const auto j = nlohmann::json::parse(as_json(of.r));
    CHECK(j["total"]["failed"] == 1);
    CHECK(j["total"]["follows"] == 1);
    CHECK(j["total"]["launches"] == 1);
    CHECK(j["steps"][1]["verdict"] == "follows");
    CHECK(j["steps"][1]["follows"] == 0);
}

TEST_CASE("what did not run has not failed, and has an exit code of its own", "[run]") {
    const step_result absent{{}, 0, 128, "no kernel", false, true};
    const reported of({{{right}, 2, 2, ""}, absent});
    CHECK(of.r.exit_code() == exit_incomplete);
    CHECK_THAT(as_text(of.r), Catch::Contains("NOT RUN: no kernel") && !Catch::Contains("FAILED") &&
                                  Catch::EndsWith("1 step did NOT RUN, since this build lacks "
                                                  "kernels; no step failed\n"));
    const auto j = nlohmann::json::parse(as_json(of.r));
    CHECK(j["total"]["failed"] == 0);
    CHECK(j["total"]["not_run"] == 1);
    CHECK(j["steps"][1]["verdict"] == "not run");
    CHECK(reported({{{wrong}, 2, 2, ""}, absent}).r.exit_code() == exit_check_failed);
    CHECK(reported({{{right}, 2, 2, ""}, {{right}, 2, 2, ""}}).r.exit_code() == exit_ok);
}

TEST_CASE("the worst comparison of a run is the one nearest to its own limit", "[run]") {
    const reported of(
        {{{{"product", 1e-3, 2e-3}}, 2, 2, ""}, {{{"product", 6e-4, 5e-4}}, 64, 128, ""}});
    const auto worst = nlohmann::json::parse(as_json(of.r))["total"]["worst"][0];
    CHECK(worst["nmse"] == 6e-4);
    CHECK(worst["limit"] == 5e-4);
    CHECK(worst["ok"] == false);
}
