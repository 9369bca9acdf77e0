// The memories of the host executor, with every access checked: that its bytes are declared and
// written, that nobody else uses them at the same time, and that a dependent launch waits first.
#pragma once

#include "catena/exec/host/memory.hpp"
#include "catena/exec/host/report.hpp"
#include "catena/exec/host/shared.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace CATENA_NAMESPACE::exec {

enum class access : std::uint8_t { read, write };

class checked_memory {
  public:
    checked_memory(const launch_clock& clock, fault_report& report)
        : clock_(clock), report_(report) {}

    global_memory global;

    void begin_launch(std::size_t shared_bytes) {
        shared_.reset(shared_bytes);
        shared_view_ = shared_.shadow();
    }

    /// The shared array that thread t asks for next.
    std::byte* shared_array(thread& t, std::size_t bytes, site at) {
        std::string problem;
        std::byte* array = shared_.array_of(t.shared_calls++, bytes, problem);
        if (array == nullptr) report_.stop(t, fault::shared_memory, at, problem);
        return array;
    }
    bool is_shared(std::uintptr_t address) const { return shared_.holds(address); }
    const shadow_view& shared_view() const { return shared_view_; }
    /// The byte of shared memory that an operand calls 0.
    const std::byte* shared_start() const { return shared_.start(); }

    /// An aligned access of 1, 2, 4, 8 or 16 bytes by a thread.
    template <access A, std::size_t Bytes>
    void check(thread& t, const void* p, site at) {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        if (address % Bytes != 0)
            stop(
                t, fault::misaligned, at, A, address, Bytes,
                "an address that is not a multiple of the size: align it, or use smaller accesses");
        if (shared_.holds(address)) {
            if (quick<A, Bytes>(shared_view_, address, t.now, clock_.shared())) return;
        } else if (t.past_grid_wait) {
            const auto& w = global.recent(address);
            if (address >= w.begin && address + Bytes <= w.end) {
                if (w.shadow.cells == nullptr
                        ? A == access::read
                        : quick<A, Bytes>(w.shadow, address, t.now, clock_.global()))
                    return;
            }
        }
        check_range(t, A, address, Bytes, at, t.now);
    }

    /// Any access, of any size. A write leaves `mark`.
    void check_range(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at,
                     stamp mark) {
        const auto look = [&](const shadow_view& view, std::size_t n, const present& now) {
            return a == access::read ? read_shadow(view, address, n, t.now, now)
                                     : write_shadow(view, address, n, t.now, mark, now);
        };
        if (shared_.holds(address)) {
            judge(t, a, address, bytes, at, look(shared_view_, bytes, clock_.shared()));
            return;
        }
        const auto* range = check_declared(t, a, address, bytes, at);
        if (!t.past_grid_wait) check_grid_order(t, a, address, bytes, at);
        if (a == access::write && range->kind == memory::constant)
            stop(t, fault::read_only, at, a, address, bytes,
                 "constant memory: write elsewhere, or declare it initialized");
        while (bytes > 0) {
            const auto& w = *global.open(address);
            const std::size_t n = std::min<std::size_t>(bytes, w.end - address);
            if (w.shadow.cells != nullptr)
                judge(t, a, address, bytes, at, look(w.shadow, n, clock_.global()));
            address += n;
            bytes -= n;
        }
    }

    /// The range of global memory that holds all of it.
    const global_memory::declared_range* check_declared(thread& t, access a, std::uintptr_t address,
                                                        std::size_t bytes, site at) {
        const auto* range = global.find(address);
        if (range == nullptr || address + bytes > range->end)
            stop(t, fault::out_of_bounds, at, a, address, bytes,
                 range == nullptr ? "outside all declared memory: check the index against the size"
                                  : "past the end: check the index against the size");
        return range;
    }

