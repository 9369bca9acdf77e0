// The numbers of one instance: a structural aggregate, a template parameter of the kernel and a
// field of the table row. A field that its skeleton does not use is zero, or
// objection_to refuses it.
#pragma once

#include "catena/config.hpp"
#include "catena/exec/copy_method.hpp"

#include <cstdint>

namespace catena {

/// How a matvec multiplies, or a matmul of numbers; an accumulation order each.
enum class inner_product : std::uint8_t {
    dp4a,  ///< a lane has a group of 32 values, for any few columns
    mma,   ///< m16n8k32: a warp has 16 rows, for 8 columns at the price of one
    fma,   ///< f32 activations: a lane multiplies numbers
    wgmma  ///< matmul: m64n128k16 or k32, a warpgroup's, from shared memory (sm_90a)
};

/// Where a matvec's activation is quantized, and normed if it is; an accumulation order each.
enum class norm_placement : std::uint8_t {
    producer,  ///< by a launch of its own, which also quantizes
    deferred,  ///< by each block of the matvec, all of it before the products, which are multiplied
               ///< with 1 / rms
    passing    ///< of numbers: each warp norms what it multiplies, and sums its squares on the way;
               ///< the products are multiplied with 1 / rms
};

/// Where a matvec reads its activation from.
enum class activation_source : std::uint8_t { global, shared };

struct policy {
    int threads = 0;     ///< of a block; a matvec may have them min_blocks times (share_of)
    int min_blocks = 1;  ///< per SM, promised to the compiler by the launch bounds
    int values = 0;      ///< row: values a thread keeps in registers; 0: reads x twice, any k
    int rows = 0;        ///< matvec: weight rows a warp works on at once; row: rows of a block, a
                         ///< warp each; 0: one, by all of its threads
    int columns = 0;     ///< matvec: columns it can serve
    int piece = 0;       ///< matvec: values of each of those rows in a stage, a multiple of 256
    int stages = 0;      ///< matvec: stages of the weight stream of a warp
    int slices = 0;      ///< matmul: warps that share the same rows, with a piece of K each at a
                         ///< step; an accumulation order each. 0: one, with all of K
    int cluster = 0;  ///< the most blocks that share a band of a matvec (2, 4 or 8), or a tile of
                      ///< a matmul by warpgroups, each with a part of K; 0: none do
    copy_method copy = copy_method::plain;
    activation_source activation = activation_source::global;
    inner_product product = inner_product::dp4a;
    norm_placement placement = norm_placement::producer;  ///< matvec
    bool vector = false;  ///< row: 16-byte accesses, so aligned rows; else element by element
};

constexpr bool operator==(const policy& a, const policy& b) {
    return a.threads == b.threads && a.min_blocks == b.min_blocks && a.values == b.values &&
           a.rows == b.rows && a.columns == b.columns && a.piece == b.piece &&
           a.stages == b.stages && a.slices == b.slices && a.cluster == b.cluster &&
           a.copy == b.copy && a.activation == b.activation && a.product == b.product &&
           a.placement == b.placement && a.vector == b.vector;
}
constexpr bool operator!=(const policy& a, const policy& b) { return !(a == b); }

}  // namespace catena
