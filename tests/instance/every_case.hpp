// A body of the row skeleton under every case that it can be given.
#pragma once

#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/instances/host_instance.hpp"
#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <string>

namespace catena_test {

template <catena::row_computation C, catena::row_policy P>
void stands_every_case() {
    const std::string label = row_name(C, P, "test");
    INFO(label);
    sweep(
        on_host(C, P, reinterpret_cast<const void*>(&catena::instances::run_on_host<C, P>), label));
}

}  // namespace catena_test
