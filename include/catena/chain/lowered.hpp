// What a chain becomes once Hana is done with it: a plain list of stages. The matcher derives its
// graph pattern from it, the generator its instances. C++17, so that an engine can read it.
#pragma once

#include "catena/bits.hpp"
#include "catena/chain/skeleton.hpp"
#include "catena/chain/stage.hpp"
#include "catena/format/format.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The function of a gated value. GLU's names differ by op (SWIGLU is silu); these are ggml's
/// formulas, but that a NaN always stays one.
enum class gate_function : std::uint8_t {
    none,          ///< g itself: the value is a plain product
    silu,          ///< g / (1 + exp(-g))
    sigmoid,       ///< 1 / (1 + exp(-g))
    gelu,          ///< the tanh approximation
    gelu_erf,      ///< the formula with the error function
    gelu_quick,    ///< g / (1 + exp(-1.702 g))
    relu,          ///< max(g, 0)
    relu_squared,  ///< max(g, 0)^2
    swiglu_oai     ///< min(g, limit) / (1 + exp(-alpha min(g, limit))), times 1 + clamp(value,
                   ///< -limit, limit) in place of the value
};

inline constexpr const char* gate_function_names[] = {"none", "silu",         "sigmoid",
                                                      "gelu", "gelu_erf",     "gelu_quick",
                                                      "relu", "relu_squared", "swiglu_oai"};
inline constexpr int gate_function_count =
    static_cast<int>(sizeof(gate_function_names) / sizeof(const char*));
constexpr const char* name(gate_function f) { return gate_function_names[static_cast<int>(f)]; }

/// The ops of an engine's own (match/own_ops.hpp) are functions behind these, in the order of their
/// list.
CATENA_FN constexpr bool is_own(gate_function f) {
    return static_cast<int>(f) >= gate_function_count;
}
CATENA_FN constexpr int own_index(gate_function f) {
    return static_cast<int>(f) - gate_function_count;
}
constexpr gate_function own_function(int index) {
    return static_cast<gate_function>(gate_function_count + index);
}

/// The numbers of an engine's own op, parameters of its node.
struct op_numbers {
    float a = 0, b = 0;
};

/// An engine's own op with its numbers; none: the value itself.
struct own_call {
    gate_function function = gate_function::none;
    op_numbers with;
};

/// The numbers of a row step that the engine's graph gives, not a tensor.
struct row_params {
    float eps = 0, next_eps = 0;
    float x_scale = 1;           ///< factor of x, or of the sum of experts
    float norm_scale = 1;        ///< factor of the norm, before its weight
    float alpha = 0, limit = 0;  ///< parameters of swiglu_oai, or of an own function
    gate_function function = gate_function::none;
    own_call own;  ///< stage_kind::own
};

/// The numbers that the graph gives the epilogue of an output, each for a part.
struct epilogue_numbers {
    float scale = 1;
};

/// These numbers, and the functions of the epilogue.
struct epilogue_params : epilogue_numbers {
    float alpha = 0, limit = 0;  ///< parameters of swiglu_oai, or of an own function
    gate_function function = gate_function::none;  ///< of glu and act
    own_call own;                                  ///< epilogue_part::own
};

/// What a matvec may do with a finished output before it is written, in this order.
enum class epilogue_part : std::uint8_t {
    scale,     ///< times a number
    factor,    ///< times a number in memory
    bias,      ///< plus a vector over the rows, or that of the expert
    glu,       ///< two matrices: f(first) * second
    act,       ///< one matrix: f(output), in place of glu
    own,       ///< f(output), f one of the engine's own ops
    combine,   ///< the outputs of a token's experts, times their weights, are added up
    residual,  ///< plus a tensor of the result's shape
    quantize,  ///< written as q8_1 too, for the next group
    heads      ///< the heads of a token: turned, and stored in a cache
};
inline constexpr int epilogue_part_count = static_cast<int>(epilogue_part::heads) + 1;

/// What a part reads in memory for the output of one member.
enum class part_operand : std::uint8_t {
    none,
    number,  ///< a number for all results of a matrix
    vector,  ///< a number for each row of a matrix
    result   ///< a tensor of the result's shape
};

