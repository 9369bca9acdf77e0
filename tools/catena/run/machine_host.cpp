// The host executor as a machine: buffers are sparse mappings, so that a model of 20 GB costs only
// the pages that a run touches.
#include "machine.hpp"

#include "../command.hpp"
#include "../tables.hpp"

#include "catena/exec/host.hpp"
#include "catena/instances/on_host.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

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
    bool holds(const void* at) const { return at >= base() && at < base() + bytes_; }

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

    table equip(const table& t) const override { return instances::on_host(t); }

    void* reserve(const std::string& name, std::size_t bytes, bool constant) override {
        auto& room = rooms_.emplace_back(std::make_unique<mapping>(name, bytes), constant);
        const auto kind = constant ? exec::memory::constant : exec::memory::uninitialised;
        device_.add(name, room.first->base(), bytes, kind);
        return room.first->base();
    }

    void write(void* to, std::span<const std::byte> bytes) override {
        std::memcpy(to, bytes.data(), bytes.size());
        for (const auto& [room, constant] : rooms_)
            if (!constant && room->holds(to)) device_.mark(to, bytes.size(), true);
    }

    void read(const void* from, std::span<std::byte> bytes) override {
        std::memcpy(bytes.data(), from, bytes.size());
    }

    void* stream() override { return &device_; }
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
    std::vector<std::pair<std::unique_ptr<mapping>, bool>> rooms_;
    exec::host_device device_;
};

}  // namespace

std::unique_ptr<machine> host_machine(std::uint64_t seed) { return std::make_unique<host>(seed); }

}  // namespace catena::tool
