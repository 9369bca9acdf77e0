// The host executor as a machine: buffers are sparse mappings, so that a model of 20 GB costs only
// the pages that a run touches.
#include "machine.hpp"

#include "../failure.hpp"
#include "../tables.hpp"

#include "catena/exec/host.hpp"
#include "catena/instances/on_host.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace catena::tool {
namespace {

class mapping {
  public:
    mapping(const std::string& name, std::size_t bytes) : bytes_(bytes) {
        base_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base_ == MAP_FAILED)
            throw failure(fmt::format("{}: {} bytes of address space cannot be reserved: {}", name,
                                      bytes, std::strerror(errno)));
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() { munmap(base_, bytes_); }

    std::byte* base() const { return static_cast<std::byte*>(base_); }

  private:
    void* base_;
    std::size_t bytes_;
};

class host : public machine {
  public:
    explicit host(std::uint64_t seed) : device_(seed) {}

    std::string name() const override { return "host executor"; }

    /// Any arch's plan runs here; this is the one that the project looks at first.
    table preferred() const override { return table_for("sm_90"); }

    table equip(const table& t) const override { return on_host(t); }

    void* reserve(const std::string& name, std::size_t bytes,
                  const std::vector<byte_range>& constants) override {
        const mapping& room = *rooms_.emplace_back(std::make_unique<mapping>(name, bytes));
        std::size_t end = 0;
        for (const byte_range& part : constants) {
            declare(name, room, {end, part.begin}, exec::memory::uninitialized);
            declare(name, room, part, exec::memory::constant);
            end = part.end;
        }
        declare(name, room, {end, bytes}, exec::memory::uninitialized);
        return room.base();
    }

    void write(void* to, std::span<const std::byte> bytes) override {
        std::memcpy(to, bytes.data(), bytes.size());
        auto* const begin = static_cast<std::byte*>(to);
        auto* const end = begin + bytes.size();
        for (auto p = written_.upper_bound(begin); p != written_.end() && p->second < end; ++p) {
            std::byte* const first = std::max(begin, p->second);
            device_.mark(first, static_cast<std::size_t>(std::min(end, p->first) - first), true);
        }
    }

    void read(const void* from, std::span<std::byte> bytes) override {
        std::memcpy(bytes.data(), from, bytes.size());
    }

    void* stream() override { return &device_; }
    void label(const void* kernel, const std::string& instance) override {
        device_.name(kernel, instance);
    }
    void only(const std::vector<std::uint32_t>& blocks) override { device_.run_only(blocks); }

    std::string finish(const status& launched) override {
        if (launched.ok()) return "";
        std::string sentence = launched.message;
        if (!device_.findings().empty())
            sentence = device_.findings().back().message;  // not cut short
        device_.clear_findings();
        return sentence;
    }

  private:
    /// A part of a room that is all of one kind, which findings name.
    void declare(const std::string& name, const mapping& room, byte_range part, exec::memory kind) {
        if (part.begin == part.end) return;
        const std::string from = part.begin == 0 ? "" : fmt::format(" from byte {}", part.begin);
        std::byte* const base = room.base() + part.begin;
        device_.add(name + from, base, part.end - part.begin, kind);
        if (kind != exec::memory::constant) written_[room.base() + part.end] = base;
    }

    std::vector<std::unique_ptr<mapping>> rooms_;
    std::map<std::byte*, std::byte*> written_;  // by end, the begin of what kernels may write
    exec::host_device device_;
};

}  // namespace

std::unique_ptr<machine> host_machine(std::uint64_t seed) { return std::make_unique<host>(seed); }

}  // namespace catena::tool
