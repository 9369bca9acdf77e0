// Planning again what was planned before: decode steps repeat one graph. A plan is kept under the
// engine's id of the graph, and under a fingerprint of everything that planning reads.
#pragma once

#include "catena/plan/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

namespace CATENA_NAMESPACE {

/// 128 bits: graphs that differ in anything a plan depends on differ here, but for chance.
struct fingerprint {
    std::uint64_t words[2] = {};
    /// The same graph, but for chance.
    bool operator==(const fingerprint& o) const {
        return words[0] == o.words[0] && words[1] == o.words[1];
    }
};

/// Hashes a view's tensors, order and engine: ops, shapes, strides, addresses, flags, readers,
/// streams. Names are left out, but for those of ops that Catena does not know.
fingerprint fingerprint_of(const graph_view& view);

/// Plans by graph, the last few of them. One per thread, or behind a lock of the engine's.
class plan_cache {
  public:
    /// Room for all slices of a decode step and of a prompt, several times over: the graph of a
    /// model whose experts lie on the host is cut twice in every layer.
    static constexpr std::size_t enough = 512;

    /// Keeps at most `capacity` plans, and one at least.
    explicit plan_cache(planner plans, std::size_t capacity = enough)
        : plans_(std::move(plans)), capacity_(capacity > 0 ? capacity : 1) {}

    /// The plan that was made for this id, or null. The engine must give a graph a new id when
    /// anything about it changes: its nodes, its memory, who reads it. 0 is no id. A plan lives
    /// until as many others were made after it as there is room for.
    const plan* find(std::uint64_t uid) const noexcept {
        for (const entry& e : kept_)
            if (uid != 0 && e.uid == uid) return &e.made;
        return nullptr;
    }

    /// The plan of a view: as `find`; else by its fingerprint; else made now.
    const plan& plan_for(const graph_view& view, std::uint64_t uid = 0) noexcept {
        if (const plan* known = find(uid)) return *known;
        const fingerprint print = fingerprint_of(view);
        for (entry& e : kept_) {
            if (!(e.print == print)) continue;
            if (uid != 0) e.uid = uid;
            return e.made;
        }
        if (kept_.size() == capacity_) kept_.pop_front();
        ++made_;
        kept_.push_back({uid, print, plans_.plan(view)});
        return kept_.back().made;
    }

    /// Plans made so far: how often a graph was neither known by id nor by fingerprint.
    std::int64_t made() const noexcept { return made_; }

  private:
    struct entry {
        std::uint64_t uid;
        fingerprint print;
        plan made;
    };
    planner plans_;
    std::size_t capacity_;
    std::int64_t made_ = 0;
    std::list<entry> kept_;  // the oldest first; a plan stays where it is
};

}  // namespace CATENA_NAMESPACE
