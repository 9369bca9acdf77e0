// What runs a program: a warp's registers, where each of its lanes stands, and the block and
// cluster around it.
#pragma once

#include "memory.hpp"
#include "program.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace ptx {

struct block;
struct cluster;

/// Bytes of cp.async on their way; copied when they are waited for.
struct late_copy {
    std::uint32_t to;
    const std::byte* from;
    int bytes;
    const instruction* asked;
    moment when;
};
struct lane_copies {
    std::vector<late_copy> open;  ///< of no group yet
    std::deque<std::vector<late_copy>> groups;
};

/// wgmma: what a warp has asked for and not waited for.
struct late_product {
    const instruction* asked;
    moment when;
    std::uint64_t a, b;                    ///< descriptors
    std::vector<std::byte> rows, columns;  ///< as they were when it was asked for
    int group = -1;                        ///< -1: not committed
    void (*finish)(warp&, const late_product&) = nullptr;
};
struct flying_sum {
    std::array<float, warp_lanes> values;
    int last_product = 0;  ///< that adds to it, by its number
};

struct warp {
    block& in;
    int index;     ///< within the block
    party number;  ///< in the grid
    std::vector<std::byte> file;
    std::vector<lanes> predicates;
    std::array<int, warp_lanes> pc{};
    lanes alive = all_lanes, running = all_lanes;
    lanes meeting = 0, barred = 0, clustered = 0, phased = 0;  ///< what else lanes wait for
    lanes arrived = 0;                                         ///< at the cluster's barrier,
    lanes released = 0;                                        ///< with what they did before
    lanes side;                                                ///< which lanes go first
    lanes waited = 0;                                          ///< for the grid before
    bool rests = false;                                        ///< others may go first
    std::array<knowledge, warp_lanes> knows;  ///< beside what the block and the cluster agreed on
    const instruction* now = nullptr;
    std::size_t known_range = 0;  ///< of global memory, the last that was met
    std::vector<lane_copies> copies;
    std::vector<std::byte> local;

    std::vector<late_product> products;
    std::map<std::int32_t, flying_sum> flying;  ///< by register
    int committed = 0, asked = 0;
    bool wgmma_fenced = false;

    warp(block& of, int index);
    warp(warp&&) = default;
    ~warp();

    std::byte* unit(int u) { return file.data() + static_cast<std::size_t>(u) * unit_bytes; }
    int thread(int lane) const { return index * warp_lanes + lane; }

    /// Runs until no lane can go on alone, or the warp rests.
    void run();
    /// Lets go those that have met; false if there were none.
    bool meet();

    [[noreturn]] void fail(int lane, const std::string& what) const;

  private:
    void run_together(lanes together, int at, int stop);
    void call(const instruction& i, lanes which, int at);
    void leave(const instruction& i, lanes which);
    void stand(lanes which, int at);
    bool have_met(const instruction& i, lanes here) const;
    void park(lanes& waiting, lanes which, int at);
};

/// The bytes of an element in its unit.
template <class T>
inline constexpr std::size_t pitch = sizeof(T) == 8 ? 8 : 4;

template <class T>
T get(const std::byte* unit, int lane) {
    T v;
    std::memcpy(&v, unit + static_cast<std::size_t>(lane) * pitch<T>, sizeof v);
    return v;
}
/// Less than 32 bits are extended by their sign.
template <class T>
void put(std::byte* unit, int lane, T v) {
    if constexpr (sizeof(T) < 4) {
        const auto wide = static_cast<std::uint32_t>(v);
        std::memcpy(unit + static_cast<std::size_t>(lane) * 4, &wide, 4);
    } else {
        std::memcpy(unit + static_cast<std::size_t>(lane) * pitch<T>, &v, sizeof v);
    }
}

/// f(lane) for each; of all lanes as one loop, whose turns do not depend on each other.
template <class F>
void each_lane(lanes which, F f) {
    if (which == all_lanes) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (int l = 0; l < warp_lanes; ++l) f(l);
    } else {
        for (; which != 0; which &= which - 1) f(std::countr_zero(which));
    }
}

