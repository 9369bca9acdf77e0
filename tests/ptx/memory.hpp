// Memory that knows what it holds: global memory is what a launch was handed, byte by byte; shared
// memory knows which bytes were written and which are still on their way. Both know who accessed
// what (order.hpp).
#pragma once

#include "order.hpp"

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
    initialized,
    uninitialized  ///< may be read once written
};

struct global_range {
    std::string name;
    std::byte* first;
    std::byte* last;
    content kind;
    std::vector<bool> written = {};  ///< uninitialized: which bytes
    history past = history(0);       ///< of this launch, if it is not constant

    bool has(const std::byte* p, std::size_t bytes) const {
        return p >= first && p < last && bytes <= static_cast<std::size_t>(last - p);
    }
    bool was_written(const std::byte* p, std::size_t bytes) const;
    void write(const std::byte* p, std::size_t bytes);
    site of(const std::byte* p, std::size_t bytes);
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
    history past;

    explicit shared_memory(std::size_t size)
        : bytes(size, std::byte{0xff}), states(size), past(size) {}

    void set(std::size_t at, std::size_t count, byte_state s);
    /// The first that is not `wanted`, or -1.
    std::int64_t first_not(std::size_t at, std::size_t count, byte_state wanted) const;
    site of(std::size_t at, std::size_t count) { return {past, at, count, nullptr}; }
};

const char* name(byte_state s);

}  // namespace ptx
