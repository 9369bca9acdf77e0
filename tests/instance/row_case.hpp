// One launch of a row instance: what it is given, what it writes, what it should.
#pragma once

#include "machine.hpp"

#include "catena/chain/lowered.hpp"

#include <map>
#include <string>
#include <vector>

namespace catena_test {

/// What a case puts into x.
enum class row_values {
    normal,
    zeros,
    nan,       ///< one NaN, in the last row
    infinity,  ///< one infinity, in the last row
    tiny,      ///< results so small that d is a subnormal number, some blocks in part
    huge,      ///< so large that an f16 overflows
    canceling  ///< every 32 add up to nothing but their rounding, which the order of additions
               ///< decides
};

struct row_case {
    std::string what;
    int k = 0;
    int n1 = 1, n2 = 1, n3 = 1;
    catena::format_set emits = {};
    bool residual = false, sum = false, scale = false, bias = false;
    bool one_plus = false;  ///< the weight counts from 1
    bool gate = false;      ///< the norm is gated
    bool again = false;     ///< what a norm and the residual make is normed again
    bool alone = false;     ///< a gated row without x: the function of the gate
    int slots = 0;          ///< experts whose results are added up, with x joining them or not
    bool shared = false;    ///< x joins the experts
    bool weighted = false, shared_gate = false;  ///< their weights; a gate of x for each row
    catena::gate_function function = catena::gate_function::none;  ///< of a gated row or norm
    catena::gate_function own = catena::gate_function::none;       ///< of the finished value
    catena::format scale_type = catena::format::f32;               ///< of scales that lie apart
    float eps = 1e-6f, next_eps = 1e-3f;
    float x_scale = 1, norm_scale = 1, sum_factor = 1;  ///< of the sum before a norm, of the norm,
                                                        ///< of what joins it
    bool halves = false;        ///< the gate is the first half of a tensor's rows, x the second
    int gate_gap = 0;           ///< floats between rows of the gate, above `gap`
    bool over_gate = false;     ///< f32 lies over the gate
    bool in_place = false;      ///< f32 lies over x; sum, if on, over the residual
    bool early = false;         ///< the weight is a leaf
    int merged = 1, split = 1;  ///< norm rows to an activation row, activation rows to a norm row
    int more_padding = 0;       ///< blocks behind an activation row, above what the format asks for
    int gap = 0;                ///< floats between rows of every plain tensor
    int offset = 0;             ///< bytes of every plain tensor's address past a 256-byte boundary
    row_values put = row_values::normal;
    std::vector<float> x = {}, weight = {};  ///< in place of what is put there

    int rows() const { return n1 * n2 * n3; }
    int quant_k() const { return k * merged / split; }
};

/// What was written, without gaps; empty where nothing was asked for.
struct row_outputs {
    bytes sum, f32;
    std::map<catena::format, bytes> emits;   ///< all but f32: what the format stores of the value
    std::map<catena::format, bytes> scales;  ///< of those whose scales lie apart
    bytes int8_sums;
    bool operator==(const row_outputs&) const = default;
};

/// Launches the case. Fails the running test if the launch fails, or writes where it must not.
row_outputs run(const instance& on, const row_case& c);

/// Compares with the reference in double, and what is rounded with what the codecs make of the f32
/// result.
void check(const instance& on, const row_case& c, const row_outputs& outputs);

}  // namespace catena_test
