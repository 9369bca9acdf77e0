#include "allocate.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace catena_test {

namespace {

/// Free memory of an arena that grows at its end.
class arena {
  public:
    explicit arena(const allocator_manner& manner) : alignment_(manner.alignment), by_(manner.by) {}

    std::int64_t take(std::int64_t bytes) {
        bytes = rounded(bytes);
        if (bytes == 0) return 0;
        std::int64_t at = find(bytes);
        if (at < 0) {  // memory that is free at the end grows
            const bool open = !free_.empty() && last_free().first + last_free().second == end_;
            at = open ? last_free().first : end_;
            free_[at] = bytes;
            end_ = at + bytes;
        }
        const auto region = std::prev(free_.upper_bound(at));
        const std::int64_t first = region->first, last = first + region->second;
        free_.erase(region);
        if (at > first) free_[first] = at - first;
        if (last > at + bytes) free_[at + bytes] = last - at - bytes;
        return at;
    }

    void give_back(std::int64_t at, std::int64_t bytes) {
        bytes = rounded(bytes);
        if (bytes == 0) return;
        freed_.push_back(at);
        auto region = free_.emplace(at, bytes).first;
        if (const auto next = std::next(region); next != free_.end() && next->first == at + bytes) {
            region->second += next->second;
            free_.erase(next);
        }
        if (region == free_.begin()) return;
        if (const auto before = std::prev(region); before->first + before->second == at) {
            before->second += region->second;
            free_.erase(region);
        }
    }

    std::int64_t end() const { return end_; }

  private:
    std::int64_t alignment_, end_ = 0;
    fit by_;
    std::map<std::int64_t, std::int64_t> free_;  // bytes by first byte
    std::vector<std::int64_t> freed_;            // first bytes, the last freed last

    const std::pair<const std::int64_t, std::int64_t>& last_free() const { return *free_.rbegin(); }

    std::int64_t rounded(std::int64_t n) const {
        return (n + alignment_ - 1) / alignment_ * alignment_;
    }

    /// Where free memory is taken; -1: there is not enough in one place.
    std::int64_t find(std::int64_t bytes) const {
        if (by_ == fit::last_freed)
            for (auto f = freed_.rbegin(); f != freed_.rend(); ++f) {
                const auto after = free_.upper_bound(*f);
                if (after == free_.begin()) continue;
                const auto region = std::prev(after);
                if (region->first + region->second >= *f + bytes) return *f;
            }
        auto taken = free_.end();
        for (auto f = free_.begin(); f != free_.end(); ++f)
            if (f->second >= bytes &&
                (taken == free_.end() || better(f->second, taken->second, bytes)))
                taken = f;
        if (taken == free_.end()) return -1;
        return by_ == fit::last ? taken->first + taken->second - bytes : taken->first;
    }

    /// Is a region of `size` bytes taken rather than one of `than` at a lower address?
    bool better(std::int64_t size, std::int64_t than, std::int64_t bytes) const {
        switch (by_) {
            case fit::best:
                return size < than;
            case fit::exact:
                return than != bytes && (size == bytes || size > than);
            case fit::last:
                return true;
            default:
                return false;
        }
    }
};

/// Ops whose result may take over an input that dies, as in ggml-alloc.
bool may_take_over(op kind) {
    return kind == op::add || kind == op::mul || kind == op::scale || kind == op::unary ||
           kind == op::rope || kind == op::rms_norm || kind == op::add_id || kind == op::soft_max ||
           kind == op::div;
}

}  // namespace

