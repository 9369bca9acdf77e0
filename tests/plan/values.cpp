// Values of the proof: another number makes another value.
#include "catena/plan/verify/routing_values.hpp"
#include "catena/plan/verify/value.hpp"
#include "catena_test/catch.hpp"

using namespace catena::proof;

namespace {

const value a = single(1), b = single(2), c = single(3);

}  // namespace

TEST_CASE("rows that are stored by ids of 64 bits are not those by ids of 32", "[verify]") {
    using catena::format;
    const value by_32 = stored(a, b, format::f16, 7, false);
    CHECK(by_32 == stored(a, b, format::f16, 7, false));
    CHECK(by_32 != stored(a, b, format::f16, 7, true));
    CHECK(by_32 != stored(a, b, format::f16, 8, false));
    CHECK(by_32 != stored(a, b, format::bf16, 7, false));
    CHECK(by_32 != stored(a, c, format::f16, 7, false));
    CHECK(by_32 != stored(c, b, format::f16, 7, false));
}

TEST_CASE("a value that is masked depends on the number, the rows, the ids and both sizes",
          "[verify]") {
    const value own = masked(0, a, b, 4, 8);
    CHECK(own == masked(0, a, b, 4, 8));
    CHECK(own != masked(1, a, b, 4, 8));
    CHECK(own != masked(0, c, b, 4, 8));
    CHECK(own != masked(0, a, c, 4, 8));
    CHECK(own != masked(0, a, b, 5, 8));
    CHECK(own != masked(0, a, b, 4, 9));
}
