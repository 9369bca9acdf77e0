// The numbers of one instance. Each skeleton has a type with its own numbers: a structural
// aggregate, the template parameter of its body. `policy` is one of them: what tables, the tuner
// and the generator hold.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/config.hpp"
#include "catena/exec/copy_method.hpp"

#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE {

struct row_policy {
    int threads = 0;      ///< threads of a block
    int min_blocks = 1;   ///< blocks of an SM, promised to the compiler by the launch bounds
    int values = 0;       ///< values of a thread in registers; 0: the row is read twice, any k
    int rows = 0;         ///< rows of a block, a warp for each; 0: one row for all threads
    int cluster = 0;      ///< attention: most blocks that share positions (2, 4 or 8); 0: one has
                          ///< all
    bool vector = false;  ///< accesses of 16 bytes, which need aligned rows; else single elements
};

constexpr bool operator==(const row_policy& a, const row_policy& b) {
    return a.threads == b.threads && a.min_blocks == b.min_blocks && a.values == b.values &&
           a.rows == b.rows && a.cluster == b.cluster && a.vector == b.vector;
}

/// The inner product of a matvec. Each has an accumulation order of its own.
enum class inner_product : std::uint8_t {
    dp4a,  ///< a lane has a group of 32 values, for any few columns
    mma,   ///< m16n8k32: a warp has 16 rows, for 4 columns at the price of one
    fma    ///< float weights: a lane multiplies them with an f32 activation
};

/// The launch that norms and quantizes a matvec's activation. Each has an accumulation order of its
/// own.
enum class norm_placement : std::uint8_t {
    producer,  ///< an earlier launch norms and quantizes
    deferred,  ///< each block quantizes x * weight before the products, which are then multiplied
               ///< with 1 / rms; for float weights it keeps x * weight as it is
    passing    ///< float weights: each warp multiplies x * weight as it comes and sums up squares;
               ///< the products are then multiplied with 1 / rms
};

/// The memory from which a matvec reads its activation.
enum class activation_source : std::uint8_t { global, shared };

struct matvec_policy {
    int threads = 0;     ///< threads of a block, min_blocks times as many at most (share_of)
    int min_blocks = 1;  ///< blocks of an SM, promised to the compiler by the launch bounds
    int rows = 0;        ///< weight rows that a warp works on at once
    int columns = 0;     ///< most columns of a launch
    int piece = 0;       ///< values of each of those rows in a stage, a multiple of 256
    int stages = 0;      ///< stages of a warp's weight stream
    int slices = 0;   ///< mma: warps that share the same rows, 4 or 8, each with pieces of K of its
                      ///< own; an accumulation order each. 0: a warp has all of K
    int cluster = 0;  ///< most blocks that share a band (2, 4 or 8); 0: bands are not shared
    copy_method copy = copy_method::plain;
    activation_source activation = activation_source::global;
    inner_product product = inner_product::dp4a;
    norm_placement placement = norm_placement::producer;
    bool routes = false;       ///< each block finds the expert that it multiplies with
    bool single_wave = false;  ///< experts whose blocks run at once: of one token, or added up
    bool turns = false;  ///< one token: results are heads, which are turned and stored in caches
};

constexpr bool operator==(const matvec_policy& a, const matvec_policy& b) {
    return a.threads == b.threads && a.min_blocks == b.min_blocks && a.rows == b.rows &&
           a.columns == b.columns && a.piece == b.piece && a.stages == b.stages &&
           a.slices == b.slices && a.cluster == b.cluster && a.copy == b.copy &&
           a.activation == b.activation && a.product == b.product && a.placement == b.placement &&
           a.routes == b.routes && a.turns == b.turns && a.single_wave == b.single_wave;
}

/// The product of a matmul's tile. Each has an accumulation order of its own.
enum class tile_product : std::uint8_t {
    mma,   ///< a warp multiplies 16 rows and 8 columns, from registers
    wgmma  ///< m64n128k16 or k32, a warpgroup's, from shared memory (sm_90a)
};

