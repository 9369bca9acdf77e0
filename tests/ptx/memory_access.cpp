// ld, st and prefetch: where an address leads, and whether it may.
#include "access.hpp"

#include <charconv>
#include <unordered_map>

namespace ptx {

namespace {

std::string hex(std::uint64_t v) {
    char digits[17];
    const auto end = std::to_chars(digits, digits + sizeof digits, v, 16);
    return "0x" + std::string(digits, end.ptr);
}

std::string bytes_at(std::size_t bytes, const std::string& place) {
    return std::to_string(bytes) + " bytes at " + place;
}

global_range& range_at(warp& w, int lane, std::byte* p, std::size_t bytes) {
    global_memory& memory = w.in.of.of.memory;
    const int r = memory.find(p, bytes, w.known_range);
    if (r < 0)
        w.fail(lane, bytes_at(bytes, memory.place(p)) + " are outside of what was handed out");
    w.known_range = static_cast<std::size_t>(r);
    return memory.ranges[w.known_range];
}

global_range& global_at(warp& w, int lane, std::byte* p, std::size_t bytes) {
    const grid& g = w.in.of.of;
    global_range& range = range_at(w, lane, p, bytes);
    const bool waited = (w.waited >> lane & 1u) != 0;
    if (range.kind != content::constant && (g.over(waited) & 1u) == 0)
        w.fail(lane, bytes_at(bytes, g.memory.place(p)) +
                         (waited ? " before what ran before the grid before has ended, since no "
                                   "thread of that grid waits for it"
                                 : " before griddepcontrol.wait"));
    return range;
}

}  // namespace

void aligned(const warp& w, int lane, std::uint64_t address, std::size_t to) {
    if (address % to != 0)
        w.fail(lane, "the address " + hex(address) + " is not aligned to " + std::to_string(to));
}

const std::byte* global_to_read(warp& w, int lane, std::uint64_t address, std::size_t bytes) {
    auto* p = reinterpret_cast<std::byte*>(address);
    global_range& range = global_at(w, lane, p, bytes);
    if (!range.was_written(p, bytes))
        w.fail(lane, bytes_at(bytes, w.in.of.of.memory.place(p)) + " nobody has written");
    if (range.kind != content::constant) read(w, lanes{1} << lane, range.of(p, bytes));
    return p;
}

std::byte* global_to_write(warp& w, int lane, std::uint64_t address, std::size_t bytes) {
    auto* p = reinterpret_cast<std::byte*>(address);
    global_range& range = global_at(w, lane, p, bytes);
    if (range.kind == content::constant)
        w.fail(lane, bytes_at(bytes, w.in.of.of.memory.place(p)) + " are constant");
    range.write(p, bytes);
    write(w, lanes{1} << lane, range.of(p, bytes));
    return p;
}

void global_has_stood(warp& w, moment asked, const mark& m, const std::byte* p, std::size_t bytes) {
    global_memory& memory = w.in.of.of.memory;
    global_range& range =
        memory.ranges[static_cast<std::size_t>(memory.find(p, bytes, w.known_range))];
    if (range.kind != content::constant) read_since(w, asked, m, range.of(p, bytes));
}

std::size_t shared_offset(const warp& w, int lane, std::uint64_t address, std::size_t bytes) {
    const std::size_t size = w.in.shared.bytes.size();
    const std::uint64_t at = address - shared_base;
    if (address < shared_base || at > size || bytes > size - at)
        w.fail(lane, bytes_at(bytes, "shared address " + hex(address)) + " are outside of the " +
                         std::to_string(size) + " of the block, from " + hex(shared_base) + " on");
    return at;
}

void shared_has_arrived(const warp& w, int lane, std::size_t at, std::size_t bytes) {
    const shared_memory& shared = w.in.shared;
    const auto bad = shared.first_not(at, bytes, byte_state::written);
    if (bad < 0) return;
    const auto which = static_cast<std::size_t>(bad);
    w.fail(lane, bytes_at(bytes, "shared byte " + std::to_string(at)) + ": they " +
                     name(shared.states[which]));
}

const std::byte* shared_to_read(warp& w, int lane, std::size_t at, std::size_t bytes) {
    shared_has_arrived(w, lane, at, bytes);
    read(w, lanes{1} << lane, w.in.shared.of(at, bytes));
    return w.in.shared.bytes.data() + at;
}

std::byte* shared_to_write(warp& w, int lane, std::size_t at, std::size_t bytes) {
    shared_memory& shared = w.in.shared;
    for (std::size_t b = at; b < at + bytes; ++b)
        if (shared.states[b] >= byte_state::on_its_way)
            w.fail(lane, bytes_at(bytes, "shared byte " + std::to_string(at)) +
                             " are written although they " + name(shared.states[b]));
    shared.set(at, bytes, byte_state::written);
    write(w, lanes{1} << lane, shared.of(at, bytes));
    return shared.bytes.data() + at;
}

namespace {

enum class space { parameter, global, shared, local, generic };

std::byte* local_at(warp& w, int lane, std::uint64_t address, std::size_t bytes) {
    const std::size_t each = w.in.of.of.code.local_bytes;
    if (address > each || bytes > each - address)
        w.fail(lane, bytes_at(bytes, "local address " + hex(address)) + " are outside");
    return w.local.data() + static_cast<std::size_t>(lane) * each + address;
}

template <space S>
const std::byte* to_read(warp& w, int lane, std::uint64_t address, std::size_t bytes) {
    if constexpr (S == space::parameter) {
        const auto& parameters = w.in.of.of.parameters;
        if (address > parameters.size() || bytes > parameters.size() - address)
            w.fail(lane,
                   bytes_at(bytes, "parameter byte " + std::to_string(address)) + " are outside");
        return parameters.data() + address;
    } else if constexpr (S == space::shared) {
        return shared_to_read(w, lane, shared_offset(w, lane, address, bytes), bytes);
    } else if constexpr (S == space::global) {
        return global_to_read(w, lane, address, bytes);
    } else if constexpr (S == space::local) {
        return local_at(w, lane, address, bytes);
    } else {
        const std::uint64_t window = address >> 56;
        if (window == shared_window >> 56)
            return to_read<space::shared>(w, lane, address - shared_window, bytes);
        if (window == local_window >> 56) return local_at(w, lane, address - local_window, bytes);
        return global_to_read(w, lane, address, bytes);
    }
}

template <space S>
std::byte* to_write(warp& w, int lane, std::uint64_t address, std::size_t bytes) {
    if constexpr (S == space::shared) {
        return shared_to_write(w, lane, shared_offset(w, lane, address, bytes), bytes);
    } else if constexpr (S == space::global) {
        return global_to_write(w, lane, address, bytes);
    } else if constexpr (S == space::local) {
        return local_at(w, lane, address, bytes);
    } else {
        const std::uint64_t window = address >> 56;
        if (window == shared_window >> 56)
            return to_write<space::shared>(w, lane, address - shared_window, bytes);
        if (window == local_window >> 56) return local_at(w, lane, address - local_window, bytes);
        return global_to_write(w, lane, address, bytes);
    }
}

template <class A>
std::uint64_t address_of(const std::byte* unit, int lane, std::int64_t offset) {
    return static_cast<A>(get<A>(unit, lane) + static_cast<A>(offset));
}

/// D: what the register holds, which may be wider.
template <space S, class T, int N, class A, class D>
void load(warp& w, const instruction& i, lanes which) {
    const std::byte* const at = w.unit(i.at[N]);
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const std::uint64_t address = address_of<A>(at, l, i.offset);
        aligned(w, l, address, sizeof(T) * N);
        const std::byte* const from = to_read<S>(w, l, address, sizeof(T) * N);
        for (int n = 0; n < N; ++n) {
            T v;
            std::memcpy(&v, from + static_cast<std::size_t>(n) * sizeof v, sizeof v);
            put<D>(w.unit(i.at[n]), l, static_cast<D>(v));
        }
    }
}

template <space S, class T, int N, class A>
void store(warp& w, const instruction& i, lanes which) {
    const std::byte* const at = w.unit(i.at[0]);
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        const std::uint64_t address = address_of<A>(at, l, i.offset);
        aligned(w, l, address, sizeof(T) * N);
        std::byte* const to = to_write<S>(w, l, address, sizeof(T) * N);
        for (int n = 0; n < N; ++n) {
            const T v = get<T>(w.unit(i.at[n + 1]), l);
            std::memcpy(to + static_cast<std::size_t>(n) * sizeof v, &v, sizeof v);
        }
    }
}

