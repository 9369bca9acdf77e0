// A slice: the bytes of one weight row in one stage, and how they get there. Bulk and async copies
// move 16-byte chunks, blocks are 18 or 210 bytes: so the copy starts at the chunk boundary at or
// below the slice and ends at the one at or above it, but never outside the tensor; the last bytes
// come by scalar loads.
#pragma once

#include "catena/config.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/unpack.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

inline constexpr int chunk_bytes = 16;

/// Bytes of a weight tensor: nothing outside is read.
struct tensor_bytes {
    const std::byte* first;
    const std::byte* end;
};

/// Slices need no rounding: a block is whole chunks, or 32 floats are.
template <format F>
inline constexpr bool whole_chunks = block_alignment<F> == chunk_bytes;

/// The offset of a slice that starts at `source` in its part of a stage. The slice is as far from a
/// boundary as its source, so that chunks stay chunks. It is aligned as blocks of the format are,
/// even if the tensor of a plain copy is not.
template <format F>
CATENA_FN int slice_offset(const std::byte* source) {
    const auto past = reinterpret_cast<std::uintptr_t>(source) % chunk_bytes;
    return static_cast<int>(past) & -block_alignment<F>;
}

/// The copies of one slice: [source, source + whole) by the stream, then `tail` bytes by scalar
/// loads. A stage holds whole chunks. Bytes of its first and last chunk that lie outside the tensor
/// are zeros, so that a word that is half inside may be loaded.
struct slice {
    const std::byte* source;
    int head;  ///< bytes of the first chunk that lie before the tensor; 0 if the tensor is aligned
    int whole;
    int tail;  ///< bytes of the tensor in its last, unfinished chunk, if the slice reaches it
};

/// `async` and `bulk` take tensors that start at a boundary.
template <format F, copy_method M>
CATENA_FN slice slice_at(const std::byte* source, int bytes, const tensor_bytes& tensor) {
    if constexpr (whole_chunks<F>) return {source, 0, bytes, 0};
    const int offset = slice_offset<F>(source);
    const std::byte* boundary = source - offset;
    const int wanted = (offset + bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    const std::int64_t there = tensor.end - boundary;
    const int reach = there < wanted ? static_cast<int>(there) : wanted;
    const int tail = reach % chunk_bytes;
    int head = 0;
    if (M == copy_method::plain && boundary < tensor.first)
        head = static_cast<int>(tensor.first - boundary);
    return {boundary + head, head, reach - tail - head, tail};
}

/// A slice of a tensor that starts at a boundary, with another block behind it in the tensor: a
/// block is longer than what rounding adds.
template <format F>
CATENA_FN slice inner_slice(const std::byte* source, int bytes) {
    static_assert(block_bytes<F> >= chunk_bytes - 1 || whole_chunks<F>);
    const int offset = whole_chunks<F> ? 0 : slice_offset<F>(source);
    const int wanted = (offset + bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    return {source - offset, 0, wanted, 0};
}

/// Stores what the stream does not copy of the lane's slice. The stream's `wait` orders these
/// stores before all reads.
template <class X>
CATENA_FN void copy_ends(X& x, std::byte* stage_row, const slice& s) {
    auto* to = reinterpret_cast<std::uint8_t*>(stage_row);
    const auto* from = reinterpret_cast<const std::uint8_t*>(s.source + s.whole);
    CATENA_NO_UNROLL
    for (int i = 0; i < s.head; ++i) x.store(to + i, std::uint8_t{0});
    if (s.tail == 0) return;
    CATENA_NO_UNROLL
    for (int i = 0; i < chunk_bytes; ++i)
        x.store(to + s.head + s.whole + i, i < s.tail ? x.load(from + i) : std::uint8_t{0});
}

}  // namespace CATENA_NAMESPACE::kernel
