// What lanes do together, and what orders them: shuffles, barriers, the grid before.
#include "access.hpp"

#include <bit>
#include <map>

namespace ptx {
namespace {

enum class shuffle_kind { up, down, bfly, idx };

/// The PTX ISA says under shfl.sync: c holds how far a lane may reach and which bits of its
/// number are those of its segment.
template <shuffle_kind K>
void shuffle(warp& w, const instruction& i, lanes which) {
    const std::byte *const a = w.unit(i.at[2]), *const b = w.unit(i.at[3]),
                           *const c = w.unit(i.at[4]);
    std::array<std::uint32_t, warp_lanes> values{};
    lanes in_reach = 0;
    for (lanes rest = which; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        const int by = static_cast<int>(get<std::uint32_t>(b, l) & 0x1fu);
        const auto control = get<std::uint32_t>(c, l);
        const int clamp = static_cast<int>(control & 0x1fu);
        const int segment = static_cast<int>(control >> 8 & 0x1fu);
        const int least = l & segment, most = (l & segment) | (clamp & ~segment);
        int from = K == shuffle_kind::up     ? l - by
                   : K == shuffle_kind::down ? l + by
                   : K == shuffle_kind::bfly ? l ^ by
                                             : least | (by & ~segment);
        const bool reach = K == shuffle_kind::up ? from >= most : from <= most;
        if (reach)
            in_reach |= lanes{1} << l;
        else
            from = l;
        if ((which >> from & 1u) == 0)
            w.fail(l, "shuffles from lane " + std::to_string(from) + ", which does not take part");
        values[static_cast<std::size_t>(l)] = get<std::uint32_t>(a, from);
    }
    for (lanes rest = which; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        put(w.unit(i.at[0]), l, values[static_cast<std::size_t>(l)]);
    }
    lanes& p = w.predicates[static_cast<std::size_t>(i.at[1])];
    p = (p & ~which) | in_reach;
}

void add_reduced(warp& w, const instruction& i, lanes which) {
    std::uint32_t sum = 0;
    for (lanes rest = which; rest != 0; rest &= rest - 1)
        sum += get<std::uint32_t>(w.unit(i.at[1]), std::countr_zero(rest));
    each_lane(which, [&](int l) { put(w.unit(i.at[0]), l, sum); });
}

void nothing(warp&, const instruction&, lanes) {}

void vote(warp& w, const instruction& i, lanes which) {
    if ((w.predicates[static_cast<std::size_t>(i.at[1])] & which) != 0) w.in.voted = true;
}

void warp_barrier(warp& w, const instruction&, lanes which) { meet(w, which); }

void trigger(warp& w, const instruction&, lanes) { w.in.triggered = true; }

void grid_wait(warp& w, const instruction&, lanes which) {
    grid& g = w.in.of.of;
    if (g.before != nullptr && !g.before->ended()) {
        w.phased |= which;
        return;
    }
    w.waited |= which;
    g.waited = true;
}

void proxy_fence(warp& w, const instruction&, lanes which) { fence_proxies(w, which); }

/// It shows the async proxy the mbarriers that its thread made, and nothing else.
void fence_of_new_barriers(warp& w, const instruction&, lanes which) {
    each_lane(which, [&](int l) {
        for (auto& [at, b] : w.in.barriers) b.shown = b.shown || b.made_by == w.thread(l);
    });
}

/// The PTX ISA does not say which lane it is.
void elect(warp& w, const instruction& i, lanes which) {
    lanes left = which;
    for (auto skip = w.in.of.of.random() % std::popcount(which); skip > 0; --skip) left &= left - 1;
    const int one = std::countr_zero(left);
    each_lane(which, [&](int l) { put(w.unit(i.at[0]), l, static_cast<std::uint32_t>(one)); });
    lanes& p = w.predicates[static_cast<std::size_t>(i.at[1])];
    p = (p & ~which) | lanes{1} << one;
}

/// Relaxed, it orders nothing that came before.
template <bool Relaxed>
void cluster_arrive(warp& w, const instruction&, lanes which) {
    if ((w.arrived & which) != 0)
        w.fail(std::countr_zero(w.arrived & which), "arrives twice at the cluster's barrier");
    w.arrived |= which;
    if constexpr (!Relaxed) {
        w.released |= which;
        arrive_at_cluster(w, which);
    }
}
void cluster_wait(warp& w, const instruction&, lanes which) {
    if ((which & ~w.arrived) != 0)
        w.fail(std::countr_zero(which & ~w.arrived), "waits for the cluster and has not arrived");
}

/// The same place in the block of a rank; its number stands above the 24 bits of the place.
void map_to_rank(warp& w, const instruction& i, lanes which) {
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const auto rank = get<std::uint32_t>(w.unit(i.at[2]), l);
        if (rank >= static_cast<std::uint32_t>(w.in.of.of.cluster_blocks))
            w.fail(l, "the cluster has no block " + std::to_string(rank));
        put(w.unit(i.at[0]), l, get<std::uint32_t>(w.unit(i.at[1]), l) | (rank + 1) << 24);
    }
}

void store_in_cluster(warp& w, const instruction& i, lanes which) {
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const auto address =
            get<std::uint32_t>(w.unit(i.at[0]), l) + static_cast<std::uint32_t>(i.offset);
        const int rank = static_cast<int>(address >> 24) - 1;
        aligned(w, l, address, 4);
        const std::size_t at = shared_offset(w, l, address & 0xffffffu, 4);
        cluster& c = w.in.of;
        block& to = rank < 0 ? w.in : c.blocks[static_cast<std::size_t>(rank)];
        if (c.meetings == 0)
            w.fail(l, "stores into another block before it is known to have started");
        if (to.done()) w.fail(l, "stores into a block that has ended");
        if (to.shared.first_not(at, 4, byte_state::on_its_way) < 0)
            w.fail(l, "stores where another store is on its way");
        to.shared.set(at, 4, byte_state::on_its_way);
        write(w, lanes{1} << l, to.shared.of(at, 4));
        c.stores.push_back({&w, l, to.rank, static_cast<std::uint32_t>(at),
                            get<std::uint32_t>(w.unit(i.at[1]), l)});
    }
}

}  // namespace

