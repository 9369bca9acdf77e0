// Where an instance runs in a test, and the memory it runs on: the host executor, or a GPU.
#pragma once

#include "catena/chain/gate.hpp"
#include "catena/exec/launch.hpp"
#include "catena/pick/row.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace catena_test {

using bytes = std::vector<std::byte>;

template <class T>
bytes to_bytes(const std::vector<T>& values) {
    bytes out(values.size() * sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
    return out;
}

template <class T>
std::vector<T> from_bytes(std::span<const std::byte> raw) {
    std::vector<T> out(raw.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), raw.data(), out.size() * sizeof(T));
    return out;
}

/// What unwritten memory holds, byte by byte, so that a gap that was written, or an output that was
/// not, shows.
inline constexpr std::byte untouched{0xa5};

enum class contents {
    weights,  ///< may be read before the grid wait, never written
    data,     ///< may be read after it
    blank     ///< may be read once written
};

/// Memory is handed out 256-byte aligned plus `offset` bytes, and freed with the machine.
class machine {
  public:
    virtual ~machine() = default;
    virtual void* allocate(const std::string& name, contents kind, const bytes& initial,
                           std::size_t offset) = 0;
    virtual bytes read(const void* from, std::size_t count) = 0;
    /// What went wrong; empty if nothing did.
    virtual std::string launch(const void* kernel, const catena::launch_config& config,
                               const void* args, std::size_t args_bytes) = 0;

    void* put(const std::string& name, contents kind, const bytes& initial,
              std::size_t offset = 0) {
        return allocate(name, kind, initial, offset);
    }
    void* blank(const std::string& name, std::size_t count, std::size_t offset = 0) {
        return allocate(name, contents::blank, bytes(count, untouched), offset);
    }
};

/// A machine whose memory is this process's.
class local_machine : public machine {
  public:
    bytes read(const void* from, std::size_t count) override {
        const auto* first = static_cast<const std::byte*>(from);
        return {first, first + count};
    }

  protected:
    std::byte* place(const bytes& initial, std::size_t offset) {
        constexpr std::size_t alignment = 256;
        bytes& block = blocks_.emplace_back(initial.size() + offset + alignment);
        const auto start = reinterpret_cast<std::uintptr_t>(block.data());
        std::byte* to =
            block.data() + ((start + alignment - 1) / alignment * alignment - start) + offset;
        if (!initial.empty()) std::memcpy(to, initial.data(), initial.size());
        return to;
    }

  private:
    std::deque<bytes> blocks_;
};

/// One compiled row on a machine: a case asks for a fresh machine, so cases share nothing.
struct instance {
    catena::computation computes;
    catena::policy policy;
    const void* kernel = nullptr;
    std::function<std::unique_ptr<machine>()> make_machine;
    bool dependent = true;  ///< launched as a dependent of what came before
    /// Bytes that a block may have: of sm_90, if nobody says.
    std::int64_t most_shared = 227 * 1024;
    const catena::own_ops* ops = nullptr;  ///< that a computation of an engine's own applies
};

/// The numbers that ops of an engine's own get: a clamp of them makes something of a zero.
inline constexpr catena::op_numbers own_numbers{0.25f, 1.5f};

/// What a function means; `usual` has the numbers of Catena's.
inline catena::chain::gating meaning_of(const instance& on, catena::gate_function f,
                                        const catena::op_numbers& usual = {}) {
    catena::chain::gating out{f, double{usual.a}, double{usual.b}};
    if (is_own(f)) {
        out.own = on.ops->first[own_index(f)].reference;
        out.with = own_numbers;
    }
    return out;
}

}  // namespace catena_test
