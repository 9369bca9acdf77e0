// What runs a program: a warp's registers, where each of its lanes stands, and the block and
// cluster around it.
#pragma once

#include "memory.hpp"
#include "program.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <deque>
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
    lanes arrived = 0;                                         ///< at the cluster's barrier
    lanes side;                                                ///< which lanes go first
    lanes waited = 0;                                          ///< for the grid before
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

    /// Runs until no lane can go on alone.
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
    int rank;
    std::uint32_t to, bits;
};

struct block {
    cluster& of;
    int index;  ///< in the grid
    int rank;   ///< in the cluster
    shared_memory shared;
    std::vector<warp> warps;
    std::map<std::uint32_t, phase_barrier> barriers;
    std::vector<bulk_copy> bulk;
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> wgmma_asked;  ///< per warp
    knowledge agreed;  ///< of all its threads, at the last bar.sync

    block(cluster& of, int index, int rank);
    bool done() const;
    /// Barriers that every thread has reached let go; false if there are none.
    bool release();
    void complete(phase_barrier& b);
    void deliver(std::size_t which);
    void check_end() const;
    /// Lanes that wait for a phase look again.
    void wake();
};

struct grid {
    const program& code;
    global_memory& memory;
    std::vector<std::byte> parameters;
    int blocks, threads;
    std::uint32_t shared_bytes;
    int cluster_blocks;
    bool dependent;
    std::mt19937_64 random;
    std::vector<std::vector<std::byte>> files = {};  ///< registers of warps that are done
    moment now = 1;
};

struct cluster {
    grid& of;
    moment began;
    std::deque<block> blocks;
    int meetings = 0;                  ///< so far, of all its threads
    knowledge agreed, arrivals;        ///< at the last of them; for the next
    std::vector<remote_store> stores;  ///< between blocks, there after the next meeting

    cluster(grid& g, int first_block);
    void run();

  private:
    bool release();
    bool deliver_one();
    [[noreturn]] void deadlock() const;
};

/// Runs every block; throws `finding`.
void run(grid& g);

}  // namespace ptx
