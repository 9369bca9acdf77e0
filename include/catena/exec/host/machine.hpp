// The machine that blocks run on, one after the other: its parts, and the run of a block from its
// first thread to what must hold when all have returned. The executor's calls
// (exec/host/thread.hpp) go to the parts.
#pragma once

#include "catena/exec/host/cluster.hpp"
#include "catena/exec/host/streams.hpp"
#include "catena/exec/host/warpgroups.hpp"
#include "catena/exec/launch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace CATENA_NAMESPACE::exec {

class machine {
    scheduler threads_;
    launch_clock clock_;

  public:
    fault_report report{clock_, threads_};
    checked_memory memory{clock_, report};
    thread_meetings meetings{threads_, clock_, report};
    weight_streams streams{memory, meetings, report};
    block_cluster cluster{clock_, memory, meetings, report};
    warpgroup_products warpgroups{memory, meetings, report, clock_};

    machine() = default;
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    void begin_launch(std::string kernel, const launch_config& config) {
        while (!clock_.begin_launch()) memory.global.renumber();
        report.begin_launch(std::move(kernel));
        memory.begin_launch(config.shared_bytes);
        cluster.begin_launch(static_cast<int>(config.cluster));
        thread_count_ = static_cast<int>(config.threads);
        block_count_ = static_cast<int>(config.blocks);
        dependent_ = config.dependent;
    }

    /// False: a finding was added.
    bool run_block(std::uint32_t block, const order_seed& seed, fiber_stacks::entry entry,
                   void* owner) {
        clock_.begin_block(block);
        meetings.begin_block(dependent_);
        streams.begin_block();
        cluster.begin_block();
        warpgroups.begin_block(thread_count_);
        const std::size_t before = report.findings.size();
        threads_.run(thread_count_, seed, entry, owner);
        if (report.findings.size() != before) return false;
        if (threads_.all_returned()) return check_end();
        meetings.report_deadlock();
        return false;
    }

    /// First thing on a thread's fiber.
    thread& enter() {
        thread& t = threads_.running();
        meetings.refresh(t);
        return t;
    }
    [[noreturn]] void leave(thread& t) { threads_.finish(t); }

    int threads() const { return thread_count_; }
    int block() const { return static_cast<int>(clock_.block()); }
    int blocks() const { return block_count_; }

  private:
    /// What a block must have done by its end.
    bool check_end() {
        if (!streams.check_end()) return false;
        for (const thread& t : threads_.threads())
            if (!warpgroups.check_end(t)) return false;
        if (!cluster.check_end()) return false;
        if (meetings.grid_waited()) return true;
        report.add(
            fault::grid_order, 0, {},
            "and all others return without grid_wait in a dependent launch: call it on every path");
        return false;
    }

    int thread_count_ = 0, block_count_ = 0;
    bool dependent_ = false;
};

}  // namespace CATENA_NAMESPACE::exec