placement allocate(graph_builder& g, const std::vector<bool>& in_arena,
                   const std::vector<bool>& wanted, const std::vector<catena::keep_alive>& keep,
                   const allocator_manner& manner, std::mt19937& random) {
    const auto n = [](id t) { return static_cast<std::size_t>(t); };
    const auto root = [&g](id t) { return g[t].view_src == catena::no_tensor ? t : g[t].view_src; };
    placement out;
    out.at.assign(g.tensors.size(), -1);
    std::vector<int> children(g.tensors.size(), 0), names(g.tensors.size(), 0);
    std::vector<bool> freed(g.tensors.size(), false);
    for (const id t : g.nodes) {
        if (root(t) != t) ++names[n(root(t))];
        for (const id s : g[t].src)
            if (s != catena::no_tensor) ++children[n(s)];
    }
    for (const catena::keep_alive& k : keep) ++children[n(root(k.tensor))];
    arena memory(manner);
    const auto apart = [&] { return manner.in_place != 0 && random() % manner.in_place == 0; };
    const auto bytes = [&g](id t) { return catena::extent_bytes(g[t]); };
    const auto free_if_dead = [&](id t) {
        if (children[n(t)] > 0 || names[n(t)] > 0 || wanted[n(t)] || freed[n(t)]) return;
        if (out.at[n(t)] < 0) return;
        memory.give_back(out.at[n(t)], bytes(t));
        freed[n(t)] = true;
    };

    for (id t = 0; t < static_cast<id>(g.tensors.size()); ++t)
        if (g[t].kind == op::none && in_arena[n(t)]) out.at[n(t)] = memory.take(bytes(t));
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        const id t = g.nodes[i];
        if (root(t) == t && in_arena[n(t)]) {
            for (const id s : g[t].src) {
                if (s == catena::no_tensor || !may_take_over(g[t].kind) || apart()) continue;
                const id r = root(s);
                const bool whole = g[s].offset == g[r].offset && bytes(s) == bytes(r);
                const bool dies =
                    children[n(s)] == 1 && !wanted[n(s)] && !wanted[n(r)] &&
                    (r == s ? names[n(s)] == 0 : names[n(r)] == 1 && children[n(r)] == 0);
                bool like = g[s].type == g[t].type;
                for (int d = 0; d < 4; ++d)
                    like = like && g[s].ne[d] == g[t].ne[d] && g[s].nb[d] == g[t].nb[d];
                if (!whole || !dies || !like || out.at[n(r)] < 0 || freed[n(r)]) continue;
                out.at[n(t)] = out.at[n(r)];
                freed[n(r)] = true;  // it is t's now
                break;
            }
            if (out.at[n(t)] < 0) out.at[n(t)] = memory.take(bytes(t));
        }
        for (const id s : g[t].src) {
            if (s == catena::no_tensor) continue;
            if (--children[n(s)] > 0) continue;
            if (root(s) != s && g[s].kind != op::none) {
                --names[n(root(s))];
                free_if_dead(root(s));
            }
            free_if_dead(s);
        }
        for (const catena::keep_alive& k : keep) {
            if (static_cast<std::size_t>(k.until) != i) continue;
            --children[n(root(k.tensor))];
            free_if_dead(root(k.tensor));
        }
    }
    out.bytes = memory.end();
    return out;
}

void allocate_all(graph_builder& g, const std::vector<id>& kept,
                  const std::vector<catena::keep_alive>& keep, const allocator_manner& manner,
                  std::mt19937& random) {
    constexpr std::int32_t buffer = 2;  // the builder has given out 0 and 1
    const auto count = static_cast<id>(g.tensors.size());
    std::vector<bool> in_arena(g.tensors.size()), wanted(g.tensors.size(), false);
    for (id t = 0; t < count; ++t)
        in_arena[static_cast<std::size_t>(t)] = !g[t].weight && g[t].view_src == catena::no_tensor;
    for (const id t : kept) {
        wanted[static_cast<std::size_t>(t)] = true;
        if (g[t].view_src != catena::no_tensor)
            wanted[static_cast<std::size_t>(g[t].view_src)] = true;
    }
    const placement placed = allocate(g, in_arena, wanted, keep, manner, random);
    std::vector<std::uint64_t> before(g.tensors.size());
    for (std::size_t t = 0; t < before.size(); ++t) before[t] = g.tensors[t].offset;
    const auto put = [&](id t, std::uint64_t offset) {
        g[t].buffer = buffer;
        g[t].offset = offset;
        g[t].data = reinterpret_cast<void*>((std::uint64_t{buffer + 1} << 40) + offset);
    };
    for (id t = 0; t < count; ++t)
        if (const std::int64_t at = placed.at[static_cast<std::size_t>(t)]; at >= 0)
            put(t, static_cast<std::uint64_t>(at));
    for (id t = 0; t < count; ++t) {
        const id root = g[t].view_src;
        if (root == catena::no_tensor || !in_arena[static_cast<std::size_t>(root)]) continue;
        const auto inside =
            before[static_cast<std::size_t>(t)] - before[static_cast<std::size_t>(root)];
        put(t, g[root].offset + inside);
    }
}

}  // namespace catena_test
