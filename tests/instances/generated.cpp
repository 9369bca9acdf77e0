// The files in the tree against what the generator makes of the catalogue and the policies.
#include "files.hpp"
#include "registers.hpp"
#include "render.hpp"
#include "tuning.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <string>

using namespace catena::generator;

namespace {

std::vector<rendered_file> rendered() {
    const std::vector<catena::lowered_chain> chains = catalogue_chains();
    const tunings measured = read_tunings(CATENA_SOURCE_DIR);
    return render(chains,
                  expand(computations_of(chains), read_registers(CATENA_SOURCE_DIR), measured));
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

TEST_CASE("Every generated file is stamped, and an edit by hand does not fit its hash") {
    for (const rendered_file& file : rendered()) {
        INFO(file.path);
        CHECK(is_stamped(file.content));
        const std::string comment = file.path.ends_with(".cmake") ? "#" : "//";
        const std::string body = file.content.substr(file.content.find('\n') + 1);
        CHECK(stamped(comment, body) == file.content);
        CHECK(stamped(comment, body + " ").find(file.content.substr(0, file.content.find('\n'))) ==
              std::string::npos);
    }
}

TEST_CASE("The catalogue grows by entries, not by powers of its parts") {
    const std::vector<catena::lowered_chain> chains = catalogue_chains();
    const std::vector<catena::computation> computations = computations_of(chains);
    CHECK(chains.size() == 4 * 5);
    // One row launch for each kind of value, one matvec per set of formats, one matmul per format.
    CHECK(computations.size() == 3 + 5 + 4);
}
