// What a chain becomes once Hana is done with it: a plain list of stages. The matcher derives its graph
// pattern from it, the generator its instances. C++17, so that an engine can read it.
#pragma once

#include "catena/format/format.hpp"

#include <cstdint>

namespace catena {

enum class stage_kind : std::uint8_t {
    add,         ///< value += operand (a residual before the norm, a bias after it)
    rms_norm,    ///< value *= 1 / sqrt(mean(value^2) + eps)
    mul,         ///< value *= operand (the weight of the norm)
    emit,        ///< a tee: also write the value in `formats`
    quantize,    ///< write the value in `formats`, the activation that the group reads
    mul_mat,     ///< the group: every reader is a matrix whose format is in `formats`
    mul_mat_id   ///< the same, matrices picked per token by expert ids
};

enum class operand : std::uint8_t { none, residual, weight, bias };

struct stage {
    stage_kind kind = stage_kind::emit;
    operand reads = operand::none;
    format_set formats = {};
};

inline constexpr int max_stages = 12;

struct lowered_chain {
    const char* name = "";       ///< as the catalogue calls it: "norm_input"
    const char* signature = "";  ///< as chain::signature spells it: "rms_norm | mul(weight) | ..."
    int count = 0;
    stage stages[max_stages] = {};
};

enum class skeleton : std::uint8_t { row, matvec };
constexpr const char* name(skeleton s) { return s == skeleton::row ? "row" : "matvec"; }

enum class norm_kind : std::uint8_t { none, rms };

/// What one launch computes: the functional half of a table row, and of a problem. A row serves a problem
/// when it computes at least what the problem needs (`serves`).
struct computation {
    skeleton kind = skeleton::row;
    norm_kind norm = norm_kind::none;         ///< row: must be equal
    bool residual = false;                    ///< row: a residual may be added before the norm
    bool scale = false;                       ///< row: a weight may be multiplied after the norm
    format_set emits = {};                    ///< row: formats written in one pass, any subset
    format activation = format::unknown;      ///< matvec: must be equal
    format_set weights = {};                  ///< matvec: formats one launch can hold
};

constexpr bool operator==(const computation& a, const computation& b) {
    return a.kind == b.kind && a.norm == b.norm && a.residual == b.residual && a.scale == b.scale &&
           a.emits == b.emits && a.activation == b.activation && a.weights == b.weights;
}
constexpr bool operator!=(const computation& a, const computation& b) { return !(a == b); }

}  // namespace catena
