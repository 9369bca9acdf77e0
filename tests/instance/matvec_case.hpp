// One launch of a matvec or matmul instance: what it is given, what it computes, what it should.
#pragma once

#include "head_case.hpp"
#include "machine.hpp"
#include "route_case.hpp"

#include "catena/format/format.hpp"
#include "catena/kernel/layout.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace catena_test {

/// The epilogue of a matrix with a GLU; `act` is for those without.
inline constexpr catena::epilogue_set every_part =
    catena::epilogue_set::of(catena::epilogue_part::scale) | catena::epilogue_part::factor |
    catena::epilogue_part::bias | catena::epilogue_part::glu | catena::epilogue_part::residual |
    catena::epilogue_part::quantize;

/// The epilogue of one matrix alone.
inline constexpr catena::epilogue_set every_part_alone =
    every_part.without(catena::epilogue_part::glu) | catena::epilogue_part::act;

/// Those of `parts` that a tile of a matmul can do: it quantizes whole blocks of 32 results.
constexpr catena::epilogue_set parts_of_tile(const catena::matmul_policy& how,
                                             catena::epilogue_set parts) {
    const int pair = parts.has(catena::epilogue_part::glu) ? 2 : 1;
    const bool whole = catena::tile_rows(how) / pair % 32 == 0;
    return whole ? parts : parts.without(catena::epilogue_part::quantize);
}

/// One matrix of a group, or two with a GLU, and what its epilogue does.
struct member_shape {
    catena::format type;
    int rows;
    catena::epilogue_set parts = {};
    catena::gate_function function = catena::gate_function::relu;
    bool written = true;              ///< as f32
    bool in_place = false;            ///< the residual lies exactly under the result
    bool halves = false;              ///< a GLU's matrices lie behind each other, each expert's
    catena::format_set layouts = {};  ///< in which a matmul quantizes; none: all that it can
    bool dense = false;               ///< behind experts
    catena::gate_function own = catena::gate_function::none;  ///< epilogue_part::own
    bool begins = false;     ///< what is quantized is a norm of the result, which begins here
    bool by_column = false;  ///< dense: each column has a factor and a bias of its own
};

/// What a case puts into its activation, at one place of its last row, or everywhere. A matmul's
/// values are such that quantizing changes none and every sum of them is exact, for it reads sums
/// where the reference adds; unless it is given `any_value`.
enum class special { none, zeros, nan, infinity, any_value };

/// How a launch gates its one activation row, head by head.
struct gate_shape {
    int k = 0;    ///< elements of a head
    int gap = 0;  ///< floats between heads of the gate
    catena::gate_function function = catena::gate_function::silu;
};

struct matvec_case {
    std::string what;
    int k = 0;
    std::vector<member_shape> members = {};
    int columns = 1;             ///< dense
    int experts = 0;             ///< of members that are not dense; 0: all are
    int slots = 1, x_slots = 1;  ///< expert
    bool weighted = true;        ///< slots that are added up have weights
    /// Expert: [slots, tokens]; one outside 0 .. experts-1 gives NaN.
    std::vector<std::int32_t> ids = {};
    bool numbered = false;  ///< matrices are the tokens' in turns, and the launch is given no ids
    int band_rows = 0;      ///< weight rows of a block, or of a cluster
    int cluster = 1;        ///< blocks that share a band, or a tile
    int width = 1;  ///< matvec: how many times the policy's warps a block has, if memory holds them
    int row_gap = 0;    ///< blocks between weight rows
    int offset = 0;     ///< bytes of every weight's address past a 16-byte boundary
    bool early = true;  ///< weights are leaves
    special put = special::none;
    bool norm = false;  ///< the activation is a norm that the launch makes itself
    /// The activation is gated, or a norm of each of its heads is.
    std::optional<gate_shape> gate = std::nullopt;
    bool ends = false;              ///< it is one that another launch has begun
    catena::format_set emits = {};  ///< in which it writes that norm
    bool as_f32 = false;  ///< the launch quantizes its activation itself, or multiplies f32
    /// How the launch sends its tokens to their experts: then it finds `ids`.
    std::optional<route_case> routed = std::nullopt;
    /// How the launch turns and stores its results: value i is that of member i.
    std::optional<head_case> heads = std::nullopt;
    float magnitude = 1;        ///< of x
    float outlier = 1;          ///< not 1: 32 values in the middle of each row are of that size
    std::vector<float> x = {};  ///< in place of all that is said of it

    catena::epilogue_set parts() const {
        catena::epilogue_set all;
        for (const member_shape& m : members) all = all | m.parts;
        return all;
    }
    bool combined() const { return parts().has(catena::epilogue_part::combine); }
    int tokens() const { return static_cast<int>(ids.size()) / slots; }
    /// Matrices that a matmul's launch goes through: without ids one for each token.
    int matrices() const { return numbered ? tokens() : experts; }
    int x_rows() const { return experts == 0 ? columns : tokens() * x_slots; }
    int out_columns() const {
        return experts == 0 ? columns : combined() ? tokens() : static_cast<int>(ids.size());
    }
    int experts_of(const member_shape& m) const { return m.dense ? 0 : experts; }
    int columns_of(const member_shape& m) const { return m.dense ? tokens() : out_columns(); }
};

/// What a member wrote, without gaps; empty where it does not write.
struct matvec_output {
    std::vector<float> f32;  ///< [rows, columns]
    std::map<catena::format, bytes>
        quantized;       ///< padded rows, one for each column; all of a cache
    bytes squares = {};  ///< of a norm that began, f32 [rows / 32, columns]

    bool operator==(const matvec_output& other) const {  // a NaN is equal to itself
        if (f32.size() != other.f32.size() || quantized != other.quantized ||
            squares != other.squares)
            return false;
        return f32.empty() ||
               std::memcmp(f32.data(), other.f32.data(), f32.size() * sizeof(float)) == 0;
    }
};
/// Per member; then the norm, if it is written, or weights and numbers of experts that were found.
using matvec_outputs = std::vector<matvec_output>;

/// A block of a matvec's launch: as wide as the case asks for, if memory holds that.
struct block_shape {
    int threads = 0;
    std::int32_t finished = 0;  ///< results of a band that are held
    std::int64_t shared = 0;    ///< bytes
};
block_shape block_of(const instance& on, const matvec_case& c);

/// Does shared memory hold a block of the case? A plan has no launch that it does not hold.
bool has_room(const instance& on, const matvec_case& c);

/// Launches the case. Fails the running test if the launch fails, or writes where it must not.
matvec_outputs run(const instance& on, const matvec_case& c);

/// Compares with the reference in double.
void check(const instance&, const matvec_case& c, const matvec_outputs& outputs);

}  // namespace catena_test
