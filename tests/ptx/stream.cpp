// Grids of a stream: which of them runs next. A grid that was launched programmatically starts once
// every block of the grid before has issued launch_dependents or has ended; griddepcontrol.wait
// ends when that grid has ended. From which on is chance.
#include "warp.hpp"

#include <algorithm>
#include <deque>

namespace ptx {
namespace {

/// Clusters of a grid that run at once. Those of a grid alone run in turn, since nothing that they
/// may do depends on others.
constexpr std::size_t most_running = 2;

void check(const launch& l) {
    const std::string of = l.code.name + ": ";
    if (l.parameters.size() != l.code.parameter_bytes)
        throw finding(of + "is given " + std::to_string(l.parameters.size()) +
                      " bytes of parameters and has " + std::to_string(l.code.parameter_bytes));
    if (l.threads % warp_lanes != 0 || (l.code.max_threads != 0 && l.threads > l.code.max_threads))
        throw finding(of + std::to_string(l.threads) + " threads, and at most " +
                      std::to_string(l.code.max_threads));
    if (l.blocks % l.cluster_blocks != 0)
        throw finding(of + std::to_string(l.blocks) + " blocks are no number of clusters");
}

/// Null: nothing can go on.
struct chosen {
    grid* of = nullptr;
    cluster* which = nullptr;  ///< null: a new one
};

chosen choose(std::deque<grid>& all, std::mt19937_64& random) {
    std::vector<chosen> can;
    for (grid& g : all) {
        for (cluster& c : g.running)
            if (!c.stuck) can.push_back({&g, &c});
        const std::size_t room = all.size() == 1 ? 1 : most_running;
        if (!g.to_start.empty() && g.running.size() < room && g.may_start())
            can.push_back({&g, nullptr});
    }
    if (can.empty()) return {};
    return can[can.size() == 1 ? 0 : random() % can.size()];
}

void start_cluster(grid& g) {
    g.running.emplace_back(g, g.to_start.back());
    g.to_start.pop_back();
}

[[noreturn]] void deadlock(const std::deque<grid>& all) {
    const auto runs = [](const grid& g) { return !g.running.empty(); };
    std::ranges::find_if(all, runs)->running.front().deadlock();
}

/// A grid has ended: those that wait for it look again.
void wake(std::deque<grid>& all) {
    for (grid& g : all)
        for (cluster& c : g.running) {
            c.stuck = false;
            for (block& b : c.blocks) b.wake();
        }
}

void go_on(std::deque<grid>& all, const chosen& one) {
    switch (one.which->go_on()) {
        case progress::some:
            break;
        case progress::waits:
            one.which->stuck = true;
            break;
        case progress::finished:
            one.of->running.remove_if([&](const cluster& c) { return &c == one.which; });
            if (one.of->ended()) wake(all);
            break;
    }
}

}  // namespace

grid::grid(const launch& l, global_memory& memory, std::mt19937_64& random, moment& now,
           grid* before)
    : launch(l),
      memory(memory),
      random(random),
      now(now),
      before(before),
      number(before == nullptr ? 1 : before->number + 1),
      over_at_start(!dependent          ? (grids{1} << number) - 1
                    : before == nullptr ? 0
                                        : before->over_at_start) {
    if (before != nullptr) before->behind = this;
    for (int first = 0; first < blocks; first += cluster_blocks) to_start.push_back(first);
    std::shuffle(to_start.begin(), to_start.end(), random);
}

grid::~grid() = default;

bool grid::ended() const { return to_start.empty() && running.empty(); }

bool grid::has_triggered() const {
    const auto block_has = [](const block& b) { return b.triggered || b.done(); };
    return to_start.empty() && std::ranges::all_of(running, [&](const cluster& c) {
               return std::ranges::all_of(c.blocks, block_has);
           });
}

bool grid::may_start() const {
    if (before == nullptr) return true;
    if (dependent) return before->has_triggered();
    for (const grid* g = before; g != nullptr; g = g->before)
        if (!g->ended()) return false;
    return true;
}

/// A grid in which no thread waits can end while the one before it still runs.
grids grid::over(bool has_waited) const {
    if (!has_waited) return over_at_start;
    const grids known_before = before == nullptr ? 0 : before->over(before->waited);
    return over_at_start | grids{1} << (number - 1) | known_before;
}

void run(const std::vector<launch>& launches, global_memory& memory, std::mt19937_64 random) {
    if (launches.size() > most_launches)
        throw finding("a stream has at most " + std::to_string(most_launches) + " launches");
    for (const launch& l : launches) check(l);
    for (global_range& r : memory.ranges)
        if (r.kind != content::constant)
            r.past = history(static_cast<std::size_t>(r.last - r.first));
    moment now = 1;
    std::deque<grid> all;
    for (const launch& l : launches)
        all.emplace_back(l, memory, random, now, all.empty() ? nullptr : &all.back());
    while (!std::ranges::all_of(all, &grid::ended)) {
        const chosen one = choose(all, random);
        if (one.of == nullptr) deadlock(all);
        if (one.which == nullptr)
            start_cluster(*one.of);
        else
            go_on(all, one);
    }
}

}  // namespace ptx