/// An mbarrier: arrivals and bytes that its phase waits for yet.
struct phase_barrier {
    int made_by;  ///< thread
    std::uint32_t expected, pending;
    bool shown = false;  ///< to the async proxy, by a fence for new mbarriers
    std::int64_t bytes = 0;
    std::uint32_t parity = 0;  ///< of the phase that is not complete
    knowledge arrivals = {};   ///< so far
    knowledge completed = {};  ///< of phases
};

struct bulk_copy {
    std::uint32_t to, barrier;
    const std::byte* from;
    std::uint32_t bytes;
    warp* by;
    const instruction* asked;
    moment when;
};

struct remote_store {
    const warp* by;
    int lane;
    int rank;  ///< of the block that it is for
    std::uint32_t to, bits;
};

struct block {
    cluster& of;
    int index;               ///< in the grid
    int rank;                ///< in the cluster
    bool triggered = false;  ///< a thread has issued launch_dependents
    shared_memory shared;
    std::vector<warp> warps;
    std::map<std::uint32_t, phase_barrier> barriers;
    std::vector<bulk_copy> bulk;
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> wgmma_asked;  ///< per warp
    knowledge agreed;    ///< of all its threads, at the last barrier
    bool voted = false;  ///< has a thread that waits at bar.red.or said yes?

    block(cluster& of, int index, int rank);
    bool done() const;
    /// Barriers that every thread has reached let go; false if there are none.
    bool release();
    void complete(phase_barrier& b);
    void deliver(std::size_t which);
    void check_end() const;
    /// Lanes that wait for a phase, or for the grid before, look again.
    void wake();
};

/// What is launched.
struct launch {
    const program& code;
    std::vector<std::byte> parameters;
    int blocks, threads;
    std::uint32_t shared_bytes;
    int cluster_blocks;
    bool dependent;  ///< programmatically: it may start while the grid before still runs
};

/// A launch of a stream.
struct grid : launch {
    global_memory& memory;
    std::mt19937_64& random;
    moment& now;
    grid* before;                                    ///< null for the first
    grid* behind = nullptr;                          ///< null for the last
    unsigned number;                                 ///< in the stream, from 1 on
    grids over_at_start;                             ///< have completed when it starts
    bool waited = false;                             ///< some thread has, for the grid before
    std::vector<std::vector<std::byte>> files = {};  ///< registers of warps that are done
    std::vector<int> to_start = {};   ///< first blocks of clusters, the next one last
    std::list<cluster> running = {};  ///< have started and not ended

    grid(const launch& l, global_memory& memory, std::mt19937_64& random, moment& now,
         grid* before);
    grid(const grid&) = delete;
    ~grid();
    bool may_start() const;
    bool ended() const;
    /// Those that have completed for a thread that has waited for the grid before, or has not.
    grids over(bool has_waited) const;

  private:
    bool has_triggered() const;
};

enum class progress {
    some,     ///< a warp ran, a barrier let go or a copy arrived
    waits,    ///< for another grid, or forever
    finished  ///< all threads have left
};

struct cluster {
    grid& of;
    cluster_number number;
    std::deque<block> blocks;
    int meetings = 0;                  ///< so far, of all its threads
    knowledge agreed, arrivals;        ///< at the last of them; for the next
    std::vector<remote_store> stores;  ///< between blocks, there after the next that releases
    bool stuck = false;                ///< until another grid ends

    cluster(grid& g, int first_block);
    progress go_on();
    [[noreturn]] void deadlock() const;

  private:
    bool release();
    bool deliver_one();
    void check_end() const;
};

/// Runs launches as a stream does, at most `most_launches`; throws `finding`.
void run(const std::vector<launch>& launches, global_memory& memory, std::mt19937_64 random);

}  // namespace ptx
