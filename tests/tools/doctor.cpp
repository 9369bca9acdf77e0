// What catena doctor concludes, of machines that there are not.
#include "catena_test/catch.hpp"

#include "doctor/findings.hpp"

using namespace catena::tool;

namespace {

diagnosis healthy() {
    diagnosis d;
    d.cuda = {true, 13000, 13010, "", {{"NVIDIA H100", 90, "sm_90", ""}}};
    d.sets = {{"", "sm_80", 300, 0}, {"", "sm_90", 355, 355}};
    return d;
}

std::string only_finding(const diagnosis& d) {
    const auto all = d.findings();
    REQUIRE(all.size() == 1);
    return all.front();
}

}  // namespace

TEST_CASE("a GPU with a set of its own is no finding, whatever other sets lack", "[doctor]") {
    CHECK(healthy().findings().empty());
}

TEST_CASE("each thing that falls back is one finding", "[doctor]") {
    diagnosis d = healthy();
    SECTION("no CUDA in the build") {
        d.cuda = {false, 0, 0, "this command was built without CUDA: build again", {}};
        CHECK(only_finding(d) == d.cuda.problem);
    }
    SECTION("a driver without a GPU") {
        d.cuda.gpus.clear();
        CHECK_THAT(only_finding(d), Catch::Contains("no GPU"));
    }
    SECTION("an older set") {
        d.cuda.gpus[0] = {"H200", 90, "sm_80", "device 0 is sm_90, which has no set here"};
        d.sets = {{"", "sm_80", 300, 300}};
        CHECK(only_finding(d) == "GPU 0: device 0 is sm_90, which has no set here");
    }
    SECTION("a second GPU that no set serves") {
        d.cuda.gpus.push_back({"Tesla P4", 61, "", "no instances run on CUDA device 1"});
        CHECK(only_finding(d) == "GPU 1: no instances run on CUDA device 1");
    }
    SECTION("kernels of some formats") {
        d.sets[1].kernels = 100;
        CHECK_THAT(only_finding(d), Catch::Contains("100 of 355"));
    }
    SECTION("an engine's own set without kernels") {
        d.sets.insert(d.sets.begin(), {"my_kernels", "sm_90", 20, 0});
        CHECK(only_finding(d) ==
              "GPU 0: my_kernels::sm_90 has kernels for 0 of 20 rows: enable the language CUDA");
    }
    SECTION("an engine's own sets for other archs") {
        d.sets.insert(d.sets.begin(), {"my_kernels", "sm_80", 20, 20});
        CHECK(only_finding(d) == "GPU 0: my_kernels has no set of sm_90: name it in ARCHS");
    }
    SECTION("an environment that cannot be followed") {
        d.environment = "CATENA_VERIFY is 'yes': set it to 0 or 1, or unset it";
        CHECK(only_finding(d) == d.environment);
    }
}

TEST_CASE("the diagnosis of this machine has every set, and this environment", "[doctor]") {
    setenv("CATENA_MAX_COLUMNS", "many", 1);
    const diagnosis d = diagnose();
    unsetenv("CATENA_MAX_COLUMNS");
    CHECK(d.sets.size() >= 7);
    CHECK_THAT(d.environment, Catch::Contains("CATENA_MAX_COLUMNS"));
    CHECK(d.set_by_environment == std::vector<std::string>{"CATENA_MAX_COLUMNS=many"});
    CHECK(diagnose().environment.empty());
}
