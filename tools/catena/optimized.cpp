#include "optimized.hpp"

#include "failure.hpp"

#include "catena/match/detail/index.hpp"
#include "catena/plan/optimize.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

constexpr std::uint64_t alignment = 256;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

bool by_element(op o) {
    switch (o) {
        case op::add:
        case op::mul:
        case op::div:
        case op::scale:
        case op::clamp:
        case op::unary:
        case op::rms_norm:
        case op::norm:
        case op::rope:
        case op::soft_max:
        case op::add_id:
            return true;
        default:
            return false;
    }
}

/// Deals memory to the results of a graph, in a buffer of their own.
class allocator {
  public:
    allocator(json::graph& g, const std::vector<keep_alive>& keep) : g_(g) {
        const graph_view view = g.view();
        if (const status s = index_.build(view); !s.ok()) throw failure(g.file + ": " + s.message);
        until_.resize(g.tensors.size());
        for (std::int32_t t = 0; t < view.tensor_count; ++t)
            until_[at(t)] = index_.live_until(index_.root(t));
        for (const keep_alive& k : keep) {
            std::int32_t& until = until_[at(index_.root(k.tensor))];
            until = std::max(until, k.until);
        }
        for (const tensor& t : g.tensors) buffer_ = std::max(buffer_, t.buffer + 1);
    }

    void deal() {
        const std::vector<tensor> before = g_.tensors;
        for (std::int32_t i = 0; i < std::ssize(g_.nodes); ++i) {
            const std::int32_t t = g_.nodes[at(i)];
            if (index_.root(t) == t) place(i, t);
        }
        for (std::int32_t t = 0; t < std::ssize(g_.tensors); ++t) {
            const std::int32_t root = index_.root(t);
            if (root == t || g_.tensors[at(root)].buffer != buffer_) continue;
            g_.tensors[at(t)].buffer = buffer_;
            g_.tensors[at(t)].offset =
                g_.tensors[at(root)].offset + before[at(t)].offset - before[at(root)].offset;
        }
    }

  private:
    struct room {
        std::uint64_t end;
        std::int32_t until;  ///< the last node that needs it
    };
    json::graph& g_;
    graph_index index_;
    std::vector<std::int32_t> until_;                            // per root
    std::map<std::uint64_t, room> taken_;                        // by offset
    std::map<std::uint64_t, std::uint64_t> gaps_ = {{0, none}};  // between these: begin, end
    std::multimap<std::int32_t, std::uint64_t> dies_;            // what is taken: until, offset
    std::int32_t buffer_ = 0;

    void place(std::int32_t i, std::int32_t t) {
        free_before(i);
        tensor& mine = g_.tensors[at(t)];
        const auto bytes = static_cast<std::uint64_t>(allocated_bytes(mine));
        std::uint64_t offset = in_place(i, t);
        if (offset == none) offset = bytes > 0 ? take_gap(bytes) : 0;
        if (bytes > 0) {
            const std::int32_t until = std::max(until_[at(t)], i);
            taken_[offset] = {offset + round_up(bytes), until};
            dies_.emplace(until, offset);
        }
        mine.buffer = buffer_;
        mine.offset = offset;
    }

    static std::uint64_t round_up(std::uint64_t bytes) {
        return (bytes + alignment - 1) / alignment * alignment;
    }

    /// The begin of the first gap that is large enough, which shrinks.
    std::uint64_t take_gap(std::uint64_t bytes) {
        const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [bytes](const auto& g) {
            return g.second - g.first >= bytes;
        });
        const auto [begin, end] = *gap;
        gaps_.erase(gap);
        if (end - begin > round_up(bytes)) gaps_[begin + round_up(bytes)] = end;
        return begin;
    }

    /// Frees what nobody needs from node i on.
    void free_before(std::int32_t i) {
        while (!dies_.empty() && dies_.begin()->first < i) {
            const auto room = taken_.find(dies_.begin()->second);
            dies_.erase(dies_.begin());
            if (room == taken_.end() || room->second.until >= i) continue;  // it lives on, in place
            auto [begin, end] = std::pair{room->first, room->second.end};
            taken_.erase(room);
            auto next = gaps_.lower_bound(begin);
            if (next != gaps_.end() && next->first == end) {
                end = next->second;
                next = gaps_.erase(next);
            }
            if (next != gaps_.begin() && std::prev(next)->second == begin)
                std::prev(next)->second = end;
            else
                gaps_[begin] = end;
        }
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// The place of a source that dies here and is as large.
    std::uint64_t in_place(std::int32_t i, std::int32_t t) const {
        const tensor& mine = g_.tensors[at(t)];
        if (!by_element(mine.kind)) return none;
        for (const std::int32_t s : mine.src) {
            if (s == no_tensor || index_.root(s) != s || until_[at(s)] != i) continue;
            const tensor& source = g_.tensors[at(s)];
            if (source.buffer == buffer_ && index_.position(s) >= 0 && source.type == mine.type &&
                std::equal(source.ne, source.ne + 4, mine.ne) && contiguous(source) &&
                allocated_bytes(mine) <= allocated_bytes(source))
                return source.offset;
        }
        return none;
    }
};

}  // namespace

json::graph optimized(const json::graph& g) {
    const ordering order = optimize(g.view());
    if (!order.state.ok()) throw failure(g.file + ": " + order.state.message);
    json::graph out = g;
    out.nodes = order.nodes(g.view());
    const bool allocated = std::all_of(g.nodes.begin(), g.nodes.end(), [&g](std::int32_t t) {
        return g.tensors[at(t)].buffer != no_buffer;
    });
    if (allocated) allocator(out, order.keep).deal();
    return out;
}

}  // namespace catena::tool
