// The files in the tree against what the generator makes of the catalogue and the policies.
#include "catena_catalogue.hpp"
#include "engine.hpp"
#include "files.hpp"
#include "policies.hpp"
#include "registers.hpp"
#include "render.hpp"
#include "tuning.hpp"

#include "catena/match/pattern.hpp"
#include "catena_test/catch.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

using namespace catena::evidence;
using namespace catena::generator;

namespace {

std::vector<rendered_file> rendered() {
    const catalogue all = catena_catalogue();
    const tunings measured = read_tunings(CATENA_SOURCE_DIR);
    return render(all.chains, expand(computations_of(all), read_registers(CATENA_SOURCE_DIR),
                                     measured, read_engine(CATENA_SOURCE_DIR)));
}

}  // namespace

TEST_CASE("The instance files are what the generator makes of the catalogue") {
    const std::vector<difference> found = compare(rendered(), CATENA_SOURCE_DIR);
    std::string said;
    for (const difference& d : found) said += sentence(d) + "\n";
    INFO(said << "to mend it: " << CATENA_GENERATE << " --root " << CATENA_SOURCE_DIR);
    CHECK(found.empty());
}

TEST_CASE("The generator makes the same files every time") {
    const std::vector<rendered_file> once = rendered(), again = rendered();
    REQUIRE(once.size() == again.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
        CHECK(once[i].path == again[i].path);
        CHECK(once[i].content == again[i].content);
    }
}

TEST_CASE("What an engine was measured to be faster at is compiled into its arch's table") {
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("catena_engine_" + std::to_string(::getpid()));
    const std::filesystem::path file = root / engine_path(*catena::arch_named("sm_90"));
    std::filesystem::create_directories(file.parent_path());
    const auto medians_in = [&](const std::string& text) {
        std::ofstream(file) << text;
        return read_engine(root);
    };
    const catalogue all = catena_catalogue();
    const std::vector<rendered_file> files =
        render(all.chains, expand(computations_of(all), {}, {},
                                  medians_in("# measured\nengine 000000000000002a 7.5 8\n"
                                             "models q4_K+q6_K 17 32 0.75 a.json\n")));
    for (const rendered_file& f : files) {
        INFO(f.path);
        for (const char* line :
             {"{42u, 7.500000f, 8.000000f}",
              "{format_set{} | format::q4_K | format::q6_K, 17, 32, 0.750000f,\n     \"a.json\"}",
              "t.engine_count = 1;", "t.verdict_count = 1;"}) {
            const bool told = f.content.find(line) != std::string::npos;
            CHECK(told == (f.path == "instances/sm_90/table.cpp"));
        }
    }
    CHECK_THROWS_WITH(medians_in("engine 12\n"), Catch::Contains("engine.txt:1: expected"));
    CHECK_THROWS_WITH(medians_in("a.row 0000000000000012 1 0\n"),
                      Catch::Contains("belong into tuning.json"));
    std::filesystem::remove_all(root);
}

TEST_CASE("Every generated file is stamped, and an edit by hand does not fit its hash") {
    for (const rendered_file& file : rendered()) {
        INFO(file.path);
        CHECK(is_stamped(file.content));
        const std::string body = file.content.substr(file.content.find('\n') + 1);
        CHECK(stamped("//", body) == file.content);
        CHECK(stamped("//", body + " ").find(file.content.substr(0, file.content.find('\n'))) ==
              std::string::npos);
    }
}

TEST_CASE("Instances grow with formats and listed sets, not with powers of them") {
    const catalogue all = catena_catalogue();
    std::map<catena::skeleton, std::size_t> launches;
    for (const catena::computation& c : computations_of(all)) ++launches[c.kind()];
    const auto with_norm = std::count_if(all.launches.begin(), all.launches.end(), norm_inside);
    const auto routed =
        std::count_if(all.launches.begin(), all.launches.end(), [&](catena::format_set weights) {
            return std::any_of(all.chains.begin(), all.chains.end(), [&](const auto& chain) {
                return catena::chain::weights_of(chain).contains(weights) &&
                       catena::chain::routed_matvec_part(chain, weights).has_value();
            });
        });
    const auto turned =
        std::count_if(all.launches.begin(), all.launches.end(), [&](catena::format_set weights) {
            return std::any_of(all.chains.begin(), all.chains.end(), [&](const auto& chain) {
                return catena::chain::turns_heads(chain) && norm_inside(weights) &&
                       catena::chain::weights_of(chain).contains(weights);
            });
        });
    CHECK(routed == 2);
    CHECK(turned == 3);
    CHECK(launches[catena::skeleton::matvec] ==
          all.launches.size() + static_cast<std::size_t>(with_norm + routed + turned));
    catena::format_set weights;
    for (const catena::format_set together : all.launches) weights = weights | together;
    std::size_t layouts = 0;  // of all weights
    for (const catena::format f : weights)
        layouts += static_cast<std::size_t>(catena::matmul_layouts(f).size());
    CHECK(launches[catena::skeleton::matmul] == layouts);
    // One for each kind of value, in ggml's activations and in those of engines, one for routers,
    // and one each for convolutions, the delta rule, scans and attention.
    CHECK(launches[catena::skeleton::row] <= 2 * 6 + 5);
}
