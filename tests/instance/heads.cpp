// Everything that a row of heads can make of them, with policies that the tables have and others.
#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/instances/host_instance.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation all{
    .stages = stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::rope | stage_kind::store,
    .emits = cache_formats};

template <row_policy P>
void stands_every_case() {
    const std::string label = row_name(all, P, "test");
    const instance on =
        on_host(all, P, reinterpret_cast<const void*>(&instances::run_on_host<all, P>), label);
    INFO(label);
    sweep(on);
}

}  // namespace

TEST_CASE("Short heads, four to a block") {
    stands_every_case<row_policy{.threads = 128, .values = 4, .rows = 4, .vector = true}>();
}
TEST_CASE("Longer heads, one to a block") {
    stands_every_case<row_policy{.threads = 32, .values = 8, .rows = 1, .vector = true}>();
}
TEST_CASE("The longest heads, element by element") {
    stands_every_case<row_policy{.threads = 96, .values = 16, .rows = 3}>();
}
