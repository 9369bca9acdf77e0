// What ptxas says, and the record of it.
#include "registers.hpp"
#include "catena_catalogue.hpp"
#include "expand.hpp"
#include "text_file.hpp"

#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <unistd.h>
#include <filesystem>

using namespace catena::evidence;
using namespace catena::generator;
using catena::tool::write_text;

namespace {
constexpr catena::warp_codes one_format{{{235, 622, 55, 456, 146, 310}, {}}};
constexpr catena::warp_codes two_formats{
    {{232, 656, 67, 472, 106, 280}, {402, 958, 89, 549, 275, 560}}};
}  // namespace

TEST_CASE("Registers, stack and spills are read from the compiler's words") {
    const auto kernels = parse_ptxas(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'catena_one' for 'sm_90'\n"
        "ptxas info    : Function properties for catena_one\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 47 registers, used 1 barriers\n"
        "ptxas info    : Compiling entry function 'catena_two' for 'sm_90'\n"
        "ptxas info    : Function properties for catena_two\n"
        "    64 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads\n"
        "ptxas info    : Used 128 registers, 400 bytes cmem[0]\n"
        "ptxas info    : Function properties for called_by_two\n"
        "    8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\n");
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0].symbol == "catena_one");
    CHECK(kernels[0].registers == 47);
    CHECK(kernels[0].spilled_bytes == 0);
    CHECK(kernels[1].registers == 128);
    CHECK(kernels[1].stack_bytes == 64 + 8);
    CHECK(kernels[1].spilled_bytes == 64 + 4);
    CHECK(parse_ptxas("nothing of the kind").empty());
    CHECK_THROWS_WITH(parse_ptxas("Compiling entry function 'catena_one' for 'sm_90'\n"
                                  "Used 9223372036854775807 registers"),
                      "the compiler's log has 9223372036854775807 where a count was expected");
}

TEST_CASE("What a warp issues is read from the lines behind the compiler's words") {
    const auto kernels = parse_ptxas(
        "ptxas info    : Compiling entry function 'catena_one' for 'sm_90'\n"
        "ptxas info    : Compiling entry function 'catena_two' for 'sm_90'\n" +
        warp_code_line("catena_one", one_format) + warp_code_line("catena_two", two_formats) +
        warp_code_line("other", one_format));
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0].code == one_format);
    CHECK(kernels[1].code == two_formats);
}

TEST_CASE("A record is read back as it was written, and rows pick it up by name") {
    const auto computations = computations_of(catena_catalogue());
    const instance_set set = expand(computations, {}).back();
    const std::string name = catena::row_name(set.rows[3], set.target->name);
    const auto root =
        std::filesystem::temp_directory_path() / ("catena_registers_" + std::to_string(::getpid()));

    const std::string next = catena::row_name(set.rows[4], set.target->name);
    const std::string third = catena::row_name(set.rows[5], set.target->name);
    const records_by_name written{
        {name, {77, one_format}}, {next, {78, two_formats}}, {third, {32, {}}}};
    write_text(root / registers_path(*set.target), registers_text(*set.target, set.rows, written));
    const records_by_name known = read_registers(root);
    CHECK(known == written);
    const std::vector<catena::row> rows = expand(computations, known).back().rows;
    CHECK(rows[3].registers == 77);
    CHECK(rows[3].code == one_format);
    CHECK(rows[4].code == two_formats);
    CHECK(rows[5].registers == 32);
    CHECK(rows[5].code == catena::warp_codes{});
    CHECK(rows[6].registers == 0);

    for (const char* bad :
         {" many", " 77 1 2 3", " 77 1 2 3 4 5", " 77 1 2 3 4 5 6 7 8", " 77 1 2 3 x", " 0", "",
          " -77", " 77x", " 4294967297", " 9223372036854775807", " 77 -1 2 3 4 5 6",
          " 77 1 2 3 4 5 6 9223372036854775807", " 77 1 2 3 4 5 9223372036854775807"}) {
        write_text(root / registers_path(*set.target), "# words\n" + name + bad + "\n");
        CHECK_THROWS_WITH(read_registers(root),
                          (root / registers_path(*set.target)).string() +
                              ":2: expected '<row name> <registers>' and six counts or none, "
                              "found '" +
                              name + bad + "'");
    }
    std::filesystem::remove_all(root);
}
