// Copies that arrive later: cp.async at the wait for its group, bulk copies when everybody waits.
// From the moment that a copy is asked for its bytes in shared memory are nobody's.
#include "access.hpp"

#include <map>

namespace ptx {
namespace {

/// Bytes of shared memory that a copy will overwrite.
std::uint32_t claimed(warp& w, int lane, std::uint64_t address, std::uint32_t bytes, proxy by) {
    shared_memory& shared = w.in.shared;
    const std::size_t at = shared_offset(w, lane, address, bytes);
    for (std::size_t b = at; b < at + bytes; ++b)
        if (shared.states[b] >= byte_state::on_its_way)
            w.fail(lane, "copies to shared byte " + std::to_string(b) + ", of which bytes " +
                             name(shared.states[b]));
    check_write(w, lanes{1} << lane, shared.of(at, bytes), by);
    std::fill_n(shared.bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes, std::byte{0xff});
    shared.set(at, bytes, byte_state::on_its_way);
    return static_cast<std::uint32_t>(at);
}

void copy_chunks(warp& w, const instruction& i, lanes which) {
    const auto bytes = static_cast<std::uint32_t>(i.offset);
    const moment asked = w.in.of.of.now++;
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const auto to = get<std::uint32_t>(w.unit(i.at[0]), l);
        const auto from = get<std::uint64_t>(w.unit(i.at[1]), l);
        aligned(w, l, to, bytes);
        aligned(w, l, from, bytes);
        const std::byte* source = global_to_read(w, l, from, bytes);
        w.copies[static_cast<std::size_t>(l)].open.push_back(
            {claimed(w, l, to, bytes, proxy::generic), source, static_cast<int>(bytes), &i, asked});
    }
}

void commit_copies(warp& w, const instruction&, lanes which) {
    for (; which != 0; which &= which - 1) {
        lane_copies& c = w.copies[static_cast<std::size_t>(std::countr_zero(which))];
        c.groups.push_back(std::move(c.open));
        c.open.clear();
    }
}

void wait_for_copies(warp& w, const instruction& i, lanes which) {
    shared_memory& shared = w.in.shared;
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        lane_copies& c = w.copies[static_cast<std::size_t>(l)];
        while (c.groups.size() > static_cast<std::size_t>(i.offset)) {
            for (const late_copy& one : c.groups.front()) {
                const auto bytes = static_cast<std::size_t>(one.bytes);
                const mark m = mark_of(w, lanes{1} << l, *one.asked);
                global_has_stood(w, one.when, m, one.from, bytes);
                std::memcpy(shared.bytes.data() + one.to, one.from, bytes);
                shared.set(one.to, bytes, byte_state::written);
                shared.past.write(m, one.to, bytes);
            }
            c.groups.pop_front();
        }
    }
}

std::uint32_t barrier_place(const warp& w, int lane, std::uint32_t address) {
    aligned(w, lane, address, 8);
    return static_cast<std::uint32_t>(shared_offset(w, lane, address, 8));
}

/// Its operations are in order by themselves, but all follow its initialization.
phase_barrier& barrier_at(warp& w, int lane, std::uint32_t address, proxy by = proxy::generic) {
    const auto b = w.in.barriers.find(barrier_place(w, lane, address));
    if (b == w.in.barriers.end()) w.fail(lane, "there is no mbarrier at this address");
    check_read(w, lanes{1} << lane, w.in.shared.of(b->first, 8), by);
    return b->second;
}

void initialize(warp& w, const instruction& i, lanes which) {
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const auto at = barrier_place(w, l, get<std::uint32_t>(w.unit(i.at[0]), l));
        const auto count = get<std::uint32_t>(w.unit(i.at[1]), l);
        if (w.in.barriers.contains(at)) w.fail(l, "the mbarrier is in use");
        write(w, lanes{1} << l, w.in.shared.of(at, 8));
        w.in.shared.set(at, 8, byte_state::barrier);
        w.in.barriers[at] = {.made_by = w.thread(l), .expected = count, .pending = count};
    }
}

void arrive_and_expect(warp& w, const instruction& i, lanes which) {
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        phase_barrier& b = barrier_at(w, l, get<std::uint32_t>(w.unit(i.at[1]), l));
        if (b.pending == 0) w.fail(l, "more arrivals than the mbarrier expects");
        b.bytes += get<std::uint32_t>(w.unit(i.at[2]), l);
        if (b.bytes >= 1 << 20) w.fail(l, "an mbarrier counts less than 2^20 bytes");
        --b.pending;
        release(w, lanes{1} << l, b.arrivals);
        put(w.unit(i.at[0]), l, std::uint64_t{b.parity});
        w.in.complete(b);
    }
}

/// True once the phase of this parity has completed: it is then not that of the current one.
void try_wait(warp& w, const instruction& i, lanes which) {
    lanes& p = w.predicates[static_cast<std::size_t>(i.at[0])];
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const phase_barrier& b = barrier_at(w, l, get<std::uint32_t>(w.unit(i.at[1]), l));
        if (b.parity == (get<std::uint32_t>(w.unit(i.at[2]), l) & 1u)) {
            w.phased |= lanes{1} << l;
            continue;
        }
        p |= lanes{1} << l;
        acquire(w, lanes{1} << l, b.completed);
    }
}

void bulk_copies(warp& w, const instruction& i, lanes which) {
    block& b = w.in;
    const moment asked = b.of.of.now++;
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const auto to = get<std::uint32_t>(w.unit(i.at[0]), l);
        const auto from = get<std::uint64_t>(w.unit(i.at[1]), l);
        const auto bytes = get<std::uint32_t>(w.unit(i.at[2]), l);
        const auto barrier = get<std::uint32_t>(w.unit(i.at[3]), l);
        aligned(w, l, to, 16);
        aligned(w, l, from, 16);
        if (bytes % 16 != 0) w.fail(l, std::to_string(bytes) + " bytes are no multiple of 16");
        const phase_barrier& completes = barrier_at(w, l, barrier);
        if (!completes.shown) barrier_at(w, l, barrier, proxy::async);
        const std::byte* source = global_to_read(w, l, from, bytes);
        b.bulk.push_back({claimed(w, l, to, bytes, proxy::async), barrier_place(w, l, barrier),
                          source, bytes, &w, &i, asked});
    }
}

}  // namespace

opcode asynchronous(const std::string& name) {
    static const std::map<std::string, opcode> known = {
        {"cp.async.ca.shared.global", {copy_chunks, "aAn"}},
        {"cp.async.cg.shared.global", {copy_chunks, "aAn"}},
        {"cp.async.commit_group", {commit_copies, ""}},
        {"cp.async.wait_group", {wait_for_copies, "n"}},
        {"mbarrier.init.shared.b64", {initialize, "aw"}},
        {"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", {arrive_and_expect, "daw"}},
        {"mbarrier.try_wait.parity.shared::cta.b64", {try_wait, "paw", flow::phase}},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
         {bulk_copies, "aAwa"}},
        {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", {bulk_copies, "aAwa"}},
    };
    const auto found = known.find(name);
    return found == known.end() ? opcode{} : found->second;
}

}  // namespace ptx