    /// Stops thread t for what its shadow says of an access.
    void judge(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at,
               const trouble& found) {
        const auto stop_for = [&](fault kind, const std::string& why) {
            stop(t, kind, at, a, found.address, bytes - (found.address - address), why);
        };
        const bool of_others = found.other < clock_.global().block;
        const bool by_many = (found.other & stamps::many_blocks) != 0;
        switch (found.what) {
            case verdict::fine:
                return;
            case verdict::uninitialized:
                return stop_for(fault::uninitialized, "which nobody has written: write it first");
            case verdict::no_array:
                return stop_for(fault::out_of_bounds,
                                "outside the array: check the index against its size");
            case verdict::in_flight:
                return stop_for(fault::stream,
                                "which a stream copy still brings: wait for its stage first");
            case verdict::races_with_write:
                return stop_for(fault::race, "which " + party(t, found.other) + " also writes" +
                                                 remedy(of_others));
            case verdict::races_with_read:
                return stop_for(fault::race, "which " + party(t, found.other) + " also reads" +
                                                 remedy(of_others || by_many));
        }
    }

    /// Adds what is wrong with an access of thread t and ends the block.
    [[noreturn]] void stop(thread& t, fault kind, site at, access a, std::uintptr_t address,
                           std::size_t bytes, const std::string& why) {
        finding f;
        f.kind = kind;
        f.thread = t.id;
        f.at = at;
        f.address = address;
        const std::string where = place(address, f);
        report_.add(std::move(f),
                    std::string(a == access::read ? "reads " : "writes ") + std::to_string(bytes) +
                        (bytes == 1 ? " byte at " : " bytes at ") + where + ", " + why);
        report_.end_block(t);
    }

    /// Who made the access `other`, seen from thread t.
    std::string party(const thread& t, stamp other) const {
        std::string who = "thread " + std::to_string(stamps::thread(other));
        if (const std::uint32_t block = clock_.block_of(other); block != clock_.block())
            who = "block " + std::to_string(block) + ", " + who;
        if ((other & stamps::many_blocks) != 0) return who + " and another block";
        if ((other & (stamps::many_warps | stamps::many_lanes)) == 0) return who;
        return (stamps::thread(other) == t.id ? "another thread than " : "among others ") + who;
    }

  private:
    template <access A, std::size_t Bytes>
    static bool quick(const shadow_view& view, std::uintptr_t address, stamp now,
                      const present& p) {
        return quick_access<Bytes>(view, address, [&](cell& c) {
            return A == access::read ? quick_read(c, now, p) : quick_write(c, now, p);
        });
    }

    static const char* remedy(bool between_blocks) {
        return between_blocks ? ": blocks run at the same time, give each its own bytes"
                              : ", unordered: put a sync between (in one warp a sync_warp)";
    }

    void check_grid_order(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at) {
        if (a == access::read && global.find(address)->kind == memory::constant) return;
        stop(t, fault::grid_order, at, a, address, bytes,
             std::string("before grid_wait, while the kernel before may still ") +
                 (a == access::write ? "use" : "write") + " it: call grid_wait first");
    }

    /// Spells the address; `f` gets the name of its memory and the offset there.
    std::string place(std::uintptr_t address, finding& f) {
        char hex[24];
        std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
        if (shared_.holds(address)) {
            f.range = shared_.spell(address, f.offset);
        } else {
            const auto* range = global.find(address);
            if (range == nullptr) range = global.nearest(address);
            if (range == nullptr) return hex;
            f.range = range->name;
            f.offset = static_cast<std::int64_t>(address - range->begin);
            f.range += " (" + std::to_string(range->end - range->begin) + " bytes)";
        }
        return f.range + (f.offset < 0 ? " - " : " + ") +
               std::to_string(f.offset < 0 ? -f.offset : f.offset) + " (" + hex + ")";
    }

    const launch_clock& clock_;
    fault_report& report_;
    shared_memory shared_;
    shadow_view shared_view_;
};

}  // namespace CATENA_NAMESPACE::exec
