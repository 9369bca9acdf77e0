#include "sass.hpp"

#include "catena_test/catch.hpp"

namespace catena::generator {
namespace {

TEST_CASE("A file that is no cubin is refused") {
    CHECK_THROWS_WITH(read_sass(std::string(100, 'x'), *arch_named("sm_90")),
                      Catch::Matchers::Contains("no ELF file"));
    CHECK_THROWS_WITH(sass_bytes("\x7f"
                                 "ELF"),
                      Catch::Matchers::Contains("within a header"));
}

}  // namespace
}  // namespace catena::generator
