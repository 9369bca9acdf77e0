#include "warp_code.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/kernel/slice.hpp"
#include "catena/kernel/unpack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace catena::generator {

namespace {

bool inside(const sass_instruction& i, const sass_loop& l) {
    return i.at >= l.first && i.at <= l.last;
}
bool inside(const sass_loop& inner, const sass_loop& outer) {
    return inner.first >= outer.first && inner.last <= outer.last &&
           (inner.first != outer.first || inner.last != outer.last);
}

std::vector<sass_loop> all_loops(const sass_function& f) {
    std::vector<sass_loop> all;
    for (const sass_instruction& i : f.code)
        if (i.branch && i.target < i.at) all.push_back({i.target, i.at});
    return all;
}

/// What the loops of a matvec are for, by its policy.
struct purpose {
    sass_kind multiplies, fills;
    double product_turns;   ///< of the innermost loop that multiplies, for a stage
    double groups_abreast;  ///< times those of a loop around it
    double rows;            ///< of a stage, that a warp brings
    double chunks;          ///< of 16 bytes of a row's slice
};

purpose purpose_of(const row& r) {
    const matvec_policy& p = r.policy.matvec();
    const bool mma = p.product == inner_product::mma, fma = p.product == inner_product::fma;
    const bool small = p.activation == activation_source::global;
    double bytes = 0;
    for (const format w : r.computes.product().weights)
        bytes = std::max<double>(bytes, static_cast<double>(row_bytes(w, p.piece)));
    return {.multiplies = mma   ? sass_kind::mma
                          : fma ? sass_kind::multiply
                                : sass_kind::dp4a,
            .fills = p.copy == copy_method::bulk    ? sass_kind::bulk_copy
                     : p.copy == copy_method::async ? sass_kind::async_copy
                                                    : sass_kind::load16,
            .product_turns = static_cast<double>(p.piece) / (fma     ? 256
                                                             : !mma  ? warp_values
                                                             : small ? kernel::group_values
                                                                     : 4 * kernel::group_values),
            .groups_abreast = 4,
            .rows = static_cast<double>(p.rows / warp_slices(p)),
            .chunks = bytes / kernel::chunk_bytes};
}

/// A loop over the stages of a ring: it fills one, and multiplies another.
struct ring {
    sass_loop stages;
    sass_loop product;
};

std::vector<ring> rings_of(const sass_function& f, const purpose& is) {
    std::vector<ring> out;
    const std::vector<sass_loop> all = all_loops(f);
    for (const sass_loop& product : innermost_loops(f, is.multiplies)) {
        std::optional<sass_loop> around;
        for (const sass_loop& l : all)
            if (inside(product, l) && l.count(f, is.fills) > product.count(f, is.fills) &&
                (!around || inside(l, *around)))
                around = l;
        if (!around) continue;
        // The loop in it that multiplies most is the product's.
        const auto same = std::find_if(out.begin(), out.end(), [&](const ring& known) {
            return known.stages.first == around->first;
        });
        if (same == out.end())
            out.push_back({*around, product});
        else if (product.count(f, is.multiplies) > same->product.count(f, is.multiplies))
            *same = {*around, product};
    }
    return out;
}

/// How often each instruction of a ring's loop is issued for a stage.
std::vector<double> turns_of(const sass_function& f, const ring& of, const purpose& is) {
    std::vector<double> turns(f.code.size(), 1);
    const auto give = [&](const sass_loop& l, double n) {
        for (std::size_t i = 0; i < f.code.size(); ++i)
            if (inside(f.code[i], l)) turns[i] = n;
    };
    std::vector<sass_loop> inner;
    for (const sass_loop& l : all_loops(f))
        if (inside(l, of.stages) && l.first != of.stages.first) inner.push_back(l);
    std::sort(inner.begin(), inner.end(),
              [](const sass_loop& a, const sass_loop& b) { return a.size() > b.size(); });
    for (const sass_loop& l : inner) {
        const int fills = l.count(f, is.fills);
        const bool around = inside(of.product, l);
        if (around)
            give(l, is.product_turns / is.groups_abreast);
        else if (l.first == of.product.first)
            give(l, is.product_turns);
        else if (fills > 0 && is.fills == sass_kind::bulk_copy)
            give(l, is.rows);
        else if (fills > 0)
            give(l, std::max(1.0, is.rows * std::ceil(is.chunks / warp_size) / fills));
        else if (l.count(f, sass_kind::store) > 0)
            give(l, 4);  // results of a lane
    }
    return turns;
}

enum seen : unsigned { filled = 1, multiplied = 2, stored = 4, every = 8 };

/// The shortest way through the loop that fills, multiplies and, if `wanted` says so, stores: the
/// instructions in their order.
std::vector<std::size_t> way_of(const sass_function& f, const ring& of, const purpose& is,
                                const std::vector<double>& turns, unsigned wanted) {
    const auto index = [](std::uint32_t byte) { return static_cast<std::size_t>(byte / 16); };
    const std::size_t first = index(of.stages.first), last = index(of.stages.last);
    const std::size_t nodes = (last + 1) * every;
    std::vector<double> cost(nodes, 1e30);
    std::vector<std::size_t> from(nodes, nodes);
    using entry = std::pair<double, std::size_t>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    const auto gained = [&](std::size_t i, unsigned had) {
        const sass_instruction& at = f.code[i];
        const bool product = inside(at, of.product);
        if (at.kind == is.fills && !product) had |= filled;
        if (product) had |= multiplied;
        if (at.kind == sass_kind::store) had |= stored;
        return had;
    };
    const auto go = [&](std::size_t to, unsigned had, double so_far, std::size_t by) {
        const std::size_t node = to * every + gained(to, had);
        if (so_far + turns[to] >= cost[node]) return;
        cost[node] = so_far + turns[to];
        from[node] = by;
        open.push({cost[node], node});
    };
    go(first, 0, 0, nodes);
    while (!open.empty()) {
        const auto [so_far, node] = open.top();
        open.pop();
        if (so_far > cost[node]) continue;
        const std::size_t i = node / every;
        const unsigned had = node % every;
        if (i == last) {
            if ((had & wanted) != wanted) continue;
            std::vector<std::size_t> way;
            for (std::size_t n = node; n != nodes; n = from[n]) way.push_back(n / every);
            std::reverse(way.begin(), way.end());
            return way;
        }
        const sass_instruction& at = f.code[i];
        const bool goes_on = !(at.always && (at.branch || at.leaves));
        if (goes_on) go(i + 1, had, so_far, node);
        // A product's loop is taken whole.
        const bool whole = inside(at, of.product) && at.target <= of.product.last && goes_on;
        if (at.branch && at.target > at.at && at.target <= of.stages.last && !whole)
            go(index(at.target), had, so_far, node);
    }
    return {};
}

}  // namespace

