// Warpgroup multiplication on the host: its rules and its sums. exec/host/wgmma.hpp has the data of
// a multiplication that is under way.
#pragma once

#include "catena/exec/host/checked_memory.hpp"
#include "catena/exec/host/meetings.hpp"
#include "catena/exec/host/wgmma.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE::exec {

class warpgroup_products {
  public:
    warpgroup_products(checked_memory& memory, thread_meetings& meetings, fault_report& report,
                       const launch_clock& clock)
        : memory_(memory), meetings_(meetings), report_(report), clock_(clock) {}

    void begin_block(int threads) {
        threads_ = threads;
        warps_.assign(static_cast<std::size_t>(threads / scheduler::warp_lanes), {});
        calls_.assign(static_cast<std::size_t>(threads / warpgroup_threads), {});
    }

    wgmma_operand operand_at(thread& t, const void* p, int stride, site at) {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        if (!memory_.is_shared(address))
            report_.stop(t, fault::body, at,
                         "names an operand outside shared memory: copy it there first");
        const auto from = static_cast<std::uint32_t>(address - memory_.shared_view().base);
        if (from % swizzle_bytes != 0 || stride % swizzle_bytes != 0)
            report_.stop(t, fault::misaligned, at,
                         "names an operand within the pattern of its swizzle: start it, and every "
                         "eight rows, at a multiple of " +
                             std::to_string(swizzle_bytes) + " bytes");
        return wgmma_operand::at(from, stride);
    }

    template <format F>
    void multiply(thread& t, real* sums, int columns, bool adds, wgmma_operand a, wgmma_operand b,
                  site at) {
        const int warp = t.id / scheduler::warp_lanes, first_row = warp % 4 * 16;
        const int detail = mma_detail(F);
        check(t, {detail, columns, adds, a.bits, b.bits}, at);
        wgmma_warp& of = warps_[static_cast<std::size_t>(warp)];
        wgmma_operands& operands = of.operands[meetings_.half_of_round(t)];
        if (meetings_.meet(t, meeting::wgmma, detail, at)) {
            const std::uint32_t era = stamps::era(t.now);
            for (const pending_operand& read :
                 {pending_operand{a, first_row, 16, t.wgmma_groups, era},
                  pending_operand{b, 0, columns, t.wgmma_groups, era}}) {
                read_operand(t, read, at);
                of.reads.push_back(read);
            }
            operands.template read<F>(memory_.shared_start(), a, first_row, b, columns);
        }
        pending_sums& mine = sums_of(t, sums, columns);
        mine.group = t.wgmma_groups;
        if (!adds) std::fill(mine.values.begin(), mine.values.end(), real{0});
        add_products<wgmma_depth<F>>(operands, t.lane(), columns, mine.values);
        std::fill_n(sums, columns / 2, real{std::numeric_limits<float>::quiet_NaN()});
    }

    void wait(thread& t, int left, site at) {
        const int done = t.wgmma_groups - left;
        if (meetings_.meet(t, meeting::wgmma_wait, left, at)) finish_reads(t, done, at);
        for (const pending_sums& p : t.pending)
            if (p.group < done) std::copy(p.values.begin(), p.values.end(), p.sums);
        std::erase_if(t.pending, [&](const pending_sums& p) { return p.group < done; });
        t.wgmma_fence = false;
    }

    /// False: thread t has returned too early, and a finding was added.
    bool check_end(const thread& t) {
        const auto group = static_cast<std::size_t>(t.id / warpgroup_threads);
        if (!t.pending.empty())
            report_.add(fault::stream, t.id, {},
                        "returns while its warpgroup still multiplies: wgmma_commit and "
                        "wgmma_wait<0> first");
        else if (group < calls_.size() && t.wgmma_calls != calls_[group].size())
            report_.add(fault::stream, t.id, {},
                        "returns with fewer wgmma than another thread of its warpgroup has made: "
                        "all make the same calls");
        else
            return true;
        return false;
    }

  private:
    /// What all warps of the group must agree on.
    void check(thread& t, const wgmma_call& call, site at) {
        if (threads_ % warpgroup_threads != 0)
            report_.stop(t, fault::body, at,
                         "multiplies by warpgroups in a block that is not whole ones: give it a "
                         "multiple of 128 threads");
        if (!t.wgmma_fence)
            report_.stop(t, fault::race, at,
                         "multiplies sums that it may still hold: wgmma_fence first");
        auto& calls = calls_[static_cast<std::size_t>(t.id / warpgroup_threads)];
        if (t.wgmma_calls == calls.size()) calls.push_back(call);
        if (!(calls[t.wgmma_calls++] == call))
            report_.stop(t, fault::divergence, at,
                         "multiplies other operands than a thread before it: all of a warpgroup "
                         "make the same calls");
    }