/// It reads nothing.
void prefetch(warp& w, const instruction& i, lanes which) {
    const std::byte* const at = w.unit(i.at[0]);
    for (; which != 0; which &= which - 1) {
        const int l = std::countr_zero(which);
        range_at(w, l, reinterpret_cast<std::byte*>(address_of<std::uint64_t>(at, l, i.offset)), 1);
    }
}

template <space S, class T, int N, class D>
opcode load_as(bool wide) {
    const std::string data(N, sizeof(D) == 8 ? 'd' : 'w');
    return wide ? opcode{load<S, T, N, std::uint64_t, D>, data + 'A'}
                : opcode{load<S, T, N, std::uint32_t, D>, data + 'a'};
}

template <space S, class T, int N>
opcode access(bool loads, bool wide, bool wide_data) {
    const std::string data(N, sizeof(T) == 8 ? 'd' : 'w');
    using wider = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    if (loads) return wide_data ? load_as<S, T, N, wider>(wide) : load_as<S, T, N, T>(wide);
    if constexpr (S == space::parameter)
        return {};
    else
        return wide ? opcode{store<S, T, N, std::uint64_t>, 'A' + data}
                    : opcode{store<S, T, N, std::uint32_t>, 'a' + data};
}

template <space S, class T>
opcode of_count(int count, bool loads, bool wide, bool wide_data) {
    return count == 1   ? access<S, T, 1>(loads, wide, wide_data)
           : count == 2 ? access<S, T, 2>(loads, wide, wide_data)
                        : access<S, T, 4>(loads, wide, wide_data);
}

