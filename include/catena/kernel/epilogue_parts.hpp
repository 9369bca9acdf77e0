// The parts of an epilogue that change a result by itself, whatever product it is of: matvecs and
// matmuls share them. The other parts go by where a kernel has its operands and its results.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/gate.hpp"

namespace CATENA_NAMESPACE::kernel {

/// f(v) * up of a `pair`, or f(v); then the engine's own op. `Twice`: this code is there more than
/// once in a kernel.
template <bool Twice, class X>
CATENA_FN real apply_functions(X& x, const matvec_member& m, bool pair, real v, real up) {
    if (pair || m.function != gate_function::none)
        v = gated_on<Twice>(x, m.function, v, up, m.alpha, m.limit);
    if constexpr (has_ops<X>) v = apply_own(x, m.own, v);
    return v;
}

}  // namespace CATENA_NAMESPACE::kernel
