// Graph files of a few nodes in which something is odd.
#include "cases.hpp"
#include "random/tables.hpp"

#include "catena/engine/json.hpp"
#include "catena/plan/log.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("rows of a residual and its sum that are not aligned stay with the engine",
          "[plan][alignment]") {
    json::graph g = json::read(CATENA_TEST_DATA "/small/misaligned.json");
    const auto planned = [&g] { return planner(shipped_table()).plan(g.view()); };
    const plan p = planned();
    CHECK(steps_of(p) == "0:, 0: 0");
    CHECK(left_why(p, 1) == reason::unaligned);
    for (const left_over& l : p.left())
        CHECK(sentence(l, p.rows()) ==
              "tensor 4 lies at an address, or has strides, that 4 bytes do not divide");
    for (const int t : {2, 4}) g.tensors[static_cast<std::size_t>(t)].nb[1] = 388;
    CHECK(steps_of(planned()) == "0:, 0: 0 1");
}
