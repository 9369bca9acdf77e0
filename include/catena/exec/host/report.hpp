// What a launch on the host did wrong. A finding by a thread ends its block.
#pragma once

#include "catena/exec/host/clock.hpp"
#include "catena/exec/host/scheduler.hpp"

#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::exec {

class fault_report {
  public:
    fault_report(const launch_clock& clock, scheduler& threads)
        : clock_(clock), threads_(threads) {}

    std::vector<finding> findings;

    void begin_launch(std::string kernel) { kernel_ = std::move(kernel); }

    /// Adds `f`, of which kind, thread, place and address are known. `what` continues "block 3,
    /// thread 17 ".
    void add(finding f, const std::string& what) {
        f.kernel = kernel_;
        f.block = static_cast<std::int64_t>(clock_.block());
        f.message = "block " + std::to_string(f.block) + ", thread " + std::to_string(f.thread);
        if (f.at.line != 0) f.message += " (" + spell(f.at) + ")";
        f.message += " " + what + ". Kernel: " + f.kernel;
        findings.push_back(std::move(f));
    }
    void add(fault kind, int thread, site at, const std::string& what) {
        finding f;
        f.kind = kind;
        f.thread = thread;
        f.at = at;
        add(std::move(f), what);
    }

    /// Adds what thread `t` did wrong and ends the block.
    [[noreturn]] void stop(thread& t, fault kind, site at, const std::string& what) {
        add(kind, t.id, at, what);
        end_block(t);
    }
    [[noreturn]] void end_block(thread& t) { threads_.abandon(t); }

  private:
    const launch_clock& clock_;
    scheduler& threads_;
    std::string kernel_;
};

}  // namespace CATENA_NAMESPACE::exec
