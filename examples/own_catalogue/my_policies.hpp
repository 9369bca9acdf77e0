// Policies of one's own, beside Catena's: rows of 512 values also get a block of 64 threads, which
// is picked for them whatever is predicted.
#include "policy_change.hpp"

namespace my_kernels {
inline void policies(const catena::arch& target, const catena::computation& computes,
                     catena::generator::policy_list& all) {
    if (target.compute_capability >= 90 && computes.kind() == catena::skeleton::row)
        all.prefer({.k = 512}, catena::row_policy{.threads = 64, .values = 8, .vector = true});
}
}  // namespace my_kernels
