// Machine code as it is read from a cubin. The words of instructions are those that CUDA 13.0
// wrote.
#include "sass.hpp"

#include "cubin.hpp"

#include "catena_test/catch.hpp"

#include <string>
#include <vector>

namespace catena::evidence {
namespace {

constexpr sass_words load_16_bytes{0x0000000404047981, 0x000ea2000c1e9d00},
    add_floats{0x0000000207027221, 0x000fe20000000000},
    half_or_integer_add{0x3c003c00000b7835, 0x004fce0000000005},
    leave{0x000000000000794d, 0x000fea0003800000};
// Both are the branch of one loop: it leads 12 instructions back if the predicate P1 is true.
constexpr sass_words back_on_sm_80{0xffffff4000001947, 0x000fea000383ffff},
    back_on_sm_90{0xfffffffc00d01947, 0x000fea000383ffff};

sass_function read(const std::vector<sass_words>& code, const char* target) {
    const auto all = read_sass(cubin_of({{"kernel", code}}), *arch_named(target));
    REQUIRE(all.size() == 1);
    return all.front();
}

TEST_CASE("A file that is no cubin is refused") {
    CHECK_THROWS_WITH(read_sass(std::string(100, 'x'), *arch_named("sm_90")),
                      Catch::Matchers::Contains("no ELF file"));
    CHECK_THROWS_WITH(sass_bytes("\x7f"
                                 "ELF"),
                      Catch::Matchers::Contains("within a header"));
}

TEST_CASE("Functions of a cubin are read in their order, and their bytes are counted") {
    const std::string cubin = cubin_of({{"first", {add_floats, leave}}, {"second", {leave}}});
    const auto all = read_sass(cubin, *arch_named("sm_90"));
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "first");
    CHECK(all[0].code.size() == 2);
    CHECK(all[0].count(sass_kind::multiply) == 1);
    CHECK(all[1].name == "second");
    CHECK(all[1].code.size() == 1);
    CHECK(sass_bytes(cubin) == 48);
}

TEST_CASE("An instruction is read with what it tells the scheduler") {
    const sass_function f = read({load_16_bytes, add_floats, leave}, "sm_90");
    CHECK(f.code[0].kind == sass_kind::load16);
    CHECK(f.code[0].always);
    CHECK(f.code[0].result_to == 2);
    CHECK(f.code[0].read_to == sass_instruction::none);
    CHECK(f.code[0].waits == 0);
    CHECK(f.code[0].stall == 1);
    CHECK(f.code[1].at == 16);
    CHECK(f.code[1].kind == sass_kind::multiply);
    CHECK_FALSE(f.code[1].leaves);
    CHECK(f.code[2].kind == sass_kind::control);
    CHECK(f.code[2].leaves);
    CHECK(f.code[2].stall == 5);
}

TEST_CASE("A branch leads where the GPU's encoding says") {
    for (const auto& [target, back] :
         {std::pair("sm_80", back_on_sm_80), std::pair("sm_90", back_on_sm_90)}) {
        CAPTURE(target);
        std::vector<sass_words> code(13, add_floats);
        code.push_back(back);
        code.push_back(leave);
        const sass_function f = read(code, target);
        CHECK(f.code[13].branch);
        CHECK_FALSE(f.code[13].always);
        CHECK(f.code[13].target == 2 * 16);
        CHECK_FALSE(f.code[12].branch);
    }
}

TEST_CASE("One opcode is an addition of integers since sm_100, and of halves before") {
    CHECK(read({half_or_integer_add}, "sm_90").code[0].kind == sass_kind::multiply);
    CHECK(read({half_or_integer_add}, "sm_100").code[0].kind == sass_kind::integer);
}

TEST_CASE("An instruction that is not known is named with its function and its byte") {
    constexpr sass_words unknown{0x0000000000007001, 0x000fe20000000000};
    CHECK_THROWS_WITH(read({leave, unknown}, "sm_90"),
                      Catch::Matchers::Contains("kernel has opcode 0x001 at byte 0x10"));
}

}  // namespace
}  // namespace catena::evidence
