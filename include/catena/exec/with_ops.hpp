// An executor that brings ops of an engine's own into a kernel. It is a type of its own, so what is
// compiled with it is apart from Catena's kernels, which know nothing of these ops.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE::exec {

/// `Machine`: exec::host or exec::cuda. `Ops`: an own_op_list.
template <class Machine, class Ops>
struct with_ops : Machine {
    using ops = Ops;
};

}  // namespace CATENA_NAMESPACE::exec
