#include "order.hpp"

#include "warp.hpp"

#include <algorithm>

namespace ptx {
namespace {

constexpr party tensor_cores = party{1} << 30, first_copy = party{1} << 31;

/// A warp of the block, or its tensor cores: what they have read when it has waited for them, who
/// meets it knows; that nobody writes before is looked at when it waits.
bool of_block(const block& b, party who) {
    return (who & ~tensor_cores) - b.warps[0].number < b.warps.size();
}

const vector_clock& part(const knowledge& k, proxy by) {
    return by == proxy::generic ? k.generic : k.async;
}

/// Clusters of a grid are never ordered.
bool known_cluster(const warp& w, lanes who, cluster_number other) {
    const grid& g = w.in.of.of;
    return (g.over((who & ~w.waited) == 0) >> grid_of(other) & 1u) != 0;
}

/// Whether all of `who` know, through the proxy, what was marked.
bool known(const warp& w, lanes who, const mark& m, proxy by) {
    const block& b = w.in;
    if (m.in != b.of.number) return known_cluster(w, who, m.in);
    const bool near = of_block(b, m.of);
    if (m.of >= tensor_cores) by = proxy::generic;  // it was made through the async proxy
    if (near && m.when <= part(b.agreed, by).floor) return true;
    const auto knows = [&](const knowledge& k, int lane) {
        const vector_clock& c = part(k, by);
        return (near && m.when <= c.floor) || m.when <= c.of(m.of, lane);
    };
    for (lanes rest = m.who; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        if (knows(b.agreed, l) || knows(b.of.agreed, l)) continue;
        for (lanes each = who; each != 0; each &= each - 1) {
            const int mine = std::countr_zero(each);
            const bool itself = m.of == w.number && l == mine && by == proxy::generic;
            if (!itself && !knows(w.knows[static_cast<std::size_t>(mine)], l)) return false;
        }
    }
    return true;
}

/// The first of some lanes for which f holds, or the first.
template <class F>
int first_lane(lanes of, F f) {
    for (lanes rest = of; rest != 0; rest &= rest - 1)
        if (f(std::countr_zero(rest))) return std::countr_zero(rest);
    return std::countr_zero(of);
}

const grid& grid_that_did(const warp& w, const mark& m) {
    const grid* g = &w.in.of.of;
    while (g->number > grid_of(m.in)) g = g->before;
    while (g->number < grid_of(m.in)) g = g->behind;
    return *g;
}

std::string who_did(const warp& w, const mark& m, int lane) {
    const grid& g = grid_that_did(w, m);
    const auto at = static_cast<std::size_t>(m.instruction);
    const auto warps = static_cast<party>(g.threads / warp_lanes);
    std::string who = m.of < first_copy ? "tensor cores" : "a copy";
    if (m.of < tensor_cores) {
        const party thread = m.of % warps * warp_lanes + static_cast<party>(lane);
        who = "thread " + std::to_string(thread);
        if (m.in != w.in.of.number || !of_block(w.in, m.of))
            who = "block " + std::to_string(m.of / warps) + " " + who;
    }
    if (&g != &w.in.of.of) who = "grid " + std::to_string(g.number) + " " + g.code.name + " " + who;
    return who + " at line " + std::to_string(g.code.code[at].line) + " '" + g.code.lines[at] + "'";
}

std::string what_would_order(const warp& w, const mark& m) {
    const unsigned mine = w.in.of.of.number, other = grid_of(m.in);
    if (std::max(mine, other) > std::min(mine, other) + 1)
        return "no griddepcontrol.wait is in between, or a grid on the way has none";
    if (mine != other) return "no griddepcontrol.wait is in between";
    if (m.in != w.in.of.number) return "nothing orders blocks of a grid";
    if (m.of >= first_copy) return "no wait for the phase of its mbarrier is in between";
    if (m.of == (tensor_cores | w.number)) return "no wgmma.wait_group is in between";
    if (m.of == w.number) return "no bar.warp.sync is in between";
    if (of_block(w.in, m.of)) return "no bar.sync or mbarrier is in between";
    return "no barrier.cluster is in between";
}

[[noreturn]] void race(const warp& w, lanes who, const site& s, const char* accesses, const mark& m,
                       const char* accessed, const std::string& why) {
    const std::string place = s.global != nullptr ? w.in.of.of.memory.place(s.global)
                                                  : "shared byte " + std::to_string(s.at);
    const auto bit = [](int lane) { return lanes{1} << lane; };
    const int lane = first_lane(who, [&](int l) { return !known(w, bit(l), m, proxy::generic); });
    const int other = first_lane(m.who, [&](int l) {
        mark one = m;
        one.who = bit(l);
        return !known(w, bit(lane), one, proxy::generic);
    });
    w.fail(lane, accesses + std::to_string(s.bytes) + " bytes at " + place + ", which " +
                     who_did(w, m, other) + accessed + ": " + why);
}

void check_writes(const warp& w, lanes who, const site& s, const char* accesses, proxy by) {
    const mark* m = s.past.find_write(
        s.at, s.bytes, [&](const mark& earlier) { return !known(w, who, earlier, by); });
    if (m == nullptr) return;
    const bool unfenced = by == proxy::async && known(w, who, *m, proxy::generic);
    race(w, who, s, accesses, *m, " wrote",
         unfenced ? "no fence.proxy.async is in between" : what_would_order(w, *m));
}

void made_read(const warp& w, const mark& m, const site& s) {
    const bool all_here = s.global == nullptr && w.in.of.blocks.size() == 1;
    s.past.read(m, s.at, s.bytes, all_here ? w.in.agreed.generic.floor : 0);
}

}  // namespace

moment vector_clock::of(party who, int lane) const {
    for (const auto& [of, lanes] : rows)
        if (of == who) return lanes[static_cast<std::size_t>(lane)];
    return 0;
}

vector_clock::row& vector_clock::at(party who) {
    for (auto& [of, lanes] : rows)
        if (of == who) return lanes;
    return rows.emplace_back(who, row{}).second;
}

void vector_clock::merge(const vector_clock& other) {
    floor = std::max(floor, other.floor);
    for (const auto& [who, lanes] : other.rows) {
        row& own = at(who);
        for (std::size_t l = 0; l < lanes.size(); ++l) own[l] = std::max(own[l], lanes[l]);
    }
}

void knowledge::merge(const knowledge& other) {
    generic.merge(other.generic);
    async.merge(other.async);
}

void history::push(std::uint32_t& list, const mark& m) {
    std::uint32_t n = free_;
    if (n != 0) {
        free_ = marks_[n].next;
    } else {
        n = static_cast<std::uint32_t>(marks_.size());
        marks_.emplace_back();
    }
    marks_[n] = m;
    marks_[n].next = list;
    list = n;
}

void history::drop(std::uint32_t& link) {
    const std::uint32_t n = link;
    link = marks_[n].next;
    marks_[n].next = free_;
    free_ = n;
}

void history::forget(std::uint32_t& list, std::uint32_t bytes) {
    for (std::uint32_t* link = &list; *link != 0;) {
        mark& m = marks_[*link];
        m.bytes &= ~bytes;
        if (m.bytes == 0)
            drop(*link);
        else
            link = &m.next;
    }
}

/// A thread's later read stands for its earlier ones.
void history::read_word(std::uint32_t& list, const mark& m, moment settled) {
    std::uint64_t elsewhere = 0;  // bytes that other clusters read, four bits for each grid
    for (std::uint32_t* link = &list; *link != 0;) {
        const std::uint32_t n = *link;
        mark& e = marks_[n];
        bool over = e.when <= settled;
        if (e.in != m.in) {
            const std::uint64_t bytes = std::uint64_t{e.bytes} << 4 * grid_of(e.in);
            over = (bytes & ~elsewhere) == 0;
            elsewhere |= bytes;
        } else if (e.of == m.of && (e.bytes & ~m.bytes) == 0) {
            const bool same = e.when == m.when && e.instruction == m.instruction;
            if (e.bytes == m.bytes && (same || e.who == m.who)) {
                const lanes who = e.who | m.who;
                *link = e.next;
                e = m;
                e.who = who;
                e.next = list;
                list = n;
                return;
            }
            e.who &= ~m.who;
            over = over || e.who == 0;
        }
        if (over)
            drop(*link);
        else
            link = &e.next;
    }
    push(list, m);
}

void history::read(const mark& m, std::size_t at, std::size_t bytes, moment settled) {
    mark one = m;
    each_word(at, bytes, [&](std::size_t i, std::uint32_t which) {
        one.bytes = which;
        read_word(words_[i].reads, one, settled);
    });
}

void history::write(const mark& m, std::size_t at, std::size_t bytes) {
    mark one = m;
    each_word(at, bytes, [&](std::size_t i, std::uint32_t which) {
        one.bytes = which;
        forget(words_[i].writes, which);
        forget(words_[i].reads, which);
        push(words_[i].writes, one);
    });
}

mark mark_of(const warp& w, lanes who, const instruction& i) {
    const grid& g = w.in.of.of;
    return {.when = g.now,
            .who = who,
            .of = w.number,
            .in = w.in.of.number,
            .instruction = static_cast<std::uint32_t>(&i - g.code.code.data())};
}

mark mark_of_tensor_cores(const warp& w, const instruction& i) {
    mark m = mark_of(w, 1, i);
    m.of |= tensor_cores;
    return m;
}

mark mark_of_copy(const block& b, std::uint32_t barrier, const instruction& i) {
    mark m = mark_of(b.warps[0], 1, i);
    m.of = first_copy | static_cast<party>(b.rank) << 24 | barrier;
    return m;
}

void check_read(const warp& w, lanes who, const site& s, proxy by) {
    check_writes(w, who, s, "reads ", by);
}

void check_write(const warp& w, lanes who, const site& s, proxy by) {
    check_writes(w, who, s, "writes ", by);
    const mark* m = s.past.find_read(s.at, s.bytes, [&](const mark& earlier) {
        return !known(w, who, earlier, proxy::generic);
    });
    if (m != nullptr) race(w, who, s, "writes ", *m, " read", what_would_order(w, *m));
}

void read(const warp& w, lanes who, const site& s) {
    check_read(w, who, s);
    made_read(w, mark_of(w, who, *w.now), s);
}

void read_by_tensor_cores(const warp& w, const site& s) {
    check_read(w, all_lanes, s, proxy::async);
    made_read(w, mark_of_tensor_cores(w, *w.now), s);
}

void write(const warp& w, lanes who, const site& s) {
    check_write(w, who, s);
    s.past.write(mark_of(w, who, *w.now), s.at, s.bytes);
}

void read_since(const warp& w, moment asked, const mark& m, const site& s) {
    const mark* late =
        s.past.find_write(s.at, s.bytes, [&](const mark& earlier) { return earlier.when > asked; });
    if (late != nullptr)
        race(w, m.who, s, "reads ", *late, " wrote", "it was asked for before, and not waited for");
    made_read(w, m, s);
}

void meet(warp& w, lanes which) {
    knowledge all;
    vector_clock::row& own = all.generic.at(w.number);
    each_lane(which, [&](int l) { own[static_cast<std::size_t>(l)] = w.in.of.of.now; });
    for (lanes rest = which; rest != 0; rest &= rest - 1)
        all.merge(w.knows[static_cast<std::size_t>(std::countr_zero(rest))]);
    for (lanes rest = which; rest != 0; rest &= rest - 1)
        w.knows[static_cast<std::size_t>(std::countr_zero(rest))] = all;
    ++w.in.of.of.now;
}

void meet(block& b) {
    for (warp& w : b.warps)
        for (knowledge& k : w.knows) {
            b.agreed.merge(k);
            for (vector_clock* c : {&k.generic, &k.async}) {
                c->floor = 0;
                c->rows.clear();
            }
        }
    b.agreed.generic.floor = b.of.of.now++;
}

void release(const warp& w, lanes which, knowledge& to) {
    for (lanes rest = which; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        to.merge(w.knows[l]);
        to.generic.at(w.number)[l] = w.in.of.of.now;
    }
    ++w.in.of.of.now;
}

void acquire(warp& w, lanes which, const knowledge& from) {
    for (; which != 0; which &= which - 1)
        w.knows[static_cast<std::size_t>(std::countr_zero(which))].merge(from);
}

void acquire_tensor_cores(warp& w) {
    for (knowledge& k : w.knows) k.generic.at(tensor_cores | w.number)[0] = w.in.of.of.now;
    ++w.in.of.of.now;
}

/// Where floors are of several blocks there is none: it becomes rows.
void arrive_at_cluster(const warp& w, lanes which) {
    knowledge all = w.in.agreed;
    release(w, which, all);
    for (vector_clock* c : {&all.generic, &all.async}) {
        for (const warp& other : w.in.warps)
            for (moment& m : c->at(other.number)) m = std::max(m, c->floor);
        c->floor = 0;
    }
    w.in.of.arrivals.merge(all);
}

void fence_proxies(warp& w, lanes which) {
    for (; which != 0; which &= which - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(which));
        knowledge& k = w.knows[l];
        k.async.merge(k.generic);
        k.async.merge(w.in.agreed.generic);
        k.async.merge(w.in.of.agreed.generic);
        k.async.at(w.number)[l] = w.in.of.of.now;
    }
    ++w.in.of.of.now;
}

}  // namespace ptx
