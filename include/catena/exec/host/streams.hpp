// The weight streams of a block: each warp's protocol (exec/host/stream_log.hpp), and the bytes
// that it moves.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/exec/host/checked_memory.hpp"
#include "catena/exec/host/meetings.hpp"
#include "catena/exec/host/stream_log.hpp"

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>

namespace CATENA_NAMESPACE::exec {

class weight_streams {
  public:
    weight_streams(checked_memory& memory, thread_meetings& meetings, fault_report& report)
        : memory_(memory), meetings_(meetings), report_(report) {}

    void begin_block() { logs_.clear(); }

    /// The log of the next stream of t's warp; the first lane to ask makes it. `threads`: of the
    /// block.
    stream_log& open(thread& t, copy_method method, int stages, int threads, site at) {
        if (method == copy_method::bulk)  // a barrier per stage and warp, as on a GPU
            memory_.shared_array(
                t, static_cast<std::size_t>(threads / scheduler::warp_lanes * stages) * 8, at);
        const int warp = t.id / scheduler::warp_lanes;
        const std::size_t index = t.stream_calls++;
        for (auto& log : logs_)
            if (log.is(warp, index)) return log;
        return logs_.emplace_back(warp, index, method, stages);
    }

    void call(thread& t, stream_log& log, const stream_call& call, site at) {
        std::string problem;
        const bool first = log.first_to_call(t.lane(), call, problem);
        demand(t, problem, at);
        if (first) apply(t, log, call, at);
    }

    /// The last lane to come acts for all. `one_place`: all lanes give the same place for the first
    /// row.
    void fill(thread& t, stream_log& log, int stage, const stream_call& mine, filled_rows rows,
              bool one_place, site at) {
        log.of_lane(t.lane()) = mine;
        if (!meetings_.meet(t, meeting::stream_fill, stage, at)) return;
        std::int64_t total = 0;
        for (int lane = 0; lane < scheduler::warp_lanes; ++lane) {
            const int row = lane % rows.count;
            const stream_call &has = log.of_lane(lane), &wanted = log.of_lane(row),
                              &first = log.of_lane(0);
            const auto stop = [&](const std::string& what) {
                report_.stop(t, fault::stream, at,
                             "fills " + std::to_string(rows.count) + " rows, and lane " +
                                 std::to_string(lane) + what);
            };
            if (has.bytes == 0 || !(has == wanted))
                stop(" has no row or another than lane " + std::to_string(row) +
                     ": all lanes bring the rows in turn");
            if (one_place && has.to != first.to)
                stop(" wants another place for the first of them than lane 0");
            if (rows.alike && has.bytes != first.bytes)
                stop(" has another number of bytes than lane 0, though all rows are to be alike");
            if (lane < rows.count) total += has.bytes;
        }
        apply(t, log, {stream_call::begin, stage, 0, 0, total}, at);
        for (int row = 0; row < rows.count; ++row) {
            stream_call copy = log.of_lane(row);
            copy.to += static_cast<std::uintptr_t>(row) * static_cast<std::uintptr_t>(rows.pitch);
            apply(t, log, copy, at);
        }
        apply(t, log, {stream_call::commit, stage, 0, 0, 0}, at);
    }

    void copy_own(thread& t, stream_log& log, const stream_call& mine, site at) {
        if (mine.bytes != 0 && mine.bytes != 16 && mine.bytes != 4)
            report_.stop(t, fault::stream, at,
                         "copies " + std::to_string(mine.bytes) +
                             " bytes by one lane: it takes 16, a word, or none");
        log.of_lane(t.lane()) = mine;
        if (meetings_.meet(t, meeting::stream_copy, 0, at)) apply_of_lanes(t, log, at);
    }

    void wait(thread& t, stream_log& log, int stage, site at) {
        meetings_.sync_warp(t, meeting::stream_wait, stage, at, [&] {
            if (const int lane = log.missing_lane(); lane >= 0)
                report_.stop(t, fault::stream, at,
                             "waits for a stage for which lane " + std::to_string(lane) +
                                 " has not made every call: every lane of the warp makes every "
                                 "call");
            std::string problem;
            const auto copies = log.wait(stage, problem);
            demand(t, problem, at);
            for (const stream_call& copy : copies) {
                const auto bytes = static_cast<std::size_t>(copy.bytes);
                std::memcpy(reinterpret_cast<void*>(copy.to),
                            reinterpret_cast<const void*>(copy.from), bytes);
                mark_shadow(memory_.shared_view(), copy.to, bytes, t.now);
            }
        });
    }

    void release(thread& t, stream_log& log, int stage, site at) {
        meetings_.sync_warp(t, meeting::stream_release, stage, at,
                            [&] { demand(t, log.release(stage), at); });
    }

    /// False: the block has returned while a stream still fills a stage, and a finding was added.
    bool check_end() {
        for (const stream_log& log : logs_) {
            if (log.unfinished() < 0) continue;
            report_.add(fault::stream, log.warp() * scheduler::warp_lanes, {},
                        "returns while its warp's stream still fills stage " +
                            std::to_string(log.unfinished()) +
                            ": wait for every stage that was begun");
            return false;
        }
        return true;
    }

  private:
    void demand(thread& t, const std::string& problem, site at) {
        if (!problem.empty()) report_.stop(t, fault::stream, at, problem);
    }

    void apply(thread& t, stream_log& log, const stream_call& call, site at) {
        demand(t, log.apply(call), at);
        if (call.what != stream_call::copy) return;
        if (!memory_.is_shared(call.to) || memory_.is_shared(call.from))
            report_.stop(t, fault::stream, at,
                         "copies elsewhere than from global to shared memory: streams go that way "
                         "only");
        const auto bytes = static_cast<std::size_t>(call.bytes);
        memory_.check_range(t, access::read, call.from, bytes, at, t.now);
        memory_.check_range(t, access::write, call.to, bytes, at, stamps::in_flight);
    }

    void apply_of_lanes(thread& t, stream_log& log, site at) {
        for (int lane = 0; lane < scheduler::warp_lanes; ++lane)
            if (log.of_lane(lane).bytes != 0) apply(t, log, log.of_lane(lane), at);
    }

    checked_memory& memory_;
    thread_meetings& meetings_;
    fault_report& report_;
    std::deque<stream_log> logs_;  // of all warps
};

}  // namespace CATENA_NAMESPACE::exec
