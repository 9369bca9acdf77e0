// The stages that a value passes, in the one order in which it passes them, and what each asks of
// those before it. The chain's type rules, the matcher's patterns, the instances' names and the
// kernels all read the order and the rules from here. Also the operands that stages read. C++17, so
// that an engine can read it.
#pragma once

#include "catena/bits.hpp"
#include "catena/config.hpp"

#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE {

enum class stage_kind : std::uint8_t {
    convolve,      ///< value = f(the sum of a channel's last values times its taps, plus a bias):
                   ///< f is a gate_function of the launch. The values of tokens before the first
                   ///< one are the state of the sequence, which is replaced
    delta_rule,    ///< value = what the state of a sequence recalls for a query, when a token has
                   ///< let it decay and has corrected it: the gated delta rule of linear attention.
                   ///< The state is replaced
    ssm_scan,      ///< value = what the state of a selective state space (Mamba-2) gives a token
                   ///< that has changed it, plus d * x, times silu(z). The state is replaced
    combine,       ///< value = the results of a token's experts times their weights, added up, plus
                   ///< x, or nothing, or x * sigmoid(a number for each row)
    scale,         ///< value *= a number of the launch
    add_residual,  ///< value += residual: the sum that a norm reads
    rms_norm,      ///< value *= 1 / sqrt(mean(value^2) + eps), times a number
    layer_norm,    ///< value = (value - mean(value)) / sqrt(variance(value) + eps)
    l2_norm,       ///< value /= max(sqrt(sum(value^2)), eps)
    glu,           ///< value *= f(gate), or without a gate value = f(value): f is a gate_function
                   ///< of the launch
    mul_weight,    ///< value *= weight, the norm's
    add_bias,      ///< value += bias, the norm's
    gate,          ///< value *= f(gate), behind a norm
    join_residual,    ///< value = (value + residual) * a number in memory, behind a norm's weight
    next_norm,        ///< an rms_norm of that sum
    mul_next_weight,  ///< value *= the second norm's weight
    own,              ///< value = f(value), f one of the engine's own ops
    rope,             ///< pairs of the elements of a head are turned, by angles that a token's
                      ///< position says
    store,       ///< a tee: the heads of a token are also written, in `formats`, into a row of a
                 ///< cache, whose number is in memory
    attend,      ///< value = the values of a cache, added up by how much the head, a query, agrees
                 ///< with their keys: attention
    score,       ///< the logits of a token's experts become scores, by a function of the launch
    choose,      ///< the experts of the token are sorted and written, the best first; the value
                 ///< becomes the scores of the first of them
    weigh,       ///< scores become weights, as the launch says
    emit,        ///< a tee: the value is also written, in `formats`
    quantize,    ///< the value is written in `formats`, the activations that the group reads
    mul_mat,     ///< the group: matrices whose formats are `formats` read the value
    mul_mat_id,  ///< the group of mul_mat, with matrices that expert ids pick for each token
    epilogue     ///< what the group's launch may also do with a finished output: `parts`
};
inline constexpr int stage_kind_count = static_cast<int>(stage_kind::epilogue) + 1;

constexpr const char* name(stage_kind kind) {
    constexpr const char* names[] = {"convolve", "delta_rule",    "ssm_scan",   "combine",
                                     "scale",    "add_residual",  "rms_norm",   "layer_norm",
                                     "l2_norm",  "glu",           "mul_weight", "add_bias",
                                     "gate",     "join_residual", "next_norm",  "mul_next_weight",
                                     "own",      "rope",          "store",      "attend",
                                     "score",    "choose",        "weigh",      "emit",
                                     "quantize", "mul_mat",       "mul_mat_id", "epilogue"};
    static_assert(sizeof(names) / sizeof(names[0]) == stage_kind_count, "one name for each stage");
    return names[static_cast<int>(kind)];
}

static_assert(stage_kind_count <= 32, "one bit for each stage");
/// A set of stages. Since stages have one order, a set is also a sequence.
using stage_set = enum_set<stage_kind, std::uint32_t>;

CATENA_FN constexpr stage_set operator|(stage_kind a, stage_kind b) { return stage_set::of(a) | b; }

/// The stages that a row step does to its value. It also emits and quantizes; the rest is done by
/// the launch of a group.
inline constexpr stage_set row_stages = stage_set::before(stage_kind::emit);
inline constexpr stage_set norm_stages =
    stage_kind::rms_norm | stage_kind::layer_norm | stage_kind::l2_norm;
/// The stages that make the value of a row; a row without one is x itself, or a sum.
inline constexpr stage_set value_stages = norm_stages | stage_kind::glu;
inline constexpr stage_set group_stages =
    stage_kind::mul_mat | stage_kind::mul_mat_id | stage_kind::epilogue;

/// The stages behind which the value is a sum that a norm reads. It may be emitted there.
inline constexpr stage_set sum_stages =
    stage_kind::convolve | stage_kind::scale | stage_kind::add_residual | stage_kind::join_residual;

CATENA_FN constexpr bool has_norm(stage_set stages) { return stages.any(norm_stages); }

/// What may be done to a head before it is turned or stored. A launch has heads of several values,
/// such as Q, K and V, and does to each of them what it asks for.
inline constexpr stage_set head_stages = stage_kind::rms_norm | stage_kind::mul_weight;

/// Does a launch convolve, and then norm the heads that the channels are?
CATENA_FN constexpr bool convolves(stage_set stages) { return stages.has(stage_kind::convolve); }

/// Does a launch recall heads of linear attention from the state of a sequence?
CATENA_FN constexpr bool recalls(stage_set stages) { return stages.has(stage_kind::delta_rule); }

/// Does a launch scan the state space of a sequence?
CATENA_FN constexpr bool scans(stage_set stages) { return stages.has(stage_kind::ssm_scan); }