    /// Rows that the tensor cores read from now on: nobody writes them at the same time, and they
    /// see what was written.
    void read_operand(thread& t, const pending_operand& read, site at) {
        const shadow_view& shadow = memory_.shared_view();
        const auto unfenced = [&](stamp write) {
            if (write >= stamps::in_flight) return false;  // said below
            const stamp fence = meetings_.async_fence_of(stamps::thread(write));
            return stamps::start_of_step(fence) < stamps::start_of_step(write);
        };
        for (int i = 0; i < 2 * read.rows; ++i) {
            const std::uintptr_t chunk = shadow.base + read.chunk(i);
            if (!memory_.is_shared(chunk))
                memory_.stop(t, fault::out_of_bounds, at, access::read, chunk, 16,
                             "outside all shared arrays: check the operand's address and stride");
            // Whoever writes it before the wait and a sync, this thread too, comes too early.
            memory_.judge(
                t, access::read, chunk, 16, at,
                read_shadow(shadow, chunk, 16, t.now | stamps::many_warps, clock_.shared()));
            if (const trouble found = judge_writes(shadow, chunk, 16, unfenced);
                found.what != verdict::fine)
                memory_.stop(t, fault::race, at, access::read, found.address, 4,
                             "which tensor cores need not see yet: async_fence in " +
                                 memory_.party(t, found.other) +
                                 ", which wrote it, before the sync");
        }
    }

    /// Operands of groups before `done` have been read. Nobody may have written them since the
    /// call.
    void finish_reads(thread& t, int done, site at) {
        const shadow_view& shadow = memory_.shared_view();
        auto& reads = warps_[static_cast<std::size_t>(t.id / scheduler::warp_lanes)].reads;
        for (const pending_operand& read : reads) {
            if (read.group >= done) continue;
            const auto later = [&](stamp write) { return stamps::era(write) > read.era; };
            for (int i = 0; i < 2 * read.rows; ++i) {
                const std::uintptr_t chunk = shadow.base + read.chunk(i);
                trouble found = judge_writes(shadow, chunk, 16, later);
                if (found.what == verdict::fine)
                    found =
                        read_shadow(shadow, chunk, 16, t.now | stamps::many_warps, clock_.shared());
                if (found.what != verdict::fine)
                    memory_.stop(t, fault::race, at, access::read, found.address, 4,
                                 "which was written while a wgmma might still read it: wgmma_wait "
                                 "and a sync stand before such a write");
            }
        }
        std::erase_if(reads, [&](const pending_operand& read) { return read.group < done; });
    }

    static pending_sums& sums_of(thread& t, real* sums, int columns) {
        const auto mine = std::find_if(t.pending.begin(), t.pending.end(),
                                       [&](const pending_sums& p) { return p.sums == sums; });
        if (mine != t.pending.end()) return *mine;
        return t.pending.emplace_back(
            pending_sums{sums, std::vector<real>(sums, sums + columns / 2), 0});
    }

    /// A lane's sums, four at a time: of two rows, two columns each. A product of two numbers is
    /// exact in f64.
    template <int Depth>
    static void add_products(const wgmma_operands& operands, int lane, int columns,
                             std::vector<real>& sums) {
        using pair = double __attribute__((vector_size(16)));
        const double* x = &operands.a[static_cast<std::size_t>(lane / 4 * Depth)];
        for (int i = 0; i < columns / 2; i += 4) {
            const double* y = &operands.b[static_cast<std::size_t>(2 * i + lane % 4 * 2)];
            pair upper = {}, lower = {};
            for (int k = 0; k < Depth; ++k, y += columns) {
                const pair of_k = {y[0], y[1]};
                upper = catena::detail::pinned(upper + x[k] * of_k);
                lower = catena::detail::pinned(lower + x[8 * Depth + k] * of_k);
            }
            const double products[] = {upper[0], upper[1], lower[0], lower[1]};
            for (int j = 0; j < 4; ++j) {
                real& value = sums[static_cast<std::size_t>(i + j)];
                value = catena::detail::finished(
                    static_cast<float>(catena::detail::pinned(products[j] + double{value.v})));
            }
        }
    }

    checked_memory& memory_;
    thread_meetings& meetings_;
    fault_report& report_;
    const launch_clock& clock_;
    std::vector<wgmma_warp> warps_;
    std::vector<std::vector<wgmma_call>> calls_;  // of each warpgroup
    int threads_ = 0;                             // of the block
};

}  // namespace CATENA_NAMESPACE::exec
