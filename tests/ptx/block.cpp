// Blocks and clusters: which warp runs next, which barriers let go, when copies arrive. All of it
// as late as the PTX ISA allows, in an order of chance.
#include "access.hpp"

#include <algorithm>

namespace ptx {

block::block(cluster& of, int index, int rank)
    : of(of),
      index(index),
      rank(rank),
      shared(of.of.code.static_shared + of.of.shared_bytes),
      wgmma_asked(static_cast<std::size_t>(of.of.threads / warp_lanes)) {
    const int count = of.of.threads / warp_lanes;
    warps.reserve(static_cast<std::size_t>(count));
    for (int w = 0; w < count; ++w) warps.emplace_back(*this, w);
}

bool block::done() const {
    return std::all_of(warps.begin(), warps.end(), [](const warp& w) { return w.alive == 0; });
}

bool block::release() {
    bool waits = false;
    for (const warp& w : warps) {
        if (w.barred != w.alive) return false;
        waits = waits || w.barred != 0;
    }
    if (!waits) return false;
    meet(*this);
    const warp& first = warps[0];
    const flow how = of.of.code.code[static_cast<std::size_t>(first.pc[0])].how;
    for (warp& w : warps) {
        const int at = w.pc[static_cast<std::size_t>(std::countr_zero(w.barred) % warp_lanes)];
        for (int l = 0; l < warp_lanes; ++l) {
            w.now = &of.of.code.code[static_cast<std::size_t>(at)];
            if ((w.barred >> l & 1u) == 0)
                w.fail(l, "has left, and others wait for it at bar.sync");
            if (w.pc[static_cast<std::size_t>(l)] != at)
                w.fail(l, "waits at another bar.sync than lanes of its warp");
            if (w.now->how != how) w.fail(l, "waits at bar.sync, and others at bar.red");
            ++w.pc[static_cast<std::size_t>(l)];
        }
        if (w.now->how == flow::vote) {
            lanes& p = w.predicates[static_cast<std::size_t>(w.now->at[0])];
            p = voted ? p | w.barred : p & ~w.barred;
        }
        w.running = w.barred;
        w.barred = 0;
    }
    voted = false;
    return true;
}

void block::wake() {
    for (warp& w : warps) {
        w.running |= w.phased;
        w.phased = 0;
    }
}

void block::complete(phase_barrier& b) {
    if (b.pending != 0 || b.bytes != 0) return;
    b.parity ^= 1u;
    b.completed = b.arrivals;
    b.pending = b.expected;
    wake();
}

void block::deliver(std::size_t which) {
    const bulk_copy c = bulk[which];
    bulk.erase(bulk.begin() + static_cast<std::ptrdiff_t>(which));
    const mark m = mark_of_copy(*this, c.barrier, *c.asked);
    c.by->now = c.asked;
    global_has_stood(*c.by, c.when, m, c.from, c.bytes);
    std::copy_n(c.from, c.bytes, shared.bytes.begin() + c.to);
    shared.set(c.to, c.bytes, byte_state::written);
    shared.past.write(m, c.to, c.bytes);
    phase_barrier& b = barriers.at(c.barrier);
    b.arrivals.generic.at(m.of)[0] = of.of.now++;
    b.bytes -= c.bytes;
    complete(b);
}

void block::check_end() const {
    const auto bad = [&](const std::string& what) {
        throw finding(of.of.code.name + ": block " + std::to_string(index) + ": " + what);
    };
    if (!bulk.empty()) bad("ends before a bulk copy into its shared memory has completed");
    for (std::size_t w = 0; w < wgmma_asked.size(); ++w)
        if (wgmma_asked[w] != wgmma_asked[w / 4 * 4])
            bad("the warps of a warpgroup asked for different wgmma");
}

cluster::cluster(grid& g, int first_block)
    : of(g), number(number_of_cluster(g.number, first_block)) {
    for (int r = 0; r < g.cluster_blocks; ++r) blocks.emplace_back(*this, first_block + r, r);
}

progress cluster::go_on() {
    std::vector<warp*> ready;
    for (block& b : blocks)
        for (warp& w : b.warps)
            if (w.running != 0) ready.push_back(&w);
    if (!ready.empty()) {
        ready[of.random() % ready.size()]->run();
        return progress::some;
    }
    bool some = false;
    for (block& b : blocks) some = b.release() || some;
    if (some || release() || deliver_one()) return progress::some;
    if (!std::all_of(blocks.begin(), blocks.end(), [](const block& b) { return b.done(); }))
        return progress::waits;
    check_end();
    return progress::finished;
}

void cluster::check_end() const {
    if (!stores.empty())
        throw finding(of.code.name +
                      ": a store into another block's shared memory that no meeting "
                      "of the cluster follows, or none that releases it");
    for (const block& b : blocks) b.check_end();
}

/// barrier.cluster.wait: all threads that have not left have arrived.
bool cluster::release() {
    bool waits = false;
    for (const block& b : blocks)
        for (const warp& w : b.warps) {
            if (w.clustered != w.alive) return false;
            waits = waits || w.clustered != 0;
        }
    if (!waits) return false;
    std::erase_if(stores, [this](const remote_store& s) {
        if ((s.by->released >> s.lane & 1u) == 0) return false;
        shared_memory& shared = blocks[static_cast<std::size_t>(s.rank)].shared;
        std::memcpy(shared.bytes.data() + s.to, &s.bits, sizeof s.bits);
        shared.set(s.to, sizeof s.bits, byte_state::written);
        return true;
    });
    for (block& b : blocks)
        for (warp& w : b.warps) {
            for (lanes l = w.clustered; l != 0; l &= l - 1)
                ++w.pc[static_cast<std::size_t>(std::countr_zero(l))];
            w.running = w.clustered;
            w.clustered = w.arrived = w.released = 0;
        }
    agreed.merge(arrivals);
    ++meetings;
    return true;
}

bool cluster::deliver_one() {
    std::vector<block*> with;
    for (block& b : blocks)
        if (!b.bulk.empty() && !b.done()) with.push_back(&b);
    if (with.empty()) return false;
    block& b = *with[of.random() % with.size()];
    b.deliver(of.random() % b.bulk.size());
    return true;
}

void cluster::deadlock() const {
    std::string where;
    for (const block& b : blocks)
        for (const warp& w : b.warps) {
            if (w.alive == 0 || where.size() > 2000) continue;
            where += "\n  block " + std::to_string(b.index) + " warp " + std::to_string(w.index);
            for (lanes left = w.alive; left != 0;) {
                const int at = w.pc[static_cast<std::size_t>(std::countr_zero(left))];
                int count = 0;
                for (int l = 0; l < warp_lanes; ++l) {
                    if ((left >> l & 1u) == 0 || w.pc[static_cast<std::size_t>(l)] != at) continue;
                    left &= ~(lanes{1} << l);
                    ++count;
                }
                const auto here = static_cast<std::size_t>(at);
                where += ", " + std::to_string(count) + " lanes at line " +
                         std::to_string(of.code.code[here].line) + " '" + of.code.lines[here] + "'";
            }
        }
    throw finding(of.code.name + ": threads wait for what never comes:" + where);
}

}  // namespace ptx