/// Does a launch compute attention?
CATENA_FN constexpr bool attends(stage_set stages) { return stages.has(stage_kind::attend); }

/// Does a launch work on heads?
CATENA_FN constexpr bool has_heads(stage_set stages) {
    return stages.any(stage_kind::convolve | stage_kind::delta_rule | stage_kind::ssm_scan |
                      stage_kind::rope | stage_kind::store);
}

/// Does a launch send tokens to their experts?
CATENA_FN constexpr bool routes(stage_set stages) { return stages.has(stage_kind::choose); }

/// What a stage asks of the stages before it, besides the order.
struct stage_rule {
    stage_set behind;  ///< one of them stands before it; empty: it asks for none
    stage_set apart;   ///< none of them does
};

constexpr stage_rule rule_of(stage_kind kind) {
    switch (kind) {
        case stage_kind::rms_norm:
        case stage_kind::layer_norm:
        case stage_kind::l2_norm:
            return {{}, value_stages};
        case stage_kind::glu:
            return {{}, stage_set::before(stage_kind::glu)};
        case stage_kind::mul_weight:
        case stage_kind::add_bias:
        case stage_kind::gate:
            return {norm_stages, {}};
        case stage_kind::join_residual:
            return {stage_set::of(stage_kind::mul_weight),
                    stage_kind::add_residual | stage_kind::add_bias | stage_kind::gate};
        case stage_kind::next_norm:
            return {stage_set::of(stage_kind::join_residual), {}};
        case stage_kind::mul_next_weight:
            return {stage_set::of(stage_kind::next_norm), {}};
        case stage_kind::own:
            return {value_stages, {}};
        case stage_kind::rope:
        case stage_kind::store:
            return {{}, stage_set::before(stage_kind::rope).without(head_stages)};
        case stage_kind::attend:
            return {stage_set::of(stage_kind::store), {}};
        case stage_kind::score:
        case stage_kind::choose:
            return {{}, stage_set::before(stage_kind::score)};
        case stage_kind::weigh:
            return {stage_set::of(stage_kind::choose), {}};
        case stage_kind::epilogue:
            return {stage_kind::mul_mat | stage_kind::mul_mat_id, {}};
        case stage_kind::convolve:
        case stage_kind::delta_rule:
        case stage_kind::ssm_scan:
        case stage_kind::combine:
        case stage_kind::scale:
        case stage_kind::add_residual:
        case stage_kind::emit:
        case stage_kind::quantize:
        case stage_kind::mul_mat:
        case stage_kind::mul_mat_id:
            break;
    }
    return {};
}

/// May the stage follow those that the value has passed?
constexpr bool may_follow(stage_set passed, stage_kind kind) {
    const stage_rule rule = rule_of(kind);
    const stage_set repeats = kind == stage_kind::emit ? stage_set::of(kind) : stage_set{};
    const bool in_order = (stage_set::before(kind) | repeats).contains(passed);
    return in_order && (rule.behind.empty() || passed.any(rule.behind)) && !passed.any(rule.apart);
}

/// The stages that a launch leaves out where their operands are null. A row must have the others
/// exactly as a problem needs them: rows of a norm alone are smaller than rows that also join.
inline constexpr stage_set optional_stages =
    stage_kind::combine | stage_kind::scale | stage_kind::add_residual | stage_kind::mul_weight |
    stage_kind::add_bias | stage_kind::gate | stage_kind::next_norm | stage_kind::mul_next_weight;

/// Does a row with the stages `has` do those that are needed, and none that it cannot leave out?
constexpr bool serves(stage_set has, stage_set needs) {
    if (has_heads(has) != has_heads(needs) || attends(has) != attends(needs) ||
        routes(has) != routes(needs))
        return false;
    const stage_set spare = has.without(needs);
    return has.contains(needs) &&
           (has_heads(has) || routes(has) || optional_stages.contains(spare));
}

/// The stages that read a residual.
inline constexpr stage_set residual_stages = stage_kind::add_residual | stage_kind::join_residual;
/// The stages that read a gate.
inline constexpr stage_set gate_stages = stage_kind::glu | stage_kind::gate;

CATENA_FN constexpr bool gates(stage_set stages) { return stages.any(gate_stages); }

/// The named operands of a chain. Each becomes a launch argument.
enum class operand : std::uint8_t {
    none,
    x,  ///< what the chain starts from
    residual,
    weight,
    one_plus_weight,  ///< 1 + weight: norms whose weight is trained around zero
    bias,
    gate,
    scale,
    next_weight,  ///< weight of a second norm, which reads the sum of a norm and a residual
    factor        ///< a number in memory
};
inline constexpr int operand_count = static_cast<int>(operand::factor) + 1;

namespace chain {

template <operand Which>
struct operand_name {
    static constexpr operand which = Which;
};

inline constexpr operand_name<operand::residual> residual{};
inline constexpr operand_name<operand::weight> weight{};
inline constexpr operand_name<operand::one_plus_weight> one_plus_weight{};
inline constexpr operand_name<operand::bias> bias{};
inline constexpr operand_name<operand::scale> scale{};
inline constexpr operand_name<operand::next_weight> next_weight{};
inline constexpr operand_name<operand::factor> factor{};

template <class T, operand Which>
inline constexpr bool is_operand = std::is_same_v<T, operand_name<Which>>;

constexpr const char* name(operand o) {
    constexpr const char* names[] = {"none", "x",    "residual", "weight",      "one_plus_weight",
                                     "bias", "gate", "scale",    "next_weight", "factor"};
    static_assert(sizeof(names) / sizeof(names[0]) == operand_count, "one name for each operand");
    return names[static_cast<int>(o)];
}

}  // namespace chain

}  // namespace CATENA_NAMESPACE
