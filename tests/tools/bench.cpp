// catena bench: shapes and their graphs, every instance that serves one, wrong results, times.
#include "bench/report.hpp"
#include "failure.hpp"

#include "catena/exec/host/launch.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <string>

using namespace catena;
using namespace catena::tool;
using Catch::Contains;

namespace {

/// The host executor, with a clock that shows the same time for all.
class timed_machine : public machine {
  public:
    std::string name() const override { return "timed"; }
    table preferred() const override { return real_->preferred(); }
    table equip(const table& t) const override { return real_->equip(t); }
    void* reserve(const std::string& name, std::size_t bytes,
                  const std::vector<byte_range>& constants) override {
        return real_->reserve(name, bytes, constants);
    }
    void write(void* to, std::span<const std::byte> bytes) override { real_->write(to, bytes); }
    void read(const void* from, std::span<std::byte> bytes) override { real_->read(from, bytes); }
    void* stream() override { return real_->stream(); }
    void only(const std::vector<std::uint32_t>& blocks) override { real_->only(blocks); }
    std::string finish(const status& launched) override { return real_->finish(launched); }
    std::optional<tune::summary> time(const table&, const step& s) override {
        return tune::summary{33, 100 - s.predicted_us, 0.01};
    }

  private:
    std::unique_ptr<machine> real_ = host_machine(1);
};

class broken_machine : public timed_machine {
  public:
    bool broken() const override { return true; }
};

bench_request request(const std::string& matmul, const std::string& epilogue = "") {
    return {parse_shape(matmul, epilogue),
            host_machine(1)->equip(table_for("sm_90")),
            "",
            {.seed = 1, .random_rows = 2},
            [] { return host_machine(1); }};
}

status launch_nearly(const void* kernel, const launch_config& c, const void* args,
                     std::size_t bytes, void* stream) noexcept {
    const status s = launch_host(kernel, c, args, bytes, stream);
    const auto spoil = [](auto a, const void* from) {
        std::memcpy(&a, from, sizeof a);
        for (int i = 0; i < a.member[0].rows; ++i) a.member[0].dst[i] *= 1.01f;
    };
    if (bytes == sizeof(matvec_args)) spoil(matvec_args{}, args);
    if (bytes == sizeof(matmul_args)) spoil(matmul_args{}, args);
    return s;
}

}  // namespace

TEST_CASE("a shape is a weight's format, rows and columns, and the batch", "[bench]") {
    const matmul_shape s = parse_shape("q4_K,4096,14336,8", "residual,bias");
    CHECK(s.weights == format::q4_K);
    CHECK(s.rows == 4096);
    CHECK(s.k == 14336);
    CHECK(s.columns == 8);
    CHECK(text(s) == "q4_K, 4096 rows x 14336 columns, 8 batch columns, + residual, + bias");
}

TEST_CASE("an impossible shape is refused with the remedy", "[bench]") {
    CHECK_THROWS_WITH(parse_shape("q4_K,4096,14336", ""),
                      Contains("FORMAT,ROWS,COLUMNS,BATCH") && Contains("--matmul q4_K,4096,"));
    CHECK_THROWS_WITH(parse_shape("q4_k,64,256,1", ""),
                      Contains("no weight format is called 'q4_k'; did you mean 'q4_K'?"));
    CHECK_THROWS_WITH(parse_shape("q8_1,64,256,1", ""), Contains("no weight format"));
    CHECK_THROWS_WITH(parse_shape("q4_K,64,300,1", ""), Contains("256 values: take 512"));
    CHECK_THROWS_WITH(parse_shape("q4_K,0,256,1", ""), Contains("number of rows is '0'"));
    CHECK_THROWS_WITH(parse_shape("q4_K,64,256,1x", ""),
                      Contains("number of batch columns is '1x'"));
    CHECK_THROWS_WITH(parse_shape("q4_K,64,256,99999999999999999999", ""),
                      Contains("take 1 to 1048576"));
    CHECK_THROWS_WITH(parse_shape("q4_K,64,256,1", "residul"), Contains("did you mean 'residual'"));
}

TEST_CASE("every epilogue is done by the matmul's own launch", "[bench]") {
    for (const char* epilogue : {"", "residual", "bias", "glu", "glu,bias,residual"})
        for (const char* batch : {"1", "64"}) {
            INFO(epilogue << " " << batch);
            const json::graph g =
                graph_of(parse_shape(std::string("q4_K,256,512,") + batch, epilogue));
            const plan p = planner{table_for("sm_90")}.plan(g.view());
            REQUIRE(p.state().ok());
            CHECK(p.left().size() == 0);
            CHECK(p.covered(*(p.steps().end() - 1)).size() == g.nodes.size());
        }
}

