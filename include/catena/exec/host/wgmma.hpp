// Warpgroup multiplication on the host: what is on its way in a warp. Operands are read when the
// call is made and looked at again when it is waited for; sums are NaN in between.
#pragma once

#include "catena/exec/host/mma.hpp"
#include "catena/exec/host/stamp.hpp"
#include "catena/exec/operand.hpp"

#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE::exec {

/// Sums of a thread that tensor cores add to.
struct pending_sums {
    real* sums;
    std::vector<real> values;  ///< so far
    int group;                 ///< the last that adds
};

/// A multiplication, as all threads of a warpgroup must ask for it, each in its time.
struct wgmma_call {
    int detail;  ///< mma_detail of the format
    int columns;
    bool adds;
    std::uint64_t a, b;

    bool operator==(const wgmma_call&) const = default;
};

/// Where chunk `chunk` of a row's 32 bytes lies, from the start of shared memory.
inline std::uint32_t chunk_of(wgmma_operand o, int row, int chunk) {
    const std::uint32_t plain = o.address() + static_cast<std::uint32_t>(row / 8) * o.stride() +
                                static_cast<std::uint32_t>(row % 8 * swizzled_row_bytes) +
                                static_cast<std::uint32_t>(chunk * 16);
    return plain ^ (plain / swizzled_row_bytes % 8 * 16);
}

/// An operand that is being read: rows `first` on.
struct pending_operand {
    wgmma_operand of;
    int first, rows, group;
    std::uint32_t era;  ///< era of the call

    std::uint32_t chunk(int i) const { return chunk_of(of, first + i / 2, i % 2); }
};

/// Values of K that a call multiplies: 32 bytes.
template <format F>
inline constexpr int wgmma_depth = 32 / info(F).block_bytes;

/// A call's operands, each value as a double.
struct wgmma_operands {
    std::vector<double> a;  ///< a warp's 16 rows, K within a row
    std::vector<double> b;  ///< columns within a K

    template <format F>
    void read(const std::byte* shared, wgmma_operand rows, int first_row, wgmma_operand columns,
              int count) {
        constexpr int depth = wgmma_depth<F>;
        a.resize(16 * depth);
        b.resize(static_cast<std::size_t>(count) * depth);
        for (int i = 0; i < 16; ++i)
            for (int k = 0; k < depth; ++k)
                a[static_cast<std::size_t>(i * depth + k)] =
                    number<F>(shared, rows, first_row + i, k);
        for (int i = 0; i < count; ++i)
            for (int k = 0; k < depth; ++k)
                b[static_cast<std::size_t>(k * count + i)] = number<F>(shared, columns, i, k);
    }

  private:
    template <format F>
    static double number(const std::byte* shared, wgmma_operand o, int row, int k) {
        constexpr int of_chunk = wgmma_depth<F> / 2, bytes = info(F).block_bytes;
        const std::byte* chunk = shared + chunk_of(o, row, k / of_chunk);
        return mma_number<F>(reinterpret_cast<const unsigned char*>(chunk + k % of_chunk * bytes));
    }
};

struct wgmma_warp {
    wgmma_operands operands[2];  ///< operands of two rounds, in turns, as those of an mma
    std::vector<pending_operand> reads;
};

}  // namespace CATENA_NAMESPACE::exec