int latency_of(sass_kind kind) {
    switch (kind) {
        case sass_kind::load16:
            return 40;
        case sass_kind::memory:
            return 30;
        case sass_kind::mma:
            return 33;
        default:
            return 20;
    }
}

namespace {

struct issued {
    double instructions = 0, cycles = 0;
    double of_product = 0, product_cycles = 0;
};

/// What a warp alone takes for a way.
issued issue(const sass_function& f, const std::vector<std::size_t>& way,
             const std::vector<double>& turns, const sass_loop& product) {
    constexpr double operands_read = 10;  // cycles
    std::array<double, 8> there{};        // when each scoreboard is free
    issued out;
    double now = 0;
    for (const std::size_t i : way) {
        const sass_instruction& at = f.code[i];
        const double before = now;
        for (unsigned b = 0; b < 6; ++b)
            if ((at.waits >> b & 1u) != 0) now = std::max(now, there[b]);
        if (at.result_to != sass_instruction::none)
            there[static_cast<std::size_t>(at.result_to)] = now + latency_of(at.kind);
        if (at.read_to != sass_instruction::none)
            there[static_cast<std::size_t>(at.read_to)] = now + operands_read;
        now += std::max(1, at.stall);
        out.instructions += turns[i];
        out.cycles += turns[i] * (now - before);
        if (!inside(at, product)) continue;
        out.of_product += turns[i];
        out.product_cycles += turns[i] * (now - before);
    }
    return out;
}

int whole(double value) { return static_cast<int>(std::lround(value)); }

/// Each of several formats has a loop, which has as a constant how far a row's bytes move on.
const ring* ring_of(const std::vector<ring>& rings, const sass_function& f, const row& r,
                    format weights) {
    if (r.computes.product().weights.size() == 1) {
        // Other loops multiply floats, too.
        const sass_kind multiplies = purpose_of(r).multiplies;
        const auto most =
            std::max_element(rings.begin(), rings.end(), [&](const ring& a, const ring& b) {
                return a.product.count(f, multiplies) < b.product.count(f, multiplies);
            });
        return most == rings.end() ? nullptr : &*most;
    }
    const matvec_policy& p = r.policy.matvec();
    const auto bytes = static_cast<std::uint32_t>(row_bytes(weights, stage_values(p)));
    const ring* most = nullptr;
    std::ptrdiff_t constants = 0;
    for (const ring& one : rings) {
        const auto here =
            std::count_if(f.code.begin(), f.code.end(), [&](const sass_instruction& i) {
                return inside(i, one.stages) && i.constant == bytes;
            });
        if (here > constants) most = &one, constants = here;
    }
    return most;
}

warp_code code_of(const sass_function& f, const ring& one, const purpose& is) {
    const std::vector<double> turns = turns_of(f, one, is);
    const auto on = [&](unsigned wanted) {
        return issue(f, way_of(f, one, is, turns, wanted), turns, one.product);
    };
    const issued stage = on(filled | multiplied), all = on(filled | multiplied | stored);
    if (stage.instructions == 0 || all.instructions == 0) return {};
    return {whole(stage.instructions),
            whole(stage.cycles),
            whole(all.instructions - stage.instructions),
            whole(all.cycles - stage.cycles),
            whole(stage.of_product),
            whole(stage.product_cycles)};
}

}  // namespace

warp_codes warp_code_of(const row& r, const sass_function& f) {
    warp_codes out;
    if (r.computes.kind() != skeleton::matvec) return out;
    const purpose is = purpose_of(r);
    const std::vector<ring> rings = rings_of(f, is);
    std::size_t i = 0;
    for (const format w : r.computes.product().weights) {
        const ring* const one = ring_of(rings, f, r, w);
        if (i == std::size(out.of) || one == nullptr) break;
        out.of[i++] = code_of(f, *one, is);
    }
    return out;
}

}  // namespace catena::generator
