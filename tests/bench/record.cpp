// Taking turns, and the record that a run leaves.
#include "catena_test/catch.hpp"

#include "agenda.hpp"
#include "contest.hpp"
#include "record.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

using namespace catena;
using namespace catena::bench;

namespace {

struct scratch {
    std::filesystem::path at =
        std::filesystem::temp_directory_path() / ("catena_record_" + std::to_string(::getpid()));
    scratch() { std::filesystem::create_directory(at); }
    ~scratch() { std::filesystem::remove_all(at); }
    std::string file() const { return at / "record.json"; }
};

const measured_on here = {"simulated GPU", "1.2", "13.0", "2026-01-01",
                          "simulated",     "",    1980,   2619};

measured_case some_case() {
    measured_case c;
    c.kind = "chain";
    c.model = "a model";
    c.name = "ffn input";
    c.columns = 1;
    c.floor_launches = 2;
    c.bytes = 3e6;
    c.floor = {1.2, 3e6, 2.9e6};
    c.times["catena"] = {21, 4.0, 0.01};
    c.times["catena, host clock"] = {21, 5.0, 0.01};
    c.times["ggml-cuda"] = {21, 10.0, 0.02};
    return c;
}

}  // namespace

TEST_CASE("Contenders take turns, and each has as many samples as there are rounds") {
    std::string order;
    const auto takes = [&](char who, double us) {
        return contender{std::string(1, who), [&order, who, us] {
                             order += who;
                             return us;
                         }};
    };
    const auto times = contest({takes('a', 3), takes('b', 7)}, 16);
    REQUIRE(times.size() == 2);
    CHECK(times[0].samples == 16);
    CHECK(std::abs(times[0].median - 3) < 1e-6);
    CHECK(std::abs(times[1].median - 7) < 1e-6);
    CHECK(order.size() == 32);
    CHECK(order != std::string(16, 'a') + std::string(16, 'b'));
    CHECK(contest({takes('c', 5)}, 3)[0].samples == 3);  // the ones before are forgotten
}

TEST_CASE("Attainable is the launches' empty nodes and the bytes at read bandwidth") {
    CHECK(std::abs(some_case().attainable_us() - (2 * 1.2 + 1.0)) < 1e-9);
}

TEST_CASE("A record goes on where it stopped") {
    const scratch s;
    {
        record r(s.file(), here);
        r.miss("ggml-cuda", "build ggml with CUDA");
        r.add(some_case());
        measured_case instance = some_case();
        instance.kind = "instance";
        instance.instances = {"row.sm_90"};
        r.add(instance);
    }
    const record r(s.file(), here);
    CHECK(r.has("chain", "a model", "ffn input", 1));
    CHECK_FALSE(r.has("chain", "a model", "ffn input", 2));
    CHECK_FALSE(r.has("layer", "a model", "ffn input", 1));
    CHECK(r.has_instance("row.sm_90"));
    CHECK_FALSE(r.has_instance("another.sm_90"));
}

TEST_CASE("A record that is gone on with remembers that results were wrong") {
    const scratch s;
    measured_case bad = some_case();
    bad.wrong = true;
    {
        record r(s.file(), here);
        r.add(some_case());
        CHECK(r.wrong() == 0);
        r.add(bad);
    }
    CHECK(record(s.file(), here).wrong() == 1);
}

TEST_CASE("A line says what Catena takes, or why it has no time") {
    measured_case c = some_case();
    CHECK_THAT(line_of(c), Catch::Contains("a model ffn input columns 1  ggml-cuda 2.00x"));
    c.times.clear();
    c.missing["catena"] = "it did not end";
    CHECK_THAT(line_of(c),
               Catch::Contains("-  a model ffn input columns 1  catena: it did not end"));
}

TEST_CASE("All models come for one number of columns before the next, and instances last") {
    const std::vector<agenda_item> all = {
        {"layers", 1}, {"chains", 1}, {"layers", 8}, {"chains", 8}, {"instances", 0}};
    CHECK(agenda({"instances", "layers", "chains"}, {1, 8}) == all);
    CHECK(agenda({"chains"}, {1}) == std::vector<agenda_item>{{"chains", 1}});
}

TEST_CASE("A record of another machine is refused, with the field") {
    const scratch s;
    record(s.file(), here).add(some_case());
    measured_on other = here;
    other.driver = "9.9";
    CHECK_THROWS_WITH(record(s.file(), other), Catch::Contains("driver \"1.2\"") &&
                                                   Catch::Contains("\"9.9\": name another file"));
    std::ofstream(s.file()) << "{}";
    CHECK_THROWS_WITH(record(s.file(), here), Catch::Contains("is not a benchmark's record"));
}

TEST_CASE("A line compares like with like: a peer on the host's clock with Catena on that clock") {
    const std::string line = line_of(some_case());
    CHECK(line.find("4.00") != std::string::npos);
    CHECK(line.find("85%") != std::string::npos);
    CHECK(line.find("ggml-cuda 2.00x") != std::string::npos);
}

TEST_CASE("A contender that is missing is named with the reason") {
    measured_case c = some_case();
    c.missing["cublasLt"] = "experts are not its kind of product";
    CHECK(line_of(c).find("cublasLt: experts are not") != std::string::npos);
}

TEST_CASE("The sample of compare and page has the fields that a record has") {
    const scratch s;
    measured_case full = some_case();
    full.nmse = 1e-5;
    record(s.file(), here).add(full);
    const auto parsed = [](const std::string& path) {
        return nlohmann::json::parse(std::ifstream(path));
    };
    const auto fields = [](const nlohmann::json& j) {
        std::set<std::string> names;
        for (const auto& [name, value] : j.items()) names.insert(name);
        return names;
    };
    const nlohmann::json written = parsed(s.file());
    nlohmann::json sample = parsed(CATENA_TEST_DATA "/bench/simulated.json");
    REQUIRE(sample["simulated"] == true);
    sample.erase("simulated");
    CHECK(fields(sample) == fields(written));
    CHECK(sample["format"] == written["format"]);
    CHECK(fields(sample["provenance"]) == fields(written["provenance"]));
    for (const auto& c : sample["cases"])
        if (c["kind"] == "chain" && c["times"].contains("catena"))
            CHECK(fields(c) == fields(written["cases"][0]));
}
