// Warpgroup multiplication: its rules and its sums. Part of exec/host/machine.hpp.
#pragma once

#include "catena/exec/host/machine.hpp"

#include <algorithm>
#include <limits>

namespace catena::exec {

inline wgmma_operand machine::operand_at(thread& t, const void* p, int stride, site at) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (!shared_.holds(address))
        stop(t, fault::body, at, "names an operand outside shared memory: copy it there first");
    const auto from = static_cast<std::uint32_t>(address - shared_view_.base);
    if (from % swizzle_bytes != 0 || stride % swizzle_bytes != 0)
        stop(t, fault::misaligned, at,
             "names an operand within the pattern of its swizzle: start it, and every eight rows, "
             "at a multiple of " +
                 std::to_string(swizzle_bytes) + " bytes");
    return wgmma_operand::at(from, stride);
}

/// What all warps of the group must agree on.
inline void machine::check_wgmma(thread& t, const wgmma_call& call, site at) {
    if (thread_count_ % warpgroup_threads != 0)
        stop(
            t, fault::body, at,
            "multiplies by warpgroups in a block that is not whole ones: give it a multiple of 128 "
            "threads");
    if (!t.wgmma_fence)
        stop(t, fault::race, at, "multiplies sums that it may still hold: wgmma_fence first");
    auto& calls = wgmma_calls_[static_cast<std::size_t>(t.id / warpgroup_threads)];
    if (t.wgmma_calls == calls.size()) calls.push_back(call);
    if (!(calls[t.wgmma_calls++] == call))
        stop(t, fault::divergence, at,
             "multiplies other operands than a thread before it: all of a warpgroup make the same "
             "calls");
}

/// Rows that the tensor cores read from now on: nobody writes them at the same time, and they see
/// what was written.
inline void machine::read_operand(thread& t, const pending_operand& read, site at) {
    const auto unfenced = [&](stamp write) {
        if (write >= stamps::in_flight) return false;  // said below
        const auto writer = static_cast<std::size_t>(stamps::thread(write));
        const stamp fence = scheduler_.threads()[writer].async_fence;
        return stamps::start_of_step(fence) < stamps::start_of_step(write);
    };
    for (int i = 0; i < 2 * read.rows; ++i) {
        const std::uintptr_t chunk = shared_view_.base + read.chunk(i);
        if (!shared_.holds(chunk))
            stop_at(t, fault::out_of_bounds, at, access::read, chunk, 16,
                    "outside all shared arrays: check the operand's address and stride");
        // Whoever writes it before the wait and a sync, this thread too, comes too early.
        judge(t, access::read, chunk, 16, at,
              read_shadow(shared_view_, chunk, 16, t.now | stamps::many_warps, shared_now_));
        if (const trouble found = judge_writes(shared_view_, chunk, 16, unfenced);
            found.what != verdict::fine)
            stop_at(t, fault::race, at, access::read, found.address, 4,
                    "which tensor cores need not see yet: async_fence in " + party(t, found.other) +
                        ", which wrote it, before the sync");
    }
}

/// Operands of groups before `done` have been read. Nobody may have written them since the call.
inline void machine::finish_reads(thread& t, int done, site at) {
    auto& reads = wgmma_warps_[static_cast<std::size_t>(t.id / scheduler::warp_lanes)].reads;
    for (const pending_operand& read : reads) {
        if (read.group >= done) continue;
        const auto later = [&](stamp write) { return stamps::era(write) > read.era; };
        for (int i = 0; i < 2 * read.rows; ++i) {
            const std::uintptr_t chunk = shared_view_.base + read.chunk(i);
            trouble found = judge_writes(shared_view_, chunk, 16, later);
            if (found.what == verdict::fine)
                found =
                    read_shadow(shared_view_, chunk, 16, t.now | stamps::many_warps, shared_now_);
            if (found.what != verdict::fine)
                stop_at(t, fault::race, at, access::read, found.address, 4,
                        "which was written while a wgmma might still read it: wgmma_wait and a "
                        "sync stand before such a write");
        }
    }
    std::erase_if(reads, [&](const pending_operand& read) { return read.group < done; });
}

template <format F>
void machine::wgmma(thread& t, real* sums, int columns, bool adds, wgmma_operand a, wgmma_operand b,
                    site at) {
    constexpr int depth = wgmma_depth<F>;
    const int lane = t.id % scheduler::warp_lanes, warp = t.id / scheduler::warp_lanes;
    const int detail = mma_detail(F);
    check_wgmma(t, {detail, columns, adds, a.bits, b.bits}, at);
    check_meeting(t, meeting::wgmma, detail, at);
    wgmma_warp& of = wgmma_warps_[static_cast<std::size_t>(warp)];
    const unsigned half = scheduler_.warp_of(t).round & 1;
    const int first_row = warp % 4 * 16;
    if (scheduler_.meet_warp(t, meeting::wgmma, detail, at)) {
        const std::uint32_t era = stamps::era(t.now);
        for (const pending_operand& read : {pending_operand{a, first_row, 16, t.wgmma_groups, era},
                                            pending_operand{b, 0, columns, t.wgmma_groups, era}}) {
            read_operand(t, read, at);
            of.reads.push_back(read);
        }
        of.numbers[half].template read<F>(shared_.start(), a, first_row, b, columns);
    }

    auto mine = std::find_if(t.pending.begin(), t.pending.end(),
                             [&](const pending_sums& p) { return p.sums == sums; });
    if (mine == t.pending.end())
        mine = t.pending.insert(mine, {sums, std::vector<real>(sums, sums + columns / 2), 0});
    mine->group = t.wgmma_groups;
    if (!adds) std::fill(mine->values.begin(), mine->values.end(), real{0});
    // Four sums at a time: of two rows, two columns each. A product of two numbers is exact in f64.
    using pair = double __attribute__((vector_size(16)));
    const double* x = &of.numbers[half].a[static_cast<std::size_t>(lane / 4 * depth)];
    for (int i = 0; i < columns / 2; i += 4) {
        const double* y = &of.numbers[half].b[static_cast<std::size_t>(2 * i + lane % 4 * 2)];
        pair upper = {}, lower = {};
        for (int k = 0; k < depth; ++k, y += columns) {
            const pair of_k = {y[0], y[1]};
            upper = catena::detail::pinned(upper + x[k] * of_k);
            lower = catena::detail::pinned(lower + x[8 * depth + k] * of_k);
        }
        const double products[] = {upper[0], upper[1], lower[0], lower[1]};
        for (int j = 0; j < 4; ++j) {
            real& value = mine->values[static_cast<std::size_t>(i + j)];
            value = catena::detail::finished(
                static_cast<float>(catena::detail::pinned(products[j] + double{value.v})));
        }
    }
    std::fill_n(sums, columns / 2, real{std::numeric_limits<float>::quiet_NaN()});
}

inline void machine::wgmma_wait(thread& t, int left, site at) {
    const int done = t.wgmma_groups - left;
    check_meeting(t, meeting::wgmma_wait, left, at);
    if (scheduler_.meet_warp(t, meeting::wgmma_wait, left, at)) finish_reads(t, done, at);
    for (const pending_sums& p : t.pending)
        if (p.group < done) std::copy(p.values.begin(), p.values.end(), p.sums);
    std::erase_if(t.pending, [&](const pending_sums& p) { return p.group < done; });
    t.wgmma_fence = false;
}

}  // namespace catena::exec
