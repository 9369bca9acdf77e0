#include "output.hpp"

#include "failure.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;
using namespace catena::tool;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A directory of this test's own.
struct scratch_directory {
    std::string path = catena_test::scratch("output");
    scratch_directory() { fs::create_directories(path); }
    ~scratch_directory() { fs::remove_all(path); }
    int files() const {
        return static_cast<int>(
            std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
    }
};

}  // namespace

TEST_CASE("a file is written whole and replaces the one before", "[output]") {
    scratch_directory d;
    write_whole(d.path + "/a", "first");
    write_whole(d.path + "/a", "second");
    CHECK(content(d.path + "/a") == "second");
    CHECK(d.files() == 1);
}

TEST_CASE("a place that cannot be written is named, and nothing is left there", "[output]") {
    scratch_directory d;
    CHECK_THROWS_WITH(
        write_whole(d.path + "/none/a", "text"),
        Catch::Contains(d.path + "/none/a: cannot be written: No such file or directory"));
    fs::create_directories(d.path + "/directory/inside");
    CHECK_THROWS_AS(write_whole(d.path + "/directory", "text"), tool::failure);
    CHECK(d.files() == 1);  // no draft beside it
    CHECK_THROWS_AS(refuse_unwritable(d.path + "/none/a"), tool::failure);
    refuse_unwritable(d.path + "/a");
    refuse_unwritable("");
    CHECK(d.files() == 1);
}
