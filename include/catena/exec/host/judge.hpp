// The slow half of the machine: accesses that are not plainly fine, the weight streams, and the
// sentences for what is wrong. Part of exec/host/machine.hpp.
#pragma once

#include "catena/exec/host/machine.hpp"

#include <cstdio>
#include <cstring>
#include <map>

namespace catena::exec {

// ---- memory ----

inline void machine::check_range(thread& t, access a, std::uintptr_t address, std::size_t bytes,
                                 site at, stamp mark) {
    const auto look = [&](const shadow_view& view, std::size_t n, const present& now) {
        return a == access::read ? read_shadow(view, address, n, t.now, now)
                                 : write_shadow(view, address, n, t.now, mark, now);
    };
    if (shared_.holds(address)) {
        judge(t, a, address, bytes, at, look(shared_view_, bytes, shared_now_));
        return;
    }
    const auto* range = check_declared(t, a, address, bytes, at);
    if (!t.past_grid_wait) check_grid_order(t, a, address, bytes, at);
    if (a == access::write && range->kind == memory::constant)
        stop_at(t, fault::read_only, at, a, address, bytes,
                "constant memory: write elsewhere, or declare it initialized");
    while (bytes > 0) {
        const auto& w = *global.open(address);
        const std::size_t n = std::min<std::size_t>(bytes, w.end - address);
        if (w.shadow.cells != nullptr)
            judge(t, a, address, bytes, at, look(w.shadow, n, global_now_));
        address += n;
        bytes -= n;
    }
}

inline const global_memory::range* machine::check_declared(thread& t, access a,
                                                           std::uintptr_t address,
                                                           std::size_t bytes, site at) {
    const auto* range = global.find(address);
    if (range == nullptr || address + bytes > range->end)
        stop_at(t, fault::out_of_bounds, at, a, address, bytes,
                range == nullptr ? "outside all declared memory: check the index against the size"
                                 : "past the end: check the index against the size");
    return range;
}

inline void machine::check_grid_order(thread& t, access a, std::uintptr_t address,
                                      std::size_t bytes, site at) {
    if (a == access::write)
        stop_at(t, fault::grid_order, at, a, address, bytes,
                "before grid_wait, while the kernel before may still use it: call grid_wait first");
    if (global.find(address)->kind != memory::constant)
        stop_at(
            t, fault::grid_order, at, a, address, bytes,
            "before grid_wait, while the kernel before may still write it: call grid_wait first");
}

inline void machine::judge(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at,
                           const trouble& found) {
    const auto stop_for = [&](fault kind, const std::string& why) {
        stop_at(t, kind, at, a, found.address, bytes - (found.address - address), why);
    };
    switch (found.what) {
        case verdict::fine:
            return;
        case verdict::uninitialized:
            stop_for(fault::uninitialized, "which nobody has written: write it first");
            return;
        case verdict::no_array:
            stop_for(fault::out_of_bounds, "outside the array: check the index against its size");
            return;
        case verdict::in_flight:
            stop_for(fault::stream, "which a stream copy still brings: wait for its stage first");
            return;
        case verdict::races_with_write:
            stop_for(fault::race,
                     "which " + party(t, found.other) + " also writes" +
                         (found.other < global_now_.block
                              ? ": blocks run at the same time, give each its own bytes"
                              : ", unordered: put a sync between (in one warp a sync_warp)"));
            return;
        case verdict::races_with_read:
            stop_for(
                fault::race,
                "which " + party(t, found.other) + " also reads" +
                    (found.other < global_now_.block || (found.other & stamps::many_blocks) != 0
                         ? ": blocks run at the same time, give each its own bytes"
                         : ", unordered: put a sync between (in one warp a sync_warp)"));
            return;
    }
}

// ---- weight streams ----

inline stream_log& machine::open_stream(thread& t, copy_method method, int stages, site at) {
    if (method == copy_method::bulk)  // a barrier per stage and warp, as on a GPU
        shared(t, static_cast<std::size_t>(thread_count_ / scheduler::warp_lanes * stages) * 8, at);
    const int warp = t.id / scheduler::warp_lanes;
    const std::size_t index = t.stream_calls++;
    for (auto& log : streams_)
        if (log.is(warp, index)) return log;
    return streams_.emplace_back(warp, index, method, stages);
}

inline void machine::stream_begin_copy_commit(thread& t, stream_log& log, const stream_call& call,
                                              site at) {
    std::string problem;
    const bool first = log.first_to_call(t.id % scheduler::warp_lanes, call, problem);
    if (!problem.empty()) stop(t, fault::stream, at, problem);
    if (first) stream_apply(t, log, call, at);
}

inline void machine::stream_apply(thread& t, stream_log& log, const stream_call& call, site at) {
    const std::string problem = log.apply(call);
    if (!problem.empty()) stop(t, fault::stream, at, problem);
    if (call.what != stream_call::copy) return;
    if (!shared_.holds(call.to) || shared_.holds(call.from))
        stop(t, fault::stream, at,
             "copies elsewhere than from global to shared memory: streams go that way only");
    const auto bytes = static_cast<std::size_t>(call.bytes);
    check_range(t, access::read, call.from, bytes, at, t.now);
    check_range(t, access::write, call.to, bytes, at, stamps::in_flight);
}

/// The last lane to come acts for all.
inline void machine::stream_fill(thread& t, stream_log& log, int stage, const stream_call& mine,
                                 int lanes, site at) {
    check_meeting(t, meeting::stream_fill, stage, at);
    log.of_lane(t.id % scheduler::warp_lanes) = mine;
    if (!scheduler_.meet_warp(t, meeting::stream_fill, stage, at)) return;
    std::int64_t total = 0;
    for (int lane = 0; lane < lanes; ++lane) total += log.of_lane(lane).bytes;
    stream_apply(t, log, {stream_call::begin, stage, 0, 0, total}, at);
    for (int lane = 0; lane < lanes; ++lane)
        if (log.of_lane(lane).bytes != 0) stream_apply(t, log, log.of_lane(lane), at);
    stream_apply(t, log, {stream_call::commit, stage, 0, 0, 0}, at);
}

inline void machine::stream_copy_own(thread& t, stream_log& log, const stream_call& mine, site at) {
    if (mine.bytes != 0 && mine.bytes != 16 && mine.bytes != 4)
        stop(t, fault::stream, at,
             "copies " + std::to_string(mine.bytes) +
                 " bytes by one lane: it takes 16, a word, or none");
    check_meeting(t, meeting::stream_copy, 0, at);
    log.of_lane(t.id % scheduler::warp_lanes) = mine;
    if (!scheduler_.meet_warp(t, meeting::stream_copy, 0, at)) return;
    for (int lane = 0; lane < scheduler::warp_lanes; ++lane)
        if (log.of_lane(lane).bytes != 0) stream_apply(t, log, log.of_lane(lane), at);
}

inline void machine::stream_wait(thread& t, stream_log& log, int stage, site at) {
    sync_warp(t, meeting::stream_wait, stage, at, [&] {
        if (const int lane = log.missing_lane(); lane >= 0)
            stop(t, fault::stream, at,
                 "waits for a stage for which lane " + std::to_string(lane) +
                     " has not made every call: every lane of the warp makes every call");
        std::string problem;
        const auto copies = log.wait(stage, problem);
        if (!problem.empty()) stop(t, fault::stream, at, problem);
        for (const stream_call& copy : copies) {
            const auto bytes = static_cast<std::size_t>(copy.bytes);
            std::memcpy(reinterpret_cast<void*>(copy.to), reinterpret_cast<const void*>(copy.from),
                        bytes);
            mark_shadow(shared_view_, copy.to, bytes, t.now);
        }
    });
}

inline void machine::stream_release(thread& t, stream_log& log, int stage, site at) {
    sync_warp(t, meeting::stream_release, stage, at, [&] {
        if (const std::string problem = log.release(stage); !problem.empty())
            stop(t, fault::stream, at, problem);
    });
}

// ---- meetings ----

inline void machine::check_meeting(thread& t, meeting what, int detail, site at) {
    const thread* first = scheduler_.first_in_warp(t);
    if (first == nullptr || (first->waits == what && first->detail == detail)) return;
    stop(t, fault::divergence, at,
         "comes to " + spell(what, detail) + " while thread " + std::to_string(first->id) +
             " of its warp waits at " + spell(first->waits, first->detail) + " (" +
             spell(first->at) + "): all 32 lanes must take the same path to it");
}

/// Nobody can go on: names, for every place, who waits there.
inline bool machine::report_deadlock() {
    struct group {
        int count = 0, first = 0;
        site at;
    };
    std::map<std::string, group> groups;
    const thread* waits = nullptr;
    for (const thread& t : scheduler_.threads()) {
        const std::string where =
            t.returned ? "returned"
                       : "wait at " + spell(t.waits, t.detail) + " (" + spell(t.at) + ")";
        group& g = groups[where];
        if (g.count++ == 0) g.first = t.id;
        if (!t.returned && waits == nullptr) waits = &t;
    }
    std::string what = "waits for ever at " + spell(waits->waits, waits->detail) + ": ";
    const char* separator = "";
    for (const auto& [where, g] : groups) {
        what += separator + std::to_string(g.count) +
                (g.count == 1 ? " thread (" : " threads (first ") + std::to_string(g.first) + ") " +
                where;
        separator = "; ";
    }
    add({fault::divergence,
         kernel_,
         static_cast<std::int64_t>(block_),
         waits->id,
         waits->at,
         0,
         {},
         0,
         {}},
        what + ": every thread must take the same path to it");
    return false;
}

/// What a block must have done by its end.
inline bool machine::check_end() {
    finding f{fault::stream, kernel_, static_cast<std::int64_t>(block_), 0, {}, 0, {}, 0, {}};
    for (const stream_log& log : streams_) {
        if (log.unfinished() < 0) continue;
        f.thread = log.warp() * scheduler::warp_lanes;
        add(f, "returns while its warp's stream still fills stage " +
                   std::to_string(log.unfinished()) + ": wait for every stage that was begun");
        return false;
    }
    for (const thread& t : scheduler_.threads()) {
        const auto group = static_cast<std::size_t>(t.id / warpgroup_threads);
        f.thread = t.id;
        if (!t.pending.empty())
            add(f,
                "returns while its warpgroup still multiplies: wgmma_commit and wgmma_wait<0> "
                "first");
        else if (group < wgmma_calls_.size() && t.wgmma_calls != wgmma_calls_[group].size())
            add(f,
                "returns with fewer wgmma than another thread of its warpgroup has made: all "
                "make the same calls");
        else
            continue;
        return false;
    }
    f.thread = 0;
    if (const std::string problem = end_in_cluster(); !problem.empty()) {
        f.kind = fault::divergence;
        add(f, problem);
        return false;
    }
    if (grid_waited_) return true;
    f.kind = fault::grid_order;
    add(f, "and all others return without grid_wait in a dependent launch: call it on every path");
    return false;
}

// ---- sentences ----

inline void machine::stop_at(thread& t, fault kind, site at, access a, std::uintptr_t address,
                             std::size_t bytes, const std::string& why) {
    finding f{kind, kernel_, static_cast<std::int64_t>(block_), t.id, at, address, {}, 0, {}};
    const std::string where = place(address, f);
    add(std::move(f), std::string(a == access::read ? "reads " : "writes ") +
                          std::to_string(bytes) + (bytes == 1 ? " byte at " : " bytes at ") +
                          where + ", " + why);
    scheduler_.abandon(t);
}

/// Who made the access `other`, seen from thread t.
inline std::string machine::party(const thread& t, stamp other) const {
    std::string who = "thread " + std::to_string(stamps::thread(other));
    const auto past =
        std::upper_bound(begins_.begin(), begins_.end(), stamps::era(other),
                         [](std::uint32_t era, const begin& b) { return era < b.era; });
    if (past != begins_.begin() && std::prev(past)->block != block_)
        who = "block " + std::to_string(std::prev(past)->block) + ", " + who;
    if ((other & stamps::many_blocks) != 0) return who + " and another block";
    if ((other & (stamps::many_warps | stamps::many_lanes)) == 0) return who;
    return (stamps::thread(other) == t.id ? "another thread than " : "among others ") + who;
}

inline std::string machine::place(std::uintptr_t address, finding& f) {
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
    if (shared_.holds(address)) {
        f.range = shared_.spell(address, f.offset);
    } else {
        const auto* range = global.find(address);
        if (range == nullptr) range = global.nearest(address);
        if (range == nullptr) return hex;
        f.range = range->name;
        f.offset = static_cast<std::int64_t>(address - range->begin);
        f.range += " (" + std::to_string(range->end - range->begin) + " bytes)";
    }
    return f.range + (f.offset < 0 ? " - " : " + ") +
           std::to_string(f.offset < 0 ? -f.offset : f.offset) + " (" + hex + ")";
}

inline void machine::add(finding f, const std::string& what) {
    f.message = "block " + std::to_string(f.block) + ", thread " + std::to_string(f.thread);
    if (f.at.line != 0) f.message += " (" + spell(f.at) + ")";
    f.message += " " + what + ". Kernel: " + f.kernel;
    findings.push_back(std::move(f));
}

}  // namespace catena::exec