struct matmul_policy {
    int threads = 0;     ///< threads of a block
    int min_blocks = 1;  ///< blocks of an SM, promised to the compiler by the launch bounds
    int rows = 0;        ///< weight rows of a warp
    int columns = 0;     ///< columns of a tile
    int piece = 0;       ///< values of each of those rows in a stage
    int stages = 0;      ///< stages of the block's ring
    int slices = 0;      ///< warps that share the same rows, with a piece of K each at a step; an
                         ///< accumulation order each. 0: one, with all of K
    int cluster = 0;     ///< most blocks that share a tile of warpgroups, each with a part of K; 0:
                         ///< tiles are not shared
    copy_method copy = copy_method::plain;
    tile_product product = tile_product::mma;
};

constexpr bool operator==(const matmul_policy& a, const matmul_policy& b) {
    return a.threads == b.threads && a.min_blocks == b.min_blocks && a.rows == b.rows &&
           a.columns == b.columns && a.piece == b.piece && a.stages == b.stages &&
           a.slices == b.slices && a.cluster == b.cluster && a.copy == b.copy &&
           a.product == b.product;
}

/// The policy of one skeleton. Its numbers are asked for by the name of the skeleton that has them,
/// which `kind` tells.
class policy {
  public:
    constexpr policy() : policy(row_policy{}) {}
    constexpr policy(const row_policy& p) : kind_(skeleton::row), row_(p) {}
    constexpr policy(const matvec_policy& p) : kind_(skeleton::matvec), matvec_(p) {}
    constexpr policy(const matmul_policy& p) : kind_(skeleton::matmul), matmul_(p) {}

    constexpr skeleton kind() const { return kind_; }
    constexpr const row_policy& row() const { return row_; }
    constexpr row_policy& row() { return row_; }
    constexpr const matvec_policy& matvec() const { return matvec_; }
    constexpr matvec_policy& matvec() { return matvec_; }
    constexpr const matmul_policy& matmul() const { return matmul_; }
    constexpr matmul_policy& matmul() { return matmul_; }

    /// What `f` makes of the numbers of its skeleton.
    template <class F>
    constexpr auto visit(const F& f) const {
        return kind_ == skeleton::row      ? f(row_)
               : kind_ == skeleton::matvec ? f(matvec_)
                                           : f(matmul_);
    }
    constexpr int threads() const {
        return visit([](const auto& p) { return p.threads; });
    }
    constexpr int min_blocks() const {
        return visit([](const auto& p) { return p.min_blocks; });
    }

  private:
    skeleton kind_;
    union {
        row_policy row_;
        matvec_policy matvec_;
        matmul_policy matmul_;
    };
};

/// What `f` makes of the numbers of two policies of one skeleton.
template <class F>
constexpr auto of_both(const policy& a, const policy& b, const F& f) {
    return a.kind() == skeleton::row      ? f(a.row(), b.row())
           : a.kind() == skeleton::matvec ? f(a.matvec(), b.matvec())
                                          : f(a.matmul(), b.matmul());
}

constexpr bool operator==(const policy& a, const policy& b) {
    return a.kind() == b.kind() &&
           of_both(a, b, [](const auto& x, const auto& y) { return x == y; });
}
constexpr bool operator!=(const policy& a, const policy& b) { return !(a == b); }

/// How weights are copied; the rows of the row skeleton are loaded.
constexpr copy_method copy_of(const policy& p) {
    return p.kind() == skeleton::row      ? copy_method::plain
           : p.kind() == skeleton::matvec ? p.matvec().copy
                                          : p.matmul().copy;
}

/// Columns that a matvec can serve, or of a matmul's tile; a row has none.
constexpr int columns_of(const policy& p) {
    return p.kind() == skeleton::row      ? 0
           : p.kind() == skeleton::matvec ? p.matvec().columns
                                          : p.matmul().columns;
}

/// The most blocks of a cluster; 0: the launch has none.
constexpr int cluster_of(const policy& p) {
    return p.visit([](const auto& own) { return own.cluster; });
}

/// The placement of the launch's norm: only some matvecs have another than producer.
constexpr norm_placement placement_of(const policy& p) {
    return p.kind() == skeleton::matvec ? p.matvec().placement : norm_placement::producer;
}

/// The policies of a skeleton.
template <skeleton Kind>
using policy_of =
    std::conditional_t<Kind == skeleton::row, row_policy,
                       std::conditional_t<Kind == skeleton::matvec, matvec_policy, matmul_policy>>;

}  // namespace CATENA_NAMESPACE
