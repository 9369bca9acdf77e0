// What the generator asks nvcc for, and what it makes of the answer. A script stands in for nvcc.
#include "nvcc.hpp"

#include "catena_catalogue.hpp"
#include "code_cost.hpp"
#include "cubin.hpp"
#include "expand.hpp"
#include "generate_set.hpp"
#include "text_file.hpp"

#include "catena_test/catch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::evidence;
using namespace catena::generator;
using Catch::Matchers::Contains;
using catena::tool::write_text;
namespace fs = std::filesystem;

namespace {

const arch& sm_90 = *arch_named("sm_90");

/// A folder with an `nvcc`: it says its arguments, and writes a cubin of two instructions.
struct stand_in {
    fs::path folder = fs::temp_directory_path() / ("catena_nvcc_" + std::to_string(::getpid()));
    std::string nvcc = folder / "nvcc";

    /// `then` are lines of the script behind what it says.
    explicit stand_in(const std::string& then = {}) {
        const std::string cubin = folder / "two.cubin";
        write_text(cubin, cubin_of({{"kernel", {{0x118, 0}, {0x14d, 0}}}}));
        write_text(nvcc, "#!/bin/sh\necho \"arguments: $*\"\n" + then +
                             "\nwhile [ \"$1\" != -o ]; do shift; done\ncp '" + cubin +
                             "' \"$2\"\n");
        fs::permissions(nvcc, fs::perms::owner_all);
    }
    ~stand_in() { fs::remove_all(folder); }
    stand_in(const stand_in&) = delete;
    stand_in& operator=(const stand_in&) = delete;

    std::vector<std::string> files() const {
        std::vector<std::string> out;
        for (const auto& entry : fs::directory_iterator(folder))
            out.push_back(entry.path().filename());
        std::sort(out.begin(), out.end());
        return out;
    }
    compiled_file compiled() const {
        return compile(nvcc, sm_90, {"/some headers"}, folder / "a.cu", folder / "a");
    }
    device_compiler compiler() const { return {nvcc, {}}; }
};

std::vector<row> two_rows() {
    const instance_set set = expand_for(sm_90, computations_of(catena_catalogue()), nullptr);
    return {set.rows.front(), set.rows.back()};
}

/// The exit code of the program NAME_generate of Catena's own catalogue.
int generate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "test_generate");
    std::vector<char*> argv;
    for (std::string& one : arguments) argv.push_back(one.data());
    return generate_set("test", catena_catalogue(), nullptr, static_cast<int>(argv.size()),
                        argv.data());
}

const std::string shape = "--shape=q4_K,4096,4096,1";

}  // namespace

TEST_CASE("nvcc is told the GPU and the folders of headers, and leaves its cubin alone behind") {
    const stand_in by;
    const compiled_file out = by.compiled();
    CHECK_THAT(out.said, Contains("-I/some headers"));
    CHECK_THAT(out.said, Contains("-arch=sm_90a"));
    CHECK_THAT(out.said, Contains((by.folder / "a.cu").string()));
    CHECK(out.sass_bytes == 32);
    CHECK(out.seconds >= 0);
    CHECK(by.files() == std::vector<std::string>{"nvcc", "two.cubin"});
}

TEST_CASE("A source that nvcc refuses is an error with nvcc's words") {
    const stand_in by("echo 'no such type'; exit 1");
    CHECK_THROWS_WITH(by.compiled(), Contains("nvcc refuses") && Contains("no such type"));
}

TEST_CASE("An nvcc that is interrupted has refused nothing") {
    const stand_in by("kill -INT $$");
    CHECK_THROWS_AS(by.compiled(), interrupted);
}

TEST_CASE("A kernel's source that the build did not write is named") {
    CHECK_THROWS_WITH(kernel_source(sm_90, "no_family"),
                      Contains("no_family.cu") && Contains("CATENA_WEIGHTS=all"));
    const stand_in by;
    CHECK_THROWS_WITH(kept_or_compiled(by.nvcc, sm_90, {}, "no_family", by.folder / "a"),
                      Contains("no_family.cu"));
}

TEST_CASE("What the build kept stands for a source while no header is newer") {
    const stand_in by;
    const auto said = [&] {
        return kept_or_compiled(by.nvcc, sm_90, {by.folder}, "matvec_q4_K", by.folder / "a").said;
    };
    const auto built = fs::last_write_time(kernel_source(sm_90, "matvec_q4_K"));
    for (const auto& entry : fs::directory_iterator(by.folder)) fs::last_write_time(entry, built);
    CHECK_THAT(said(), Contains("catena_matvec_q4_K"));
    const std::string header = by.folder / "kernel.hpp";
    write_text(header, "");
    fs::last_write_time(header, fs::file_time_type::clock::now() + std::chrono::hours(1));
    CHECK_THAT(said(), Contains("matvec_q4_K.cu"));
}

TEST_CASE("Each row is compiled alone, and costs what nvcc made of it") {
    const stand_in by;
    std::vector<std::string> told;
    const code_costs costs = code_costs_of(sm_90, two_rows(), by.compiler(), by.folder / "rows",
                                           [&](int, int all, const std::string& name) {
                                               CHECK(all == 2);
                                               told.push_back(name);
                                           });
    CHECK(told.size() == 2);
    REQUIRE(costs.rows.size() == 2);
    for (const code_cost& one : costs.rows) {
        CHECK(one.bytes == 32);
        CHECK(one.seconds >= 0);
    }
    CHECK(costs.empty_file_seconds >= 0);
}

TEST_CASE("A row that nvcc refuses ends the weighing with nvcc's words") {
    // The file without rows is compiled first, and has a folder called `none`.
    const stand_in by("case \"$*\" in */none/*) ;; *) echo 'out of registers'; exit 1 ;; esac");
    CHECK_THROWS_WITH(code_costs_of(sm_90, two_rows(), by.compiler(), by.folder / "rows"),
                      Contains("out of registers"));
}

TEST_CASE("A set of one's own is written once, with the rows that a matmul needs") {
    const stand_in by;
    const fs::path out = by.folder / "set";
    REQUIRE(generate({out, "sm_90", shape}) == 0);
    const fs::path table = out / "instances/sm_90/table.cpp";
    REQUIRE(fs::exists(table));
    const auto then = fs::last_write_time(table) - std::chrono::hours(1);
    fs::last_write_time(table, then);
    CHECK(generate({out, "sm_90", shape}) == 0);
    CHECK(fs::last_write_time(table) == then);
}

TEST_CASE("A set of one's own that has a budget asks nvcc what its rows cost") {
    const stand_in by;
    const fs::path out = by.folder / "set";
    CHECK(generate({out, "sm_90", shape, "--nvcc", by.nvcc, "--bytes", "1KB"}) == 0);
    CHECK(fs::exists(out / "instances/sm_90/table.cpp"));
    CHECK(generate({out, "sm_90", shape, "--nvcc", by.nvcc, "--bytes", "31B"}) == 2);
    CHECK(generate({out, "sm_90", shape, "--nvcc", by.nvcc, "--seconds", "5min"}) == 0);
}

TEST_CASE("A set of one's own is refused for a GPU or a budget that it cannot have") {
    const stand_in by;
    const fs::path out = by.folder / "set";
    CHECK(generate({out, "sm_1"}) == 2);
    CHECK(generate({out, "sm_90", "--nvcc", by.nvcc, "--bytes", "1KB"}) == 2);
    CHECK(generate({out, "sm_90", shape, "--bytes", "1KB"}) != 0);  // without nvcc
    CHECK_FALSE(fs::exists(out));
}