/// What is known of a part: `name` in chains and records, `words` where people read of it.
struct epilogue_part_info {
    const char* name;
    const char* words;
    part_operand reads;
};
inline constexpr epilogue_part_info epilogue_parts[] = {
    {"scale", "scale", part_operand::none},          {"factor", "factor", part_operand::number},
    {"bias", "bias", part_operand::vector},          {"glu", "glu", part_operand::none},
    {"act", "function", part_operand::none},         {"own", "own op", part_operand::none},
    {"combine", "sum of slots", part_operand::none}, {"residual", "residual", part_operand::result},
    {"quantize", "quantize", part_operand::none},    {"heads", "heads", part_operand::none}};
static_assert(sizeof(epilogue_parts) / sizeof(epilogue_part_info) == epilogue_part_count,
              "one line for each part");
constexpr const epilogue_part_info& info(epilogue_part p) {
    return epilogue_parts[static_cast<int>(p)];
}
constexpr const char* name(epilogue_part p) { return info(p).name; }

static_assert(epilogue_part_count <= 16, "one bit for each part");
/// A set of parts. Since parts have one order, a set is also a sequence.
using epilogue_set = enum_set<epilogue_part, std::uint16_t>;
inline constexpr epilogue_set all_epilogue_parts{(1u << epilogue_part_count) - 1};

/// The parts that apply a function of the launch.
inline constexpr epilogue_set function_parts =
    epilogue_set::of(epilogue_part::glu) | epilogue_part::act | epilogue_part::own;

/// What a launch that turns heads may do with its results.
inline constexpr epilogue_set parts_of_heads =
    epilogue_set::of(epilogue_part::bias) | epilogue_part::heads;
constexpr bool has_heads(epilogue_set parts) { return parts.has(epilogue_part::heads); }

struct stage {
    stage_kind kind = stage_kind::emit;
    operand reads = operand::none;
    format_set formats = {};
    epilogue_set parts = {};  ///< epilogue
};

/// The formats of caches that heads are stored in. A matvec stores one element after the other.
inline constexpr format_set element_caches =
    format_set::of(format::f32) | format::f16 | format::bf16;
inline constexpr format_set cache_formats = element_caches | format::q8_0 | format::q4_0;

inline constexpr int max_stages = 16;

/// Matrices that one launch of a group can hold.
inline constexpr int max_members = 16;

/// Values that one launch of heads can hold: Q, K, V, and one beside them.
inline constexpr int max_head_members = 4;

/// Taps that a channel of a convolution can have.
inline constexpr std::int32_t min_taps = 3, max_taps = 4;

struct lowered_chain {
    const char* name = "";       ///< name in the catalogue: "norm_input"
    const char* signature = "";  ///< text of chain::signature: "rms_norm | mul(weight) | ..."
    int count = 0;
    stage stages[max_stages] = {};
};

/// What a row step computes.
struct row_computation {
    static constexpr skeleton kind = skeleton::row;
    stage_set stages = {};  ///< what happens to x
    format_set emits = {};  ///< formats written in one pass, any subset
    bool own = false;  ///< applies the ops of an engine's own (table::ops) where it has a function
};

constexpr bool operator==(const row_computation& a, const row_computation& b) {
    return a.stages == b.stages && a.emits == b.emits && a.own == b.own;
}
constexpr bool operator!=(const row_computation& a, const row_computation& b) { return !(a == b); }

/// What a matvec or a matmul computes.
struct product_computation {
    skeleton kind = skeleton::matvec;
    stage_set stages = {};  ///< stages of a matvec's activation: an rms_norm and its weight
    format_set emits = {};  ///< formats in which the launch writes the norm that it makes
    format activation = format::unknown;  ///< format of the activation, which must be equal
    format_set weights = {};              ///< formats one launch can hold
    epilogue_set epilogue = {};           ///< parts, any subset
    bool own = false;  ///< applies the ops of an engine's own (table::ops) where it has a function
};

constexpr bool operator==(const product_computation& a, const product_computation& b) {
    return a.kind == b.kind && a.stages == b.stages && a.emits == b.emits &&
           a.activation == b.activation && a.weights == b.weights && a.epilogue == b.epilogue &&
           a.own == b.own;
}
constexpr bool operator!=(const product_computation& a, const product_computation& b) {
    return !(a == b);
}

constexpr skeleton skeleton_of(const product_computation& c) { return c.kind; }

/// What one launch computes: the functional half of a table row, and of a problem. A row serves a
/// problem when it computes at least what the problem needs (`serves`).
using computation = by_skeleton<row_computation, product_computation>;

}  // namespace CATENA_NAMESPACE
