// Clusters on the host. Blocks run one after the other, the first of a cluster last: what the
// others store in its shared memory waits as letters, which arrive when the first block comes to
// the sync that follows.
#pragma once

#include "catena/exec/host/checked_memory.hpp"
#include "catena/exec/host/meetings.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace CATENA_NAMESPACE::exec {

class block_cluster {
  public:
    block_cluster(const launch_clock& clock, checked_memory& memory, thread_meetings& meetings,
                  fault_report& report)
        : clock_(clock), memory_(memory), meetings_(meetings), report_(report) {}

    void begin_launch(int blocks) {
        blocks_ = blocks;
        letters_.clear();
    }
    void begin_block() { passed_ = {}; }

    int blocks() const { return blocks_; }
    int rank() const { return static_cast<int>(clock_.block()) % blocks_; }

    void sync(thread& t, site at) {
        meetings_.sync(t, at, [&] { deliver(t, ++passed_.syncs); });
    }
    /// Brings no letter.
    void meet(thread& t, site at) {
        if (meetings_.meet_block(t, at)) ++passed_.meets;
    }

    void store_first(thread& t, float* p, real v, site at) {
        if (passed_.all() == 0)
            report_.stop(t, fault::divergence, at,
                         "stores in the first block of its cluster, which may not run yet: call "
                         "cluster_meet first");
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        if (!memory_.is_shared(address))
            report_.stop(t, fault::out_of_bounds, at,
                         "stores in a first block what has no place in shared memory");
        if (rank() == 0) {
            memory_.check<access::write, sizeof(float)>(t, p, at);
            std::memcpy(p, &v.v, sizeof v.v);
            return;
        }
        const auto [other, first] =
            letters_.try_emplace({passed_.syncs, address}, letter{v.v, clock_.block(), at});
        if (!first)
            memory_.stop(t, fault::race, at, access::write, address, sizeof(float),
                         "in the first block of its cluster, which block " +
                             std::to_string(other->second.from) +
                             " also writes: give each its own bytes");
    }

    /// False: a block that has returned met its cluster less often, and a finding was added.
    bool check_end() {
        if (rank() == 0) letters_.clear();
        if (rank() == blocks_ - 1) passed_by_others_ = passed_;
        if (passed_.syncs == passed_by_others_.syncs && passed_.meets == passed_by_others_.meets)
            return true;
        report_.add(fault::divergence, 0, {},
                    "returns after " + std::to_string(passed_.all()) +
                        " meetings of its cluster, another of its blocks after " +
                        std::to_string(passed_by_others_.all()) +
                        ": every block must take the same path to each");
        return false;
    }

  private:
    /// Meetings of the cluster.
    struct meetings_passed {
        int syncs = 0, meets = 0;

        int all() const { return syncs + meets; }
    };
    /// A value on its way to the first block.
    struct letter {
        float value;
        std::uint32_t from;  // block
        site at;
    };

    /// Delivers what other blocks stored before the last of `syncs` syncs.
    void deliver(thread& t, int syncs) {
        if (rank() != 0) return;
        for (auto at = letters_.lower_bound({syncs - 1, 0});
             at != letters_.end() && at->first.first == syncs - 1; ++at) {
            const letter& l = at->second;
            auto* const to = reinterpret_cast<float*>(at->first.second);
            memory_.check<access::write, sizeof(float)>(t, to, l.at);
            std::memcpy(to, &l.value, sizeof l.value);
        }
    }

    const launch_clock& clock_;
    checked_memory& memory_;
    thread_meetings& meetings_;
    fault_report& report_;
    // By the syncs that the sender's block had passed, and the address.
    std::map<std::pair<int, std::uintptr_t>, letter> letters_;
    int blocks_ = 1;
    meetings_passed passed_;            // by the block
    meetings_passed passed_by_others_;  // of its cluster
};

}  // namespace CATENA_NAMESPACE::exec
