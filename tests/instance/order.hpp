// What tests of accumulation orders share: instances of any policy, and the check that all give the
// same bits.
#pragma once

#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/instances/host_instance.hpp"
#include "catena/pick/name.hpp"

#include <vector>

namespace catena_test {

/// An instance that no table needs to have.
template <auto C, catena::policy_of<C.kind> P>
instance made() {
    return on_host(C, P, reinterpret_cast<const void*>(&catena::instances::run_on_host<C, P>),
                   row_name(C, P, "test"));
}

template <catena::format... F>
constexpr catena::product_computation products = {
    .kind = catena::skeleton::matvec,
    .activation = catena::format::q8_1,
    .weights = (catena::format_set{} | ... | F),
    .epilogue = every_part | catena::epilogue_part::combine};

/// Matvec rows of the same formats: every column of every number of columns gives the same bits on
/// all of them, through every part of the epilogue too.
void same_bits(const std::vector<instance>& rows);

/// Matmuls of one order give the same bits, too.
void same_bits_of_tiles(const std::vector<instance>& rows);

}  // namespace catena_test
