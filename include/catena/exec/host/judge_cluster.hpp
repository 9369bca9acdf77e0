// Clusters on the host. Blocks run one after the other, the first of a cluster last: what the
// others store in its shared memory waits as letters. Part of exec/host/machine.hpp.
#pragma once

#include "catena/exec/host/machine.hpp"

#include <cstring>

namespace catena::exec {

inline void machine::store_first(thread& t, float* p, real v, site at) {
    if (cluster_syncs_ == 0)
        stop(t, fault::divergence, at,
             "stores in the first block of its cluster, which may not run yet: call cluster_sync "
             "first");
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (!shared_.holds(address))
        stop(t, fault::out_of_bounds, at,
             "stores in a first block what has no place in shared memory");
    if (block() % cluster_blocks_ == 0) {
        check<access::write, sizeof(float)>(t, p, at);
        std::memcpy(p, &v.v, sizeof v.v);
        return;
    }
    const auto [other, first] =
        letters_.try_emplace({cluster_syncs_, address}, letter{v.v, block_, at});
    if (!first)
        stop_at(t, fault::race, at, access::write, address, sizeof(float),
                "in the first block of its cluster, which block " +
                    std::to_string(other->second.from) + " also writes: give each its own bytes");
}

inline void machine::deliver(thread& t, int syncs) {
    if (block() % cluster_blocks_ != 0) return;
    for (auto at = letters_.lower_bound({syncs - 1, 0});
         at != letters_.end() && at->first.first == syncs - 1; ++at) {
        const letter& l = at->second;
        auto* const to = reinterpret_cast<float*>(at->first.second);
        check<access::write, sizeof(float)>(t, to, l.at);
        std::memcpy(to, &l.value, sizeof l.value);
    }
}

/// What is wrong when a block has returned, or nothing.
inline std::string machine::end_in_cluster() {
    const int rank = block() % cluster_blocks_;
    if (rank == 0) letters_.clear();
    if (rank == cluster_blocks_ - 1) syncs_of_others_ = cluster_syncs_;
    if (cluster_syncs_ == syncs_of_others_) return "";
    return "returns after " + std::to_string(cluster_syncs_) +
           " meetings of its cluster, another of its blocks after " +
           std::to_string(syncs_of_others_) + ": every block must take the same path to each";
}

}  // namespace catena::exec
