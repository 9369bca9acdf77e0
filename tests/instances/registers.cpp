// What ptxas says, and the record of it.
#include "registers.hpp"
#include "catena_catalogue.hpp"
#include "files.hpp"

#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <unistd.h>
#include <filesystem>

using namespace catena::generator;

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
}

TEST_CASE("A record is read back as it was written, and rows pick it up by name") {
    const auto computations = computations_of(catena_catalogue());
    const instance_set set = expand(computations, {}).back();
    const std::string name = catena::row_name(set.rows[3], set.target->name);
    const auto root =
        std::filesystem::temp_directory_path() / ("catena_registers_" + std::to_string(::getpid()));

    write_text(root / registers_path(*set.target), registers_text(set, {{name, 77}}));
    const registers_by_name known = read_registers(root);
    CHECK(known == registers_by_name{{name, 77}});
    CHECK(expand(computations, known).back().rows[3].registers == 77);
    CHECK(expand(computations, known).back().rows[4].registers == 0);

    write_text(root / registers_path(*set.target), "# words\n" + name + " many\n");
    CHECK_THROWS_WITH(read_registers(root), registers_path(*set.target) +
                                                ":2: expected '<row name> <registers>', found '" +
                                                name + " many'");
    std::filesystem::remove_all(root);
}
