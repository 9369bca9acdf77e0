// Writing files: only what changed, whole or not at all, and nothing that is not ours.
#include "files.hpp"

#include "catena_catalogue.hpp"
#include "expand.hpp"
#include "registers.hpp"
#include "text_file.hpp"

#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace catena::evidence;
using namespace catena::generator;
using catena::tool::read_text, catena::tool::write_text;
namespace fs = std::filesystem;

namespace {

/// An empty folder for as long as the test runs.
struct scratch {
    fs::path root = fs::temp_directory_path() / ("catena_files_" + std::to_string(::getpid()));
    scratch() { fs::create_directories(root); }
    ~scratch() { fs::remove_all(root); }
};

const std::vector<rendered_file> two = {{"instances/a/rows.inc", stamped("//", "one\n")},
                                        {"instances/b/rows.inc", stamped("//", "two\n")}};

/// The exit code of the generator's program on a project's root.
int generate(const fs::path& root, const std::string& arguments) {
    const std::string command = CATENA_GENERATE " --root '" + root.string() + "' " + arguments;
    return WEXITSTATUS(std::system(command.c_str()));
}

}  // namespace

TEST_CASE("Missing files are written, and a second run writes nothing") {
    const scratch folder;
    CHECK(update(two, folder.root).size() == 2);
    CHECK(read_text(folder.root / "instances/a/rows.inc") == two[0].content);
    CHECK(update(two, folder.root).empty());
}

TEST_CASE("A file that did not change keeps its time") {
    const scratch folder;
    (void)update(two, folder.root);
    const fs::path kept = folder.root / "instances/a/rows.inc";
    const auto then = fs::last_write_time(kept) - std::chrono::hours(1);
    fs::last_write_time(kept, then);
    write_text(folder.root / "instances/b/rows.inc", "edited by hand");
    const std::vector<difference> found = update(two, folder.root);
    REQUIRE(found.size() == 1);
    CHECK(sentence(found[0]) == "instances/b/rows.inc differs");
    CHECK(fs::last_write_time(kept) == then);
}

TEST_CASE("A stale generated file is removed, any other file is left alone") {
    const scratch folder;
    (void)update(two, folder.root);
    write_text(folder.root / "instances/a/registers.txt", "not generated\n");
    const std::vector<rendered_file> one = {two[1]};
    CHECK(compare(one, folder.root).size() == 1);
    const std::vector<difference> found = update(one, folder.root);
    REQUIRE(found.size() == 1);
    CHECK(sentence(found[0]) == "instances/a/rows.inc is stale");
    CHECK_FALSE(fs::exists(folder.root / "instances/a/rows.inc"));
    CHECK(fs::exists(folder.root / "instances/a/registers.txt"));
}

TEST_CASE("Comparing writes nothing") {
    const scratch folder;
    CHECK(compare(two, folder.root).size() == 2);
    CHECK(fs::is_empty(folder.root));
}

TEST_CASE("A write that fails leaves the file as it was") {
    const scratch folder;
    (void)update(two, folder.root);
    const fs::path taken = folder.root / "instances/a/rows.inc.new";
    fs::create_directories(taken / "occupied");  // where the new content would be written first
    CHECK_THROWS_WITH(write_text(folder.root / "instances/a/rows.inc", "new"),
                      Catch::Matchers::Contains("cannot write"));
    CHECK(read_text(folder.root / "instances/a/rows.inc") == two[0].content);
}

TEST_CASE("A full disk is named, and the file stays as it was") {
    const scratch folder;
    (void)update(two, folder.root);
    // What is written beside the file goes to a device without room.
    fs::create_symlink("/dev/full", folder.root / "instances/a/rows.inc.new");
    CHECK_THROWS_WITH(write_text(folder.root / "instances/a/rows.inc", "new"),
                      Catch::Matchers::Contains("the space left"));
    CHECK(read_text(folder.root / "instances/a/rows.inc") == two[0].content);
    CHECK_FALSE(fs::exists(fs::symlink_status(folder.root / "instances/a/rows.inc.new")));
}

TEST_CASE("A file that is not there is empty, one that cannot be read is an error") {
    const scratch folder;
    CHECK(read_text(folder.root / "none").empty());
    CHECK_THROWS_WITH(read_text(folder.root), Catch::Matchers::Contains("cannot be read"));
}

TEST_CASE("A name without a folder is a file of the current one") {
    const scratch folder;
    const fs::path before = fs::current_path();
    fs::current_path(folder.root);
    write_text("bare", "content");
    fs::current_path(before);
    CHECK(read_text(folder.root / "bare") == "content");
}

TEST_CASE("The generator writes nothing to a folder that is no project") {
    const scratch folder;
    CHECK(generate(folder.root, "2> /dev/null") == 2);
    CHECK(fs::is_empty(folder.root));
}

TEST_CASE("The generator's program says which file differs, and mends it") {
    const scratch folder;
    write_text(folder.root / "generators/catalogue.hpp", "");  // by which it knows the project
    const fs::path out = folder.root / "out", table = folder.root / "instances/sm_90/table.cpp";
    const std::string to_out = "> '" + out.string() + "'";
    REQUIRE(generate(folder.root, to_out) == 0);
    const std::string content = read_text(table);
    CHECK_FALSE(content.empty());
    CHECK(generate(folder.root, "--check " + to_out) == 0);
    CHECK(read_text(out).empty());

    write_text(table, "edited by hand");
    CHECK(generate(folder.root, "--check " + to_out) == 1);
    CHECK_THAT(read_text(out), Catch::Contains("instances/sm_90/table.cpp differs") &&
                                   Catch::Contains("to mend it: generate --root"));
    CHECK(read_text(table) == "edited by hand");
    CHECK(generate(folder.root, to_out) == 0);
    CHECK_THAT(read_text(out), Catch::Contains(", 1 written or removed"));
    CHECK(read_text(table) == content);
}

TEST_CASE("The generator's program takes over the registers of a log of nvcc") {
    const scratch folder;
    write_text(folder.root / "generators/catalogue.hpp", "");
    const catena::arch& sm_90 = *catena::arch_named("sm_90");
    const fs::path log = folder.root / "log", record = folder.root / registers_path(sm_90);
    const std::string arguments = "--registers '" + log.string() + "' > /dev/null 2> /dev/null";
    const catena::row r = expand_for(sm_90, computations_of(catena_catalogue()), nullptr).rows[0];
    write_text(log, "ptxas info    : Compiling entry function '" + symbol(r, sm_90) +
                        "' for 'sm_90a'\nptxas info    : Used 47 registers\n");
    CHECK(generate(folder.root, arguments) == 0);
    const records_by_name known = read_register_file(record);
    REQUIRE(known.size() == 1);
    CHECK(known.begin()->first == catena::row_name(r, sm_90.name));
    CHECK(known.begin()->second.registers == 47);

    write_text(log, "no words of ptxas");
    CHECK(generate(folder.root, arguments) == 2);
    CHECK(read_register_file(record) == known);
}
