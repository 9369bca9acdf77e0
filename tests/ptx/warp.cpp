#include "warp.hpp"

#include <algorithm>
#include <limits>

namespace ptx {

namespace {

std::uint32_t special_value(const warp& w, special what, int lane) {
    const block& b = w.in;
    const grid& g = b.of.of;
    const int value = what == special::tid               ? w.thread(lane)
                      : what == special::ntid            ? g.threads
                      : what == special::ctaid           ? b.index
                      : what == special::nctaid          ? g.blocks
                      : what == special::laneid          ? lane
                      : what == special::clusterid       ? b.index / g.cluster_blocks
                      : what == special::cluster_ctarank ? b.rank
                                                         : g.cluster_blocks;
    return static_cast<std::uint32_t>(value);
}

}  // namespace

warp::warp(block& of, int index)
    : in(of),
      index(index),
      number(static_cast<party>(of.index * (of.of.of.threads / warp_lanes) + index)) {
    grid& g = of.of.of;
    const program& code = g.code;
    if (g.files.empty()) {
        file.resize(static_cast<std::size_t>(code.units) * unit_bytes, std::byte{0xcd});
        for (const constant& c : code.constants)
            for (int l = 0; l < warp_lanes; ++l) {
                if (c.wide)
                    put(unit(c.unit), l, c.bits);
                else
                    put(unit(c.unit), l, static_cast<std::uint32_t>(c.bits));
            }
    } else {
        file = std::move(g.files.back());
        g.files.pop_back();
    }
    for (const auto& [what, at] : code.specials)
        for (int l = 0; l < warp_lanes; ++l) put(unit(at), l, special_value(*this, what, l));
    predicates.resize(static_cast<std::size_t>(code.predicates));
    if (code.always >= 0) predicates[static_cast<std::size_t>(code.always)] = all_lanes;
    pc.fill(code.entry);
    // In lockstep, or one part of the warp ahead of the other as far as it gets.
    side = g.random() % 2 == 0 ? all_lanes : static_cast<lanes>(g.random());
    copies.resize(warp_lanes);
    local.resize(code.local_bytes * warp_lanes, std::byte{0xcd});
}

warp::~warp() {
    if (!file.empty()) in.of.of.files.push_back(std::move(file));
}

void warp::fail(int lane, const std::string& what) const {
    const program& code = in.of.of.code;
    std::string where;
    if (now != nullptr) {
        const auto at = static_cast<std::size_t>(now - code.code.data());
        where = ", line " + std::to_string(now->line) + " '" + code.lines[at] + "'";
    }
    throw finding(code.name + where + ": block " + std::to_string(in.index) + " thread " +
                  std::to_string(thread(lane)) + ": " + what);
}

void warp::stand(lanes which, int at) {
    for (; which != 0; which &= which - 1)
        pc[static_cast<std::size_t>(std::countr_zero(which))] = at;
}

void warp::park(lanes& waiting, lanes which, int at) {
    waiting |= which;
    running &= ~which;
    stand(which, at);
}

void warp::run() {
    for (rests = false;;) {
        while (running != 0) {
            // Those that are furthest behind, up to where others wait: so lanes come together
            // again.
            lanes left = (running & side) != 0 ? running & side : running, together = 0;
            int at = std::numeric_limits<int>::max(), stop = at;
            for (; left != 0; left &= left - 1) {
                const int l = std::countr_zero(left);
                const int here = pc[static_cast<std::size_t>(l)];
                if (here < at) stop = at, at = here, together = 0;
                if (here == at)
                    together |= lanes{1} << l;
                else
                    stop = std::min(stop, here);
            }
            run_together(together, at, stop);
            if (rests) return;
        }
        if (!meet()) return;
    }
}

void warp::run_together(lanes together, int at, int stop) {
    const program& code = in.of.of.code;
    for (;;) {
        if (at >= stop) return stand(together, at);
        const instruction& i = code.code[static_cast<std::size_t>(at)];
        now = &i;
        lanes which = together;
        if (i.guard >= 0) {
            const lanes p = predicates[static_cast<std::size_t>(i.guard)];
            which &= i.negated ? ~p : p;
            if (which == 0) {
                ++at;
                continue;
            }
        }
        switch (i.how) {
            case flow::next:
                i.run(*this, i, which);
                break;
            case flow::rest:
                i.run(*this, i, which);
                rests = true;
                return stand(together, at + 1);
            case flow::branch:
                if (which == together) {
                    at = i.target;
                    continue;
                }
                stand(which, i.target);
                return stand(together & ~which, at + 1);
            case flow::call:
                stand(together & ~which, at + 1);
                return call(i, which, at);
            case flow::leave:
                stand(together & ~which, at + 1);
                return leave(i, which);
            case flow::together:
            case flow::aligned:
                if (have_met(i, which)) {
                    i.run(*this, i, which);
                    break;
                }
                stand(together & ~which, at + 1);
                return park(meeting, which, at);
            case flow::vote:
                i.run(*this, i, which);
                [[fallthrough]];
            case flow::barrier:
                if (i.offset != 0) fail(std::countr_zero(which), "a barrier other than 0");
                stand(together & ~which, at + 1);
                return park(barred, which, at);
            case flow::cluster:
                i.run(*this, i, which);
                stand(together & ~which, at + 1);
                return park(clustered, which, at);
            case flow::phase: {
                const lanes before = phased;
                i.run(*this, i, which);  // adds those that have to wait
                const lanes fresh = phased & ~before;
                if (fresh == 0) break;
                stand(together & ~fresh, at + 1);
                return park(phased, fresh, at);
            }
        }
        ++at;
    }
}

bool warp::have_met(const instruction& i, lanes here) const {
    if (i.how == flow::aligned) return here == all_lanes;
    const auto* masks = file.data() + static_cast<std::size_t>(i.mask) * unit_bytes;
    const auto wanted = get<lanes>(masks, std::countr_zero(here));
    for (lanes rest = here; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        const auto named = get<lanes>(masks, l);
        if ((named >> l & 1u) == 0) fail(l, "takes part, and its mask does not name it");
        if (named != wanted) return false;
    }
    return (wanted & alive) == here;
}

bool warp::meet() {
    for (lanes left = meeting; left != 0;) {
        const int at = pc[static_cast<std::size_t>(std::countr_zero(left))];
        lanes here = 0;
        for (lanes rest = left; rest != 0; rest &= rest - 1) {
            const int l = std::countr_zero(rest);
            if (pc[static_cast<std::size_t>(l)] == at) here |= lanes{1} << l;
        }
        left &= ~here;
        const instruction& i = in.of.of.code.code[static_cast<std::size_t>(at)];
        now = &i;
        if (i.how == flow::together)  // lanes that name others may stand there too
            here &= get<lanes>(unit(i.mask), std::countr_zero(here));
        if (!have_met(i, here)) continue;
        i.run(*this, i, here);
        meeting &= ~here;
        running |= here;
        stand(here, at + 1);
        return true;
    }
    return false;
}

void warp::call(const instruction& i, lanes which, int at) {
    const call_site& site = in.of.of.code.calls[static_cast<std::size_t>(i.offset)];
    for (lanes rest = which; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        for (const auto& [from, to] : site.in) put(unit(to), l, get<std::uint32_t>(unit(from), l));
        put(unit(site.return_unit), l, at);
    }
    stand(which, i.target);
}

void warp::leave(const instruction& i, lanes which) {
    if (i.offset >= 0) {  // from a function, each lane to where it came from
        for (; which != 0; which &= which - 1) {
            const int l = std::countr_zero(which);
            const auto from = get<std::int32_t>(unit(static_cast<int>(i.offset)), l);
            const instruction& caller = in.of.of.code.code[static_cast<std::size_t>(from)];
            const auto& site = in.of.of.code.calls[static_cast<std::size_t>(caller.offset)];
            for (const auto& [of, to] : site.out) put(unit(to), l, get<std::uint32_t>(unit(of), l));
            pc[static_cast<std::size_t>(l)] = from + 1;
        }
        return;
    }
    if (!products.empty()) fail(std::countr_zero(which), "leaves before its wgmma has completed");
    alive &= ~which;
    running &= ~which;
}

}  // namespace ptx
