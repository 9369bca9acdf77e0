// The phases of a matvec's block, for executors that keep the times at which they end. No other
// executor does anything, and nothing of them is in its machine code.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE::kernel {

/// What a block has come to, in this order.
enum class phase {
    entry,       ///< its first instruction
    filled,      ///< copies of weights are on their way to every stage but the last
    waited,      ///< the launch before has ended
    columns,     ///< the columns are in shared memory, or are not copied there
    weights,     ///< the first weights have come
    multiplied,  ///< the last piece of the last rows is multiplied
    end
};
inline constexpr int phase_count = 7;

/// A block has come to a phase, as its first thread sees it. A phase that comes again counts anew.
template <class X>
CATENA_FN void reaches(X& x, phase at) {
    if constexpr (requires { x.reached(at); }) x.reached(at);
}

}  // namespace CATENA_NAMESPACE::kernel
