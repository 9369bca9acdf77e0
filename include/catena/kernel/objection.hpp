// What the bodies can be compiled with. Each body has a header of its own in objection/, the only
// statement of it, and asserts it; the generator and the tuner say it. What an arch or a problem
// asks besides stands in pick/constraints.hpp.
#pragma once

#include "catena/kernel/objection/matmul.hpp"
#include "catena/kernel/objection/matvec.hpp"
#include "catena/kernel/objection/row.hpp"

namespace CATENA_NAMESPACE {

/// Why no kernel can compute this with these numbers, whatever the arch.
constexpr objection objection_to(const computation& c, const policy& p) {
    if (p.kind() != c.kind()) return {"the policy is one of another skeleton"};
    return p.kind() == skeleton::row      ? objection_to(c.row(), p.row())
           : p.kind() == skeleton::matvec ? objection_to(c.product(), p.matvec())
                                          : objection_to(c.product(), p.matmul());
}

}  // namespace CATENA_NAMESPACE
