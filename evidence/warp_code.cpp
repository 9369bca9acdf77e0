#include "warp_code.hpp"

#include "sass_loops.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/kernel/slice.hpp"
#include "catena/kernel/unpack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>
#include <vector>

namespace catena::evidence {

namespace {

/// What the loops of a matvec are for, by its policy.
struct purpose {
    sass_kind multiplies, fills;
    bool shared_columns;    ///< its product reads no global memory
    int multiplications;    ///< of its product for one step, at least
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
    return {
        .multiplies = mma   ? sass_kind::mma
                      : fma ? sass_kind::fma
                            : sass_kind::dp4a,
        .fills = p.copy == copy_method::bulk    ? sass_kind::bulk_copy
                 : p.copy == copy_method::async ? sass_kind::async_copy
                                                : sass_kind::load16,
        .shared_columns = !small,
        // A lane has 8 words or floats of each row and column.
        .multiplications = mma ? 1 : 8 * p.rows / rows_abreast(p) * p.columns * steps_in_flight(p),
        .product_turns = static_cast<double>(p.piece) / (fma     ? steps_in_flight(p) * step_floats
                                                         : !mma  ? warp_values / rows_abreast(p)
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
    const std::vector<sass_loop> all = loops_of(f);
    for (const sass_loop& product : innermost_loops(f, is.multiplies)) {
        if (product.count(f, is.multiplies) < is.multiplications) continue;  // a norm, results
        if (product.count(f, sass_kind::store) > 0) continue;                // results
        if (is.shared_columns && product.count(f, sass_kind::load16) > 0) continue;  // columns
        const sass_loop* around = nullptr;
        for (const sass_loop& l : all)
            if (l.holds(product) && l.count(f, is.fills) > product.count(f, is.fills) &&
                (around == nullptr || around->holds(l)))
                around = &l;
        if (around == nullptr) continue;
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

/// The shortest part of a loop that multiplies all of a step, where no loop in it does. The part
/// stores nothing, is entered at its first instruction, and left by its last or to the one behind
/// that.
sass_loop unrolled_product(const sass_function& f, const sass_loop& stages, const purpose& is) {
    const std::size_t n = f.code.size();
    std::vector<bool> begins(n + 1);  // a run of instructions
    std::vector<std::size_t> first_from(n, n), last_from(n, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (const std::size_t to : ways_behind(f, i)) {
            first_from[to] = std::min(first_from[to], i);
            last_from[to] = std::max(last_from[to], i);
            if (f.code[i].branch) begins[to] = begins[i + 1] = true;
        }
    sass_loop shortest;
    for (const std::size_t first : stages.code) {
        sass_loop part{first, {}};
        std::size_t from = 0, to = 0;  // the last way into the part, and out of it
        for (std::size_t i = first; begins[first] && stages.holds(i); ++i) {
            if (f.code[i].kind == sass_kind::store || (i != first && first_from[i] < first)) break;
            part.code.push_back(i);
            if (i != first) from = std::max(from, last_from[i]);
            const bool shorter = shortest.code.empty() || part.size() < shortest.size();
            if (begins[i + 1] && from <= i && to <= i + 1 && shorter &&
                part.count(f, is.multiplies) >= is.multiplications)
                shortest = part;
            const sass_ways ways = ways_behind(f, i);
            if (std::any_of(ways.begin(), ways.end(), [&](auto way) { return way < first; })) break;
            for (const std::size_t way : ways) to = std::max(to, way);
        }
    }
    return shortest;
}

/// The rings of code whose products are no loops.
std::vector<ring> unrolled_rings_of(const sass_function& f, const purpose& is) {
    std::vector<ring> out;
    for (const sass_loop& l : loops_of(f)) {
        if (l.count(f, is.fills) == 0) continue;
        const sass_loop product = unrolled_product(f, l, is);
        if (!product.code.empty()) out.push_back({l, product});
    }
    return out;
}

/// How often each instruction of a ring's loop is issued for a stage.
std::vector<double> turns_of(const sass_function& f, const ring& of, const purpose& is) {
    std::vector<double> turns(f.code.size(), 1);
    const auto give = [&](const sass_loop& l, double n) {
        for (const std::size_t i : l.code) turns[i] = n;
    };
    std::vector<sass_loop> inner = loops_of(f);
    std::erase_if(inner, [&](const sass_loop& l) { return !of.stages.holds(l); });
    std::stable_sort(inner.begin(), inner.end(),
                     [](const sass_loop& a, const sass_loop& b) { return a.size() > b.size(); });
    for (const sass_loop& l : inner) {
        const int fills = l.count(f, is.fills);
        if (l.holds(of.product))
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
/// instructions in their order. Of the product's loop it takes no branch but those that end it. The
/// last turn through a loop that its first test ends is not counted again.
std::vector<std::size_t> way_of(const sass_function& f, const ring& of, const purpose& is,
                                const std::vector<double>& turns, unsigned wanted) {
    const std::size_t nodes = f.code.size() * every;
    std::vector<double> cost(nodes, 1e30);
    std::vector<std::size_t> from(nodes, nodes);
    using entry = std::pair<double, std::size_t>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    const auto multiplied_before = [&](std::size_t i, unsigned had) {
        return (had & multiplied) != 0 && of.product.holds(i);
    };
    const auto go = [&](std::size_t to, unsigned had, double so_far, std::size_t by) {
        const bool product = of.product.holds(to);
        const sass_ways behind = ways_behind(f, to);
        if (f.code[to].kind == is.fills && !product) had |= filled;
        if (product && std::all_of(behind.begin(), behind.end(), [&](std::size_t next) {
                return next == of.product.first || !of.product.holds(next);
            }))
            had |= multiplied;
        if (f.code[to].kind == sass_kind::store) had |= stored;
        const std::size_t node = to * every + had;
        if (so_far + turns[to] >= cost[node]) return;
        cost[node] = so_far + turns[to];
        from[node] = by;
        open.push({cost[node], node});
    };
    go(of.stages.first, 0, 0, nodes);
    while (!open.empty()) {
        const auto [so_far, node] = open.top();
        open.pop();
        if (so_far > cost[node]) continue;
        const std::size_t i = node / every;
        const unsigned had = node % every;
        const bool product = of.product.holds(i);
        const sass_ways behind = ways_behind(f, i);
        const auto stays = std::count_if(behind.begin(), behind.end(),
                                         [&](std::size_t to) { return of.product.holds(to); });
        for (const std::size_t to : behind) {
            if (to == of.stages.first && (had & wanted) == wanted) {
                std::vector<std::size_t> way;
                for (std::size_t n = node; n != nodes; n = from[n])
                    if (from[n] == nodes || !multiplied_before(n / every, from[n] % every))
                        way.push_back(n / every);
                std::reverse(way.begin(), way.end());
                return way;
            }
            if (to == of.stages.first || !of.stages.holds(to)) continue;
            if (product && (had & multiplied) == 0 &&
                (!of.product.holds(to) || (stays == 2 && to != i + 1)))
                continue;
            go(to, had, so_far, node);
        }
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

/// Instructions that a warp issues.
struct issues {
    double all = 0, integer = 0;

    void add(const sass_instruction& at, double turns) {
        all += turns;
        if (at.kind == sass_kind::integer) integer += turns;
    }
    /// Cycles of a scheduler: its integer pipe has 16 lanes, so a warp has it for two.
    double cycles() const { return std::max(all, 2 * integer); }
};

struct issued {
    issues all, of_product;
    double cycles = 0, product_cycles = 0;
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
        out.all.add(at, turns[i]);
        out.cycles += turns[i] * (now - before);
        if (!product.holds(i)) continue;
        out.of_product.add(at, turns[i]);
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
        const auto here = std::count_if(one.stages.code.begin(), one.stages.code.end(),
                                        [&](std::size_t i) { return f.code[i].constant == bytes; });
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
    if (stage.all.all == 0 || all.all.all == 0) return {};
    const issues results = {all.all.all - stage.all.all, all.all.integer - stage.all.integer};
    return {whole(stage.all.cycles()),        whole(stage.cycles),
            whole(results.cycles()),          whole(all.cycles - stage.cycles),
            whole(stage.of_product.cycles()), whole(stage.product_cycles)};
}

}  // namespace

warp_codes warp_code_of(const row& r, const sass_function& f) {
    warp_codes out;
    if (r.computes.kind() != skeleton::matvec) return out;
    const purpose is = purpose_of(r);
    std::size_t i = 0;
    for (const format w : r.computes.product().weights) {
        if (i == std::size(out.of)) break;
        for (const std::vector<ring>& rings : {rings_of(f, is), unrolled_rings_of(f, is)}) {
            const ring* const one = ring_of(rings, f, r, w);
            if (one != nullptr) out.of[i] = code_of(f, *one, is);
            if (!(out.of[i] == warp_code{})) break;
        }
        ++i;
    }
    return out;
}

}  // namespace catena::evidence
