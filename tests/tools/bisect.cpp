// catena bisect: the search, and the command on engines that fail with certain chains.
#include "catena_test/catch.hpp"

#include "bisect/smallest.hpp"
#include "workplace.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

using namespace catena_test;
using catena::tool::smallest_failing;

namespace {

using names = std::vector<std::string>;

bool has(const names& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// A shell script in place of an engine: it fails unless one of these chains is off.
void write_engine(const workplace& w, const std::string& one, const std::string& other) {
    std::ofstream(w.path + "/engine.sh") << "case \",$CATENA_CHAINS_OFF,\" in *," << one << ",*|*,"
                                         << other << ",*) exit 0;; esac\nexit 1\n";
}

}  // namespace

TEST_CASE("the smallest part that fails is found", "[bisect]") {
    names all;
    for (int i = 0; i < 23; ++i) all.push_back("c" + std::to_string(i));
    int runs = 0;
    for (const names& guilty : {names{"c0"}, names{"c17"}, names{"c2", "c21"},
                                names{"c5", "c6", "c7"}, names{"c0", "c11", "c22"}}) {
        const auto fails = [&](const names& on) {
            ++runs;
            return std::all_of(guilty.begin(), guilty.end(),
                               [&](const std::string& g) { return has(on, g); });
        };
        CHECK(smallest_failing(all, fails) == guilty);
    }
    CHECK(runs < 5 * 23 * 3);
}

TEST_CASE("catena bisect names the chains with which a command fails", "[bisect]") {
    workplace w;
    write_engine(w, "norm_input", "norm_input");
    const outcome one = w.run("bisect -- sh engine.sh");
    CHECK(one.code == 1);
    CHECK_THAT(one.out, Catch::Contains("fails with norm_input on"));
    CHECK_THAT(one.out, Catch::Contains("CATENA_CHAINS_OFF=norm_input leaves it to the engine"));
    CHECK_THAT(one.err, Catch::Contains("0 of"));

    write_engine(w, "gated_input", "norm_input");
    const auto two = nlohmann::json::parse(w.run("bisect --json -- sh engine.sh").out);
    CHECK(two["chains"].size() == 2);
}

TEST_CASE("catena bisect says when there is nothing to find", "[bisect]") {
    workplace w;
    CHECK(w.run("bisect -- true").code == 2);
    CHECK_THAT(w.run("bisect -- true").err, Catch::Contains("succeeds with every chain on"));
    CHECK_THAT(w.run("bisect -- false").err, Catch::Contains("with every chain off too"));
    CHECK_THAT(w.run("bisect -- no-such-program").err, Catch::Contains("cannot be run"));
    CHECK(w.run("bisect").code == 2);
}
