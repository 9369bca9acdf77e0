#include "graph.hpp"

#include <algorithm>
#include <map>

namespace catena_test {

namespace {

/// Free memory of an arena that grows at its end.
class arena {
  public:
    arena(std::int64_t alignment, bool first_fit) : alignment_(alignment), first_fit_(first_fit) {}

    std::int64_t take(std::int64_t bytes) {
        bytes = rounded(bytes);
        auto best = free_.end();
        for (auto f = free_.begin(); f != free_.end(); ++f)
            if (f->second >= bytes &&
                (best == free_.end() || (!first_fit_ && f->second < best->second)))
                best = f;
        if (best == free_.end()) {
            end_ += bytes;
            return end_ - bytes;
        }
        const std::int64_t at = best->first, left = best->second - bytes;
        free_.erase(best);
        if (left > 0) free_[at + bytes] = left;
        return at;
    }

    void give_back(std::int64_t at, std::int64_t bytes) {
        bytes = rounded(bytes);
        if (bytes == 0) return;
        const auto next = free_.lower_bound(at);
        if (next != free_.end() && next->first == at + bytes) {
            bytes += next->second;
            free_.erase(next);
        }
        const auto after = free_.lower_bound(at);
        if (after != free_.begin()) {
            const auto last = std::prev(after);
            if (last->first + last->second == at) {
                last->second += bytes;
                return;
            }
        }
        free_[at] = bytes;
    }

    std::int64_t end() const { return end_; }

  private:
    std::int64_t alignment_, end_ = 0;
    bool first_fit_;
    std::map<std::int64_t, std::int64_t> free_;

    std::int64_t rounded(std::int64_t n) const {
        return (n + alignment_ - 1) / alignment_ * alignment_;
    }
};

/// Ops whose result may take over an input that dies, as in ggml-alloc.
bool may_take_over(op kind) {
    return kind == op::add || kind == op::mul || kind == op::scale || kind == op::unary ||
           kind == op::rope || kind == op::rms_norm || kind == op::add_id;
}

}  // namespace

placement allocate(graph_builder& g, const std::vector<bool>& in_arena,
                   const std::vector<bool>& wanted, const std::vector<catena::keep_alive>& keep,
                   std::int64_t alignment, std::mt19937& random) {
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
    arena memory(alignment, random() % 2 == 0);
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
                if (!may_take_over(g[t].kind) || s == catena::no_tensor || random() % 8 == 0)
                    continue;
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

}  // namespace catena_test
