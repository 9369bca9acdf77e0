// Planning again what was planned before: decode steps repeat one graph. A plan is kept under the
// engine's id of the graph, and under a fingerprint of everything that planning reads.
#pragma once

#include "catena/plan/planner.hpp"

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

/// How many words of its params planning reads: of an op that may be the engine's own and of ROPE
/// all, of attention the keys of a query (ggml_cuda_waits.hpp), of others what matchers read.
constexpr int params_read(op kind) {
    const bool all =
        kind == op::other || kind == op::clamp || kind == op::unary || kind == op::rope;
    return all ? max_params : kind == op::flash_attn_ext ? 6 : 4;
}

/// Hashes a view's tensors, order and engine: ops, shapes, strides, addresses, flags, readers,
/// streams. Names are left out, but for those of ops that Catena does not know.
inline fingerprint fingerprint_of(const graph_view& view) {
    std::uint64_t lane[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
                             0xd6e8feb86659fd93u};
    const auto mix = [](std::uint64_t& h, std::uint64_t word) {
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 29;
    };
    const auto pair = [](std::int64_t low, std::int64_t high) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) |
               static_cast<std::uint64_t>(high) << 32;
    };
    // A view that says more than it has gets a plan too, which says so.
    const std::int32_t tensors = view.tensors == nullptr ? 0 : view.tensor_count;
    const std::int32_t nodes = view.nodes == nullptr ? 0 : view.node_count;
    for (std::int32_t i = 0; i < tensors; ++i) {
        const tensor& t = view.tensors[i];
        const unsigned marks = (t.weight ? 1u : 0u) | (t.reachable ? 2u : 0u);
        mix(lane[0], static_cast<std::uint64_t>(t.kind) | static_cast<std::uint64_t>(t.sub) << 8 |
                         static_cast<std::uint64_t>(t.type) << 16 |
                         static_cast<std::uint64_t>(t.flags) << 24 |
                         static_cast<std::uint64_t>(marks) << 32);
        for (int d = 0; d < 4; ++d) {
            mix(lane[d], static_cast<std::uint64_t>(t.ne[d]));
            mix(lane[d], static_cast<std::uint64_t>(t.nb[d]));
        }
        for (int s = 0; s < max_src; s += 2) mix(lane[s / 2 % 4], pair(t.src[s], t.src[s + 1]));
        for (int w = 0; w < params_read(t.kind); w += 2)
            mix(lane[1 + w / 2 % 2], pair(t.params[w], t.params[w + 1]));
        if (t.kind == op::other)
            for (const char* c = t.op_name; *c != '\0'; ++c)
                mix(lane[0], static_cast<std::uint64_t>(static_cast<unsigned char>(*c)));
        mix(lane[3], pair(t.view_src, t.buffer));
        mix(lane[0], t.offset);
        mix(lane[3], static_cast<std::uint64_t>(t.allocated));
        mix(lane[1], reinterpret_cast<std::uintptr_t>(t.data));
        mix(lane[2], pair(t.stream, t.uses));
    }
    mix(lane[2], reinterpret_cast<std::uintptr_t>(view.engine));
    for (std::int32_t i = 0; i < nodes; ++i)
        mix(lane[i % 4], static_cast<std::uint64_t>(view.nodes[i]));
    mix(lane[0], lane[1]);
    mix(lane[2], lane[3]);
    mix(lane[0], pair(view.tensor_count, view.node_count));
    mix(lane[2], lane[0]);
    return {{lane[0], lane[2]}};
}

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