template <space S>
opcode of_type(const std::string& type, int count, bool loads, bool wide, bool wide_data) {
    if (type == "s8") return of_count<S, std::int8_t>(count, loads, wide, wide_data);
    if (type == "s32") return of_count<S, std::int32_t>(count, loads, wide, wide_data);
    if (type == "s16") return of_count<S, std::int16_t>(count, loads, wide, wide_data);
    if (type.ends_with("64")) return of_count<S, std::uint64_t>(count, loads, wide, wide_data);
    if (type.ends_with("32")) return of_count<S, std::uint32_t>(count, loads, wide, wide_data);
    if (type.ends_with("16")) return of_count<S, std::uint16_t>(count, loads, wide, wide_data);
    if (type.ends_with("8")) return of_count<S, std::uint8_t>(count, loads, wide, wide_data);
    return {};
}

}  // namespace

/// ld and st, [space], [nc], [v2 or v4], type; and prefetch.
opcode memory_access(const std::string& name, bool wide, bool wide_data) {
    if (name == "prefetch.global.L2") return {prefetch, "A"};
    const bool loads = name.starts_with("ld.");
    if (!loads && !name.starts_with("st.")) return {};
    std::string rest = name.substr(3);
    const auto take = [&rest](const char* word) {
        const std::string with_dot = std::string(word) + ".";
        if (!rest.starts_with(with_dot)) return false;
        rest.erase(0, with_dot.size());
        return true;
    };
    const space s = take("param")    ? space::parameter
                    : take("global") ? space::global
                    : take("shared") ? space::shared
                    : take("local")  ? space::local
                                     : space::generic;
    if (s == space::global) take("nc");
    const int count = take("v4") ? 4 : take("v2") ? 2 : 1;
    if (rest.size() > 3) return {};
    switch (s) {
        case space::parameter:
            return of_type<space::parameter>(rest, count, loads, wide, wide_data);
        case space::global:
            return of_type<space::global>(rest, count, loads, wide, wide_data);
        case space::shared:
            return of_type<space::shared>(rest, count, loads, wide, wide_data);
        case space::local:
            return of_type<space::local>(rest, count, loads, wide, wide_data);
        case space::generic:
            return of_type<space::generic>(rest, count, loads, wide, wide_data);
    }
    return {};
}

}  // namespace ptx