TEST_CASE("every instance that can serve a shape agrees with the reference", "[bench]") {
    for (const char* shape :
         {"q4_K,200,512,1", "q4_K,200,512,3", "q6_K,96,512,20", "f16,64,256,2"}) {
        INFO(shape);
        const bench_request asked = request(shape, "residual");
        const std::vector<candidate> all = candidates_of(asked);
        CHECK(all.size() > 3);
        CHECK(std::count_if(all.begin(), all.end(), [](const auto& c) { return c.picked; }) == 1);
        for (const candidate& c : all) {
            INFO(c.instance << c.why_not << c.result.fault);
            if (!c.serves()) continue;
            CHECK(c.result.ok());
            CHECK(c.covered() > 0);
            CHECK(c.us() >= all.front().us());
        }
        // What cannot serve says why, and not that another row is quicker.
        for (const candidate& c : all)
            if (!c.serves()) CHECK_THAT(c.why_not, !Contains("picked"));
        CHECK(bench_report{asked, "host executor", all}.exit_code() == exit_ok);
    }
}

TEST_CASE("the fastest by prediction is the planner's pick", "[bench]") {
    const std::vector<candidate> all = candidates_of(request("q4_K,256,512,2"));
    CHECK(all.front().picked);
}

TEST_CASE("results that are wrong by one percent fail, and are not timed", "[bench]") {
    bench_request asked = request("q4_K,64,512,1");
    asked.rows.launch = launch_nearly;
    asked.make_machine = [] { return std::make_unique<timed_machine>(); };
    const bench_report r{asked, "timed", candidates_of(asked)};
    CHECK(r.exit_code() == exit_check_failed);
    CHECK_FALSE(r.all.front().measured);
    CHECK_THAT(as_text(r), Contains("TOO LARGE"));
    CHECK_THAT(as_csv(r), Contains(",failed\n"));
}

TEST_CASE("after an instance that breaks the device nothing is tried", "[bench]") {
    bench_request asked = request("q4_K,64,512,1");
    asked.rows.launch = launch_nearly;
    asked.make_machine = [] { return std::make_unique<broken_machine>(); };
    const std::vector<candidate> all = candidates_of(asked);
    CHECK(std::count_if(all.begin(), all.end(), [](const auto& c) { return c.serves(); }) == 1);
}

TEST_CASE("measured times decide the order, and are called measured", "[bench]") {
    bench_request asked = request("q4_K,64,512,1");
    asked.make_machine = [] { return std::make_unique<timed_machine>(); };
    const bench_report r{asked, "timed", candidates_of(asked)};
    const auto last =
        std::find_if(r.all.begin(), r.all.end(), [](const candidate& c) { return !c.serves(); }) -
        1;
    CHECK(r.all.front().predicted_us > last->predicted_us);
    CHECK_THAT(as_text(r), Contains("measured us") && !Contains("predicted"));
    CHECK_THAT(as_markdown(r), Contains("| instance | measured us |"));
    const auto j = nlohmann::json::parse(as_json(r));
    CHECK(j["instances"][0]["time"] == "measured");
    CHECK(j["instances"][0]["spread"] == 0.01);
}

TEST_CASE("a pattern takes the instances with it in their names", "[bench]") {
    bench_request asked = request("q4_K,64,512,1");
    asked.pattern = "matvec.q4_K.*_r2_";
    for (const candidate& c : candidates_of(asked))
        CHECK_THAT(c.instance, Catch::StartsWith("matvec.q4_K.") && Contains("_r2_"));
    asked.pattern = "no_such";
    CHECK_THROWS_WITH(candidates_of(asked), Contains("matches 'no_such': catena instances"));
}

TEST_CASE("a shape that no instance serves is refused with the reason", "[bench]") {
    bench_request asked = request("fp8_e4m3,64,512,64");
    asked.rows = host_machine(1)->equip(table_for("sm_80"));
    CHECK_THROWS_WITH(candidates_of(asked),
                      Contains("no instance of sm_80 serves fp8_e4m3, 64 rows x 512 columns") &&
                          Contains("before sm_89 tensor cores multiply no fp8") &&
                          Contains("catena coverage --arch sm_80"));
}
