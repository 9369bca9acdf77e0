#include "sass.hpp"

#include "catena_test/catch.hpp"

namespace catena::generator {
namespace {

sass_function code_of(std::vector<sass_kind> kinds) {
    sass_function f{"kernel", {}};
    for (const sass_kind kind : kinds)
        f.code.push_back({static_cast<std::uint32_t>(16 * f.code.size()), 0, kind, false});
    return f;
}

void branch(sass_function& f, std::size_t from, std::size_t to) {
    f.code[from].branch = true;
    f.code[from].target = static_cast<std::uint32_t>(16 * to);
}

TEST_CASE("The innermost loop with an instruction is found by its backward branch, and counted") {
    using enum sass_kind;
    sass_function f = code_of({memory, integer, dp4a, dp4a, control, integer, control, control});
    branch(f, 4, 1);  // with the dp4a
    branch(f, 6, 0);  // around it
    branch(f, 7, 7);  // where a kernel ends: a branch to itself
    const std::vector<sass_loop> loops = innermost_loops(f, dp4a);
    REQUIRE(loops.size() == 1);
    CHECK(loops[0].size() == 4);
    CHECK(loops[0].count(f, dp4a) == 2);
    CHECK(loops[0].count(f, integer) == 1);
    CHECK(f.count(integer) == 2);
    CHECK(innermost_loops(f, mma).empty());
}

TEST_CASE("A file that is no cubin is refused") {
    CHECK_THROWS_WITH(read_sass(std::string(100, 'x'), *arch_named("sm_90")),
                      Catch::Matchers::Contains("no ELF file"));
    CHECK_THROWS_WITH(sass_bytes("\x7f"
                                 "ELF"),
                      Catch::Matchers::Contains("within a header"));
}

}  // namespace
}  // namespace catena::generator
