// Everything that a row of routing can do, with policies that the tables have and others.
#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/instances/host_instance.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation all{.stages = stage_kind::score | stage_kind::choose | stage_kind::weigh,
                              .emits = format_set::of(format::f32)};

template <row_policy P>
void stands_every_case() {
    const std::string label = row_name(all, P, "test");
    const instance on =
        on_host(all, P, reinterpret_cast<const void*>(&instances::run_on_host<all, P>), label);
    INFO(label);
    sweep(on);
}

}  // namespace

TEST_CASE("A token has a warp") { stands_every_case<row_policy{.threads = 32, .values = 4}>(); }
TEST_CASE("A token has a block") { stands_every_case<row_policy{.threads = 96, .values = 8}>(); }
TEST_CASE("A token has a block for many experts") {
    stands_every_case<row_policy{.threads = 256, .values = 4}>();
}
