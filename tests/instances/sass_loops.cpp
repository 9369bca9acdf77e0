#include "sass_loops.hpp"

#include "sass_code.hpp"

#include "catena_test/catch.hpp"

namespace catena::evidence {
namespace {

using enum sass_kind;

TEST_CASE("The innermost loop with an instruction of a kind is found and counted", "[sass]") {
    sass_function f = code_of({memory, integer, dp4a, dp4a, control, integer, control, control});
    branch(f, 4, 1);  // with the dp4a
    branch(f, 6, 0);  // around it
    branch(f, 7, 7);  // where a kernel ends: a branch to itself
    CHECK(loops_of(f).size() == 2);
    const std::vector<sass_loop> loops = innermost_loops(f, dp4a);
    REQUIRE(loops.size() == 1);
    CHECK(loops[0].size() == 4);
    CHECK(loops[0].count(f, dp4a) == 2);
    CHECK(loops[0].count(f, integer) == 1);
    CHECK(f.count(integer) == 2);
    CHECK(innermost_loops(f, mma).empty());
}

TEST_CASE("A part of a loop that lies behind it belongs to it", "[sass]") {
    sass_function f =
        code_of({integer, dp4a, control, integer, control, control, integer, dp4a, control});
    branch(f, 2, 6);  // sometimes: the part
    branch(f, 4, 1);  // the loop
    f.code[5].leaves = f.code[5].always = true;
    branch(f, 8, 3, true);  // back from the part: no loop of its own
    const std::vector<sass_loop> loops = loops_of(f);
    REQUIRE(loops.size() == 1);
    CHECK(loops[0].first == 1);
    CHECK(loops[0].code == std::vector<std::size_t>{1, 2, 3, 4, 6, 7, 8});
    CHECK(loops[0].count(f, dp4a) == 2);
}

TEST_CASE("A jump backward to code that other ways reach first is no loop", "[sass]") {
    sass_function f = code_of({control, integer, control, integer, control});
    branch(f, 0, 3);  // past the next two
    f.code[2].leaves = f.code[2].always = true;
    branch(f, 4, 1, true);  // backward, to what never returns
    CHECK(loops_of(f).empty());
}

TEST_CASE("Two loops with the same first instruction are one", "[sass]") {
    sass_function f = code_of({integer, dp4a, control, integer, control});
    branch(f, 2, 0);
    branch(f, 4, 0);
    const std::vector<sass_loop> loops = loops_of(f);
    REQUIRE(loops.size() == 1);
    CHECK(loops[0].size() == 5);
}

}  // namespace
}  // namespace catena::evidence
