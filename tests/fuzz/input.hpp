// What the fuzz targets share: a file whose bytes are an input, and numbers out of an input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace catena_test {

/// A file in memory with the bytes of an input, for readers that take a path.
class input_file {
  public:
    input_file(const std::uint8_t* data, std::size_t size) : file_(memfd_create("input", 0)) {
        if (file_ < 0 || write(file_, data, size) != static_cast<ssize_t>(size)) std::abort();
    }
    ~input_file() { close(file_); }
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

  private:
    int file_;
};

/// Choices that the bytes of an input make, one after the other; behind its end all are 0.
class input_choices {
  public:
    input_choices(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

    bool empty() const { return at_ == end_; }
    /// A number below n, of two bytes at most.
    template <class Integer>
    Integer below(Integer n) {
        const unsigned low = byte(), high = n > 256 ? byte() : 0u;
        return static_cast<Integer>((low | high << 8) % static_cast<std::uint64_t>(n));
    }
    std::int32_t word() {
        std::uint32_t out = 0;
        for (int i = 0; i < 4; ++i) out = out << 8 | byte();
        return static_cast<std::int32_t>(out);
    }

  private:
    const std::uint8_t *at_, *end_;

    unsigned byte() { return empty() ? 0u : *at_++; }
};

}  // namespace catena_test