opcode warp_operation(const std::string& name) {
    static const std::map<std::string, opcode> known = {
        {"shfl.sync.up.b32", {shuffle<shuffle_kind::up>, "wpwwwm", flow::together}},
        {"shfl.sync.down.b32", {shuffle<shuffle_kind::down>, "wpwwwm", flow::together}},
        {"shfl.sync.bfly.b32", {shuffle<shuffle_kind::bfly>, "wpwwwm", flow::together}},
        {"shfl.sync.idx.b32", {shuffle<shuffle_kind::idx>, "wpwwwm", flow::together}},
        {"redux.sync.add.u32", {add_reduced, "wwm", flow::together}},
        {"elect.sync", {elect, "wpm", flow::together}},
        {"bar.warp.sync", {warp_barrier, "m", flow::together}},
        {"bar.sync", {nothing, "n", flow::barrier}},
        {"bar.red.or.pred", {vote, "pnp", flow::vote}},
        {"barrier.cluster.arrive", {cluster_arrive<false>, ""}},
        {"barrier.cluster.arrive.relaxed", {cluster_arrive<true>, ""}},
        {"barrier.cluster.wait", {cluster_wait, "", flow::cluster}},
        {"mapa.shared::cluster.u32", {map_to_rank, "www"}},
        {"st.shared::cluster.f32", {store_in_cluster, "aw"}},
        {"griddepcontrol.wait", {grid_wait, "", flow::phase}},
        {"griddepcontrol.launch_dependents", {trigger, "", flow::rest}},
        {"fence.proxy.async.shared::cta", {proxy_fence, ""}},
        {"fence.mbarrier_init.release.cluster", {fence_of_new_barriers, ""}},
    };
    const auto found = known.find(name);
    return found == known.end() ? opcode{} : found->second;
}

}  // namespace ptx
