// What orders launches: the engine's streams, and the wait with which a kernel begins that starts
// before those before it are done.
#pragma once

#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/verify/graph.hpp"
#include "catena/plan/verify/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace CATENA_NAMESPACE::proof {

/// A step that nothing orders with the node that it needs, or that needs it.
struct unordered_step {
    const char* why = nullptr;  ///< null: there is none
    std::int32_t step = -1, node = -1;
    std::uint64_t byte = 0;
};

class launch_order {
  public:
    launch_order(const graph_view& view, const plan& made, const std::vector<region>& regions,
                 const engine_order& engine)
        : view_(view), plan_(made), regions_(regions), engine_(engine) {}

    /// An engine orders its streams by events between nodes of its own order. So a node that its
    /// step moves must touch nothing that another stream writes, and write nothing that one reads.
    unordered_step crossed_stream(const std::unordered_set<std::uint64_t>& bounds) const {
        const std::vector<std::int32_t> streams = all_streams();
        if (streams.size() < 2) return {};
        const std::vector<std::int32_t> maker = makers();
        touches readers(bounds), writers(bounds);
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            if (!engine_.acts(i)) continue;
            const memory::write by = number_of(i, streams);
            each_outside_read(i, maker, [&](const region& r) { readers.add(r, by); });
            if (!plan_.at(i).elided) writers.add(written_by(i), by);
        }
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            const std::int32_t s = plan_.at(i).step;
            if (!engine_.acts(i) || s < 0 || plan_.steps()[at(s)].launch_at == i) continue;
            bool crosses = false;
            const memory::write by = number_of(i, streams);
            each_outside_read(i, maker,
                              [&](const region& r) { crosses |= writers.of_others(r, by); });
            const region own = written_by(i);
            if (!plan_.at(i).elided)
                crosses |= writers.of_others(own, by) || readers.of_others(own, by);
            if (crosses)
                return {"moves, and meets a node of another stream", s, i,
                        regions_[at(view_.nodes[i])].begin};
        }
        return {};
    }

    /// A step that starts early waits for the kernel before it alone. If an engine's kernels may be
    /// done before those before them, there must be none of that kind since the step before, and
    /// that one must be of the same stream.
    unordered_step early_start() const {
        if (!plan_.asked().engine_may_skip_wait) return {};
        bool all_wait = false;
        std::int32_t stream = 0;
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            if (plan_.at(i).role == role::engine && engine_.acts(i))
                all_wait = all_wait && view_.node(i).stream == stream &&
                           engine_of(view_).waits(view_, i, plan_.asked().engine_version);
            for (const step& s : plan_.steps_at(i)) {
                if (s.config.dependent && (!all_wait || view_.node(i).stream != stream))
                    return {"may start before all that stands before it is done",
                            static_cast<std::int32_t>(&s - plan_.steps().begin()), i, 0};
                all_wait = true;
                stream = view_.node(i).stream;
            }
        }
        return {};
    }

  private:
    /// Which streams read bytes, or write them: their numbers from 1 on; or `many`.
    class touches {
      public:
        explicit touches(const std::unordered_set<std::uint64_t>& bounds) : by_(bounds) {}

        void add(const region& r, memory::write stream) {
            by_.change(r, [stream](memory::write before) {
                return before == 0 || before == stream ? stream : many;
            });
        }
        bool of_others(const region& r, memory::write stream) const {
            bool found = false;
            if (!r.empty())
                by_.each_run(r, [&](std::uint64_t, std::uint64_t, memory::write by) {
                    found |= by != 0 && by != stream;
                });
            return found;
        }

      private:
        static constexpr memory::write many = -1;
        memory by_;
    };

    const graph_view& view_;
    const plan& plan_;
    const std::vector<region>& regions_;
    const engine_order& engine_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    std::vector<std::int32_t> all_streams() const {
        std::vector<std::int32_t> out;
        for (std::int32_t i = 0; i < view_.node_count; ++i)
            if (out.empty() || out.back() != view_.node(i).stream)
                out.push_back(view_.node(i).stream);
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }

    /// From 1 on, among `streams` in ascending order.
    memory::write number_of(std::int32_t node, const std::vector<std::int32_t>& streams) const {
        const auto place =
            std::lower_bound(streams.begin(), streams.end(), view_.node(node).stream);
        return static_cast<memory::write>(place - streams.begin()) + 1;
    }

    /// Per tensor, the node that made what it names; -1: none did.
    std::vector<std::int32_t> makers() const {
        std::vector<std::int32_t> maker(at(view_.tensor_count), -1);
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            const std::int32_t of = named_by(view_.node(i));
            maker[at(view_.nodes[i])] = engine_.acts(i) ? i : of == no_tensor ? -1 : maker[at(of)];
        }
        return maker;
    }

    region written_by(std::int32_t i) const {
        const region& own = regions_[at(view_.nodes[i])];
        return plan_.at(i).role == role::engine ? engine_order::scratch_behind(own, view_.node(i))
                                                : own;
    }

    /// What a node reads that its own step does not make.
    template <class F>
    void each_outside_read(std::int32_t i, const std::vector<std::int32_t>& maker, F&& f) const {
        engine_.each_read(i, [&](std::int32_t t) {
            const std::int32_t by = maker[at(t)], s = plan_.at(i).step;
            if (s < 0 || by < 0 || plan_.at(by).step != s) f(regions_[at(t)]);
        });
    }
};

}  // namespace CATENA_NAMESPACE::proof
