#include "graph.hpp"

#include "engine.hpp"
#include "growth.hpp"

#include "catena/format/half.hpp"

#include <cstring>
#include <iterator>
#include <limits>

namespace catena_test {

namespace {

std::size_t n(id t) { return static_cast<std::size_t>(t); }

id root_of(const graph_builder& g, id t) {
    const id named = g.tensors[n(t)].view_src;
    return named == catena::no_tensor ? t : named;
}

/// A number of f16: one of a cache, or one of a mask, by which some positions do not count.
std::uint16_t half_of(float x, bool of_cache) {
    const bool hidden = !of_cache && x < -0.25f;
    return catena::f16_from_f32(hidden ? -std::numeric_limits<float>::infinity() : x);
}

enum : std::int32_t { state_buffer = 1, arena_buffer = 2, first_weight_buffer = 3 };

}  // namespace

random_graph::random_graph(unsigned seed, bool optimized) : random(seed) {
    graph_builder g;
    growth growing(*this, g);
    growing.run();
    pooled_.resize(g.tensors.size(), nullptr);
    below_.resize(g.tensors.size(), 0);
    cache_.resize(g.tensors.size(), false);
    const catena::graph_view counted = g.view();
    const std::vector<bool> outside = growing.read_outside();
    wanted.assign(g.tensors.size(), false);
    std::vector<bool> wanted_roots = wanted;
    std::vector<int> uses(g.tensors.size(), 0);
    for (int i = 0; i < counted.size(); ++i)
        for (const id s : counted.node(i).src)
            if (s != catena::no_tensor) ++uses[n(s)];
    for (const id t : g.nodes) {
        const bool looked_at =
            (g[t].flags & catena::flag_output) != 0 || outside[n(t)] || uses[n(t)] == 0;
        if (!looked_at) continue;
        wanted_roots[n(root_of(g, t))] = wanted_roots[n(t)] = true;
        wanted[n(t)] = (g[t].flags & catena::flag_compute) != 0;
    }
    if (optimized) {
        optimize(g);
        g.nodes = ordered.nodes(counted);
    }
    nodes = g.nodes;
    place(g, std::move(wanted_roots));
    truth = g.tensors;
    tell();
}

void random_graph::optimize(const graph_builder& g) {
    graph_builder bare = g;
    bare.deallocate();
    ordered = catena::optimize({bare.tensors.data(), static_cast<id>(bare.tensors.size()),
                                bare.nodes.data(), static_cast<id>(bare.nodes.size())});
}

void random_graph::place(graph_builder& g, std::vector<bool> wanted_roots) {
    const bool inputs_in_arena = one_in(2);
    std::vector<bool> in_arena(g.tensors.size(), false);
    std::int64_t state = 0;
    std::vector<std::int64_t> at(g.tensors.size(), -1);
    for (id t = 0; t < static_cast<id>(g.tensors.size()); ++t) {
        if (pooled_[n(t)] != nullptr || root_of(g, t) != t) continue;
        if (g[t].kind != op::none || (inputs_in_arena && !cache_[n(t)])) {
            in_arena[n(t)] = true;
            continue;
        }
        at[n(t)] = state;
        state += (catena::extent_bytes(g[t]) + 63) / 64 * 64;
    }
    const fit by = static_cast<fit>(below(one_in(4) ? fit_count : 2));
    const allocator_manner manner{by, one_in(10) ? 4 : 32, 8};
    const placement placed = allocate(g, in_arena, wanted_roots, ordered.keep, manner, random);
    arena_.resize(static_cast<std::size_t>(placed.bytes) + 64);
    state_.resize(static_cast<std::size_t>(state) + 64);
    const auto aligned = [](std::vector<std::byte>& v) {
        return v.data() + (64 - reinterpret_cast<std::uintptr_t>(v.data()) % 64) % 64;
    };
    std::int32_t weights = first_weight_buffer;
    for (id t = 0; t < static_cast<id>(g.tensors.size()); ++t) {
        catena::tensor& x = g[t];
        if (root_of(g, t) != t) continue;
        const auto names_from = x.offset;
        if (const auto* w = pooled_[n(t)]; w != nullptr) {
            x.buffer = weights++;
            x.offset = 0;
            x.data = const_cast<std::byte*>(w->bytes.data());
        } else {
            const auto offset = in_arena[n(t)] ? placed.at[n(t)] : at[n(t)];
            x.buffer = in_arena[n(t)] ? arena_buffer : state_buffer;
            x.offset = static_cast<std::uint64_t>(offset);
            x.data = aligned(in_arena[n(t)] ? arena_ : state_) + offset;
        }
        for (id v = 0; v < static_cast<id>(g.tensors.size()); ++v) {
            if (g[v].view_src != t) continue;
            const std::uint64_t inside = g[v].offset - names_from;
            g[v].buffer = x.buffer;
            g[v].offset = x.offset + inside;
            g[v].data = static_cast<std::byte*>(x.data) + inside;
        }
    }
}

/// What the planner is told may be less than what is so.
void random_graph::tell() {
    told = truth;
    const int manner = below(20);
    allocated = manner != 0;
    for (catena::tensor& t : told) {
        const bool hide = manner == 1 || (manner == 2 && one_in(3));
        if (manner == 0 || hide) t.buffer = catena::no_buffer, t.offset = 0;
        if (manner == 0 || (manner == 3 && !t.weight && one_in(10)))
            t.buffer = catena::no_buffer, t.offset = 0, t.data = nullptr;
    }
}

random_graph::slice random_graph::cut(int first, int last, bool bare) const {
    slice out{told, {nodes.begin() + first, nodes.begin() + last}};
    if (!bare) return out;
    std::vector<bool> inside(told.size(), false);
    for (const id t : out.nodes) inside[n(t)] = true;
    for (std::size_t t = 0; t < told.size(); ++t) {
        catena::tensor& x = out.tensors[t];
        if (inside[t] || (catena::launches_nothing(x.kind) && x.kind != op::none)) continue;
        x.kind = op::none;
        for (id& s : x.src) s = catena::no_tensor;
    }
    return out;
}

void random_graph::reset() {
    std::fill(arena_.begin(), arena_.end(), std::byte{0xff});
    std::fill(state_.begin(), state_.end(), std::byte{0xff});
    for (std::size_t i = 0; i < truth.size(); ++i) {
        const catena::tensor& t = truth[i];
        if (t.kind != op::none || pooled_[i] != nullptr) continue;
        for (std::int64_t e = 0; e < catena::elements(t); ++e) {
            const float x = noise(i, static_cast<std::uint64_t>(e));
            const auto number =
                static_cast<std::int64_t>((x + 1) / 2 * static_cast<float>(below_[i]));
            auto* to = static_cast<std::byte*>(t.data) + e * t.nb[0];
            const auto narrow = static_cast<std::int32_t>(number);
            const std::uint16_t half = half_of(x, cache_[i]);
            if (t.type == format::i64)
                std::memcpy(to, &number, 8);
            else if (t.type == format::i32)
                std::memcpy(to, &narrow, 4);
            else if (t.type == format::f16)
                std::memcpy(to, &half, 2);
            else
                std::memcpy(to, &x, 4);
        }
    }
}

machine random_graph::permissions() const {
    machine m;
    m.add(arena_.data(), std::ssize(arena_), region_kind::written);
    m.add(state_.data(), std::ssize(state_), region_kind::written);
    for (std::size_t i = 0; i < truth.size(); ++i) {
        if (pooled_[i] == nullptr) continue;
        const region_kind kind = !truth[i].reachable ? region_kind::host
                                 : truth[i].weight   ? region_kind::constant
                                                     : region_kind::leaf;
        m.add(pooled_[i]->bytes.data(), std::ssize(pooled_[i]->bytes), kind);
    }
    return m;
}

std::vector<std::byte> random_graph::bytes_of(id t) const {
    const auto* first = static_cast<const std::byte*>(truth[n(t)].data);
    return {first, first + catena::extent_bytes(truth[n(t)])};
}

}  // namespace catena_test
