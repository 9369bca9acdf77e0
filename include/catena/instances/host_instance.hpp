// How the build's host kernels are made of rows: a skeleton's body on the host executor, keyed by
// what the row computes and its policy. Files that the build writes include this.
#pragma once

#include "catena/exec/host.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/rows.hpp"
#include "catena/kernel/heads.hpp"
#include "catena/kernel/matmul.hpp"
#include "catena/kernel/matvec.hpp"
#include "catena/kernel/route.hpp"
#include "catena/kernel/row.hpp"

namespace CATENA_NAMESPACE::instances {

template <auto C, policy_of<C.kind> P, class X = exec::host>
void run_on_host(exec::host& machine, const void* args) {
    X x{machine};
    const auto& a = *static_cast<const kernel_args<C>*>(args);
    if constexpr (std::is_same_v<kernel_args<C>, heads_args>)
        kernel::heads_body<X, P, C>(x, a);
    else if constexpr (std::is_same_v<kernel_args<C>, route_args>)
        kernel::route_body<X, P, C>(x, a);
    else if constexpr (C.kind == skeleton::row)
        kernel::row_body<X, P, C>(x, a);
    else if constexpr (C.kind == skeleton::matvec)
        kernel::matvec_body<X, P, C.weights>(x, a);
    else
        kernel::matmul_body<X, P, C.activation, C.weights>(x, a);
}

template <auto C, policy_of<C.kind> P, class Ops>
constexpr host_instance host_instance_of() {
    return {C, P, &run_on_host<C, P, executor_of<C.own, exec::host, Ops>>};
}

/// An element of an array of instances.
#define CATENA_HOST_KERNEL(computation, policy)                                                    \
    ::catena::instances::host_instance_of<                                                         \
        computations::computation,                                                                 \
        ::catena::policy_named<computations::computation.kind>(#policy).value(), ops>(),

}  // namespace CATENA_NAMESPACE::instances
