// A graph that writes over a value which it still reads: then the engine's order is no measure of a
// plan. Found in the engine's order alone, whatever a plan does.
#pragma once

#include "catena/plan/detail/verify/memory.hpp"

#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE::proof {

/// Node `writer` wrote the bytes [begin, end) of tensor `of`, which node `reader` reads behind it;
/// reader -1: which is a weight.
struct overwrite {
    std::int32_t writer = -1, reader = -1;
    std::int32_t of = no_tensor;
    std::uint64_t begin = 0, end = 0;
    bool found() const { return writer >= 0; }
};

class overwrite_search {
  public:
    overwrite_search(const graph_view& view, const std::vector<region>& regions)
        : view_(view), regions_(regions), roots_(static_cast<std::size_t>(view.tensor_count)) {
        for (std::int32_t t = 0; t < view.tensor_count; ++t) roots_[at(t)] = root_of(t);
    }

    /// The first that was found.
    const overwrite& first() const { return first_; }

    /// The node that made a write other than 0: its result or, behind all results, its scratch.
    std::int32_t writer(memory::write by) const { return (by - 1) % view_.node_count; }

    /// Did a write other than 0 that is found between the ends of a region change a byte of it?
    bool changes(memory::write by, const std::vector<written>& writes, const region& r) const {
        return by > view_.node_count || !apart(writes[at(by)].where, r);
    }

    /// Looks at node i, before it writes, in memory as the nodes before it left it.
    void look_at(std::int32_t i, const memory& left, const std::vector<written>& writes) {
        const tensor& t = view_.node(i);
        for (int s = 0, slots = source_slots(t); s < slots && !first_.found(); ++s) {
            const bool destination = t.kind == op::cpy && s == 1;  // written, and not read
            if (t.src[s] != no_tensor && !destination) read(i, t.src[s], left, writes);
        }
    }

  private:
    const graph_view& view_;
    const std::vector<region>& regions_;
    std::vector<std::int32_t> roots_;  // per tensor: the one whose memory it names
    overwrite first_;

    std::int32_t root_of(std::int32_t t) const {
        for (std::int32_t steps = view_.tensor_count; steps > 0; --steps) {
            const std::int32_t named = named_by(view_.at(t));
            if (named == no_tensor) break;
            t = named;
        }
        return t;
    }

    /// Who names the memory of a value may change it. Nobody else may before its last reader.
    void read(std::int32_t i, std::int32_t t, const memory& left,
              const std::vector<written>& writes) {
        const region& r = regions_[at(t)];
        if (r.empty()) return;
        left.each_run(r, [&](std::uint64_t begin, std::uint64_t end, memory::write by) {
            if (first_.found() || by == 0) return;
            const std::int32_t node = writer(by);
            if (roots_[at(view_.nodes[node])] != roots_[at(t)] && changes(by, writes, r))
                first_ = {node, i, t, begin, end};
        });
    }
};

}  // namespace CATENA_NAMESPACE::proof
