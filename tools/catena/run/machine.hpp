// Where `catena run` executes: the host executor, or a GPU. Both hold the graph's buffers at
// addresses of their own, which only `write` and `read` may touch.
#pragma once

#include "statistics.hpp"

#include "catena/error/status.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/step.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace catena::tool {

/// Bytes [begin, end) from the start of a room.
struct byte_range {
    std::size_t begin = 0, end = 0;
};

class machine {
  public:
    virtual ~machine() = default;

    virtual std::string name() const = 0;

    /// The table that fits this machine best, before `equip`. Throws failure if there is none.
    virtual table preferred() const = 0;

    /// The table with kernels that run here.
    virtual table equip(const table& t) const = 0;

    /// Room that takes memory only where it is written; it lives as long as the machine.
    /// `constants`: the parts that kernels only read, in order and apart.
    virtual void* reserve(const std::string& name, std::size_t bytes,
                          const std::vector<byte_range>& constants) = 0;
    virtual void write(void* to, std::span<const std::byte> bytes) = 0;
    virtual void read(const void* from, std::span<std::byte> bytes) = 0;

    /// What launches take as their stream.
    virtual void* stream() = 0;

    /// What findings call a kernel of the table.
    virtual void label(const void* /*kernel*/, const std::string& /*instance*/) {}

    /// The next launch needs these blocks only; empty: all of them. A GPU runs all anyway.
    virtual void only(const std::vector<std::uint32_t>& blocks) = 0;

    /// Waits for a launch, which returned `launched`. Empty, or the whole sentence of what went
    /// wrong.
    virtual std::string finish(const status& launched) = 0;

    /// Microseconds of a step's launch, on operands of its own. Nothing: the time that it takes
    /// here says nothing of a GPU.
    virtual std::optional<tune::summary> time(const table& /*t*/, const step& /*s*/) { return {}; }

    /// A launch broke the device: nothing more can be launched here.
    virtual bool broken() const { return false; }
};

/// Threads of a block run in an order drawn from `seed`.
std::unique_ptr<machine> host_machine(std::uint64_t seed);

/// Null: this build has no CUDA, or there is no device.
std::unique_ptr<machine> cuda_machine();

}  // namespace catena::tool
