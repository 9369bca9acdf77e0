// Memory that knows what it holds: global memory is what a launch was handed, byte by byte; shared
// memory knows which bytes were written, by whom, and which are still on their way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptx {

/// What is wrong with a kernel.
struct finding : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class content {
    constant,  ///< may be read before the grid before has completed, never written
    initialised,
    uninitialised  ///< may be read once written
};

struct global_range {
    std::string name;
    std::byte* first;
    std::byte* last;
    content kind;
    std::vector<bool> written = {};  ///< uninitialised: which bytes

    bool has(const std::byte* p, std::size_t bytes) const {
        return p >= first && p < last && bytes <= static_cast<std::size_t>(last - p);
    }
    bool was_written(const std::byte* p, std::size_t bytes) const;
    void write(const std::byte* p, std::size_t bytes);
};

struct global_memory {
    std::vector<global_range> ranges;

    void add(const std::string& name, void* at, std::size_t bytes, content kind);
    /// The range of these bytes, `guess` tried first; -1 for none.
    int find(const std::byte* p, std::size_t bytes, std::size_t guess) const;
    /// In words, relative to the nearest range.
    std::string place(const std::byte* p) const;
};

enum class byte_state : std::uint8_t {
    unwritten,
    written,
    on_its_way,  ///< a copy that nobody has waited for
    barrier      ///< of an mbarrier
};

struct shared_memory {
    std::vector<std::byte> bytes;
    std::vector<byte_state> states;
    /// Per word, which thread wrote it last through the generic proxy, and when: thread + 1,
    /// moment << 11. 0: nobody.
    std::vector<std::uint32_t> writers;

    explicit shared_memory(std::size_t size)
        : bytes(size, std::byte{0xff}), states(size), writers(size / 4 + 1) {}

    void set(std::size_t at, std::size_t count, byte_state s);
    /// The first that is not `wanted`, or -1.
    std::int64_t first_not(std::size_t at, std::size_t count, byte_state wanted) const;
};

constexpr std::uint32_t writer_tag(int thread, std::uint32_t moment) {
    return static_cast<std::uint32_t>(thread + 1) | moment << 11;
}
constexpr int writer_of(std::uint32_t tag) { return static_cast<int>(tag & 0x7ffu) - 1; }
constexpr std::uint32_t moment_of(std::uint32_t tag) { return tag >> 11; }

const char* name(byte_state s);

}  // namespace ptx
