// The model of bytes and operations: what a chain must move and compute at the least, for given
// sizes.
#pragma once

#include "catena/chain/lowered.hpp"

#include <cstdint>
#include <span>

namespace CATENA_NAMESPACE::chain {

struct matrix_size {
    format type = format::unknown;
    std::int64_t rows = 0;
    std::int64_t experts_read = 0;  ///< distinct experts that the ids name; 0: dense
    epilogue_set epilogue = {};     ///< what is done with its products; with glu it is two matrices
    bool written = true;            ///< the result is written as f32
};

struct sizes {
    std::int64_t k = 0;
    std::int64_t rows = 0;      ///< rows of x
    std::int64_t routed_k = 0;  ///< what k experts read that the chain chooses; 0: k
    std::span<const matrix_size> matrices = {};
    std::int64_t slots = 0;    ///< combine: experts for each row, of an epilogue for each token
    std::int64_t columns = 0;  ///< expert: slots * tokens; dense: 0, the rows of x are the columns
};

/// Bytes that reach or leave global memory, and arithmetic operations (an fma is two).
struct work {
    std::int64_t read = 0;
    std::int64_t written = 0;
    std::int64_t operations = 0;

    constexpr std::int64_t bytes() const { return read + written; }
    constexpr work& operator+=(const work& more) {
        read += more.read;
        written += more.written;
        operations += more.operations;
        return *this;
    }
};

constexpr work operator+(work a, const work& b) { return a += b; }
constexpr bool operator==(const work& a, const work& b) {
    return a.read == b.read && a.written == b.written && a.operations == b.operations;
}

}  // namespace CATENA_NAMESPACE::chain
