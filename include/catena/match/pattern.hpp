// The graph pattern of a chain, derived from its stages: which ops stand before the value that is
// emitted and quantized, which matrices may read it, and what may be done with their outputs.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/format/number.hpp"

#include <initializer_list>

namespace catena {

/// The formats in which a group can read its activation, in the order in which rows are asked.
inline constexpr format activation_layouts[] = {format::q8_1,         format::q8_1_mmq_d4,
                                                format::q8_1_mmq_ds4, format::bf16_mma,
                                                format::f16_mma,      format::fp8_group};
inline constexpr int layout_count = 6;

/// Below so many columns (of experts: tokens) a matvec serves every reader of an activation, from
/// one copy.
inline constexpr std::int64_t min_matmul_columns = 9;

constexpr int layout_number(format f) {
    for (int i = 0; i < layout_count; ++i)
        if (activation_layouts[i] == f) return i;
    return -1;
}

/// The layout in which a matmul reads the activation of weights of this format: ds4 where a minimum
/// is multiplied with the sum of 32 values; f32 of numbers, fp8 of fp8; unknown: no matmul takes
/// it. q2_K, which has a minimum for each 16, reads d4 as well: its sums are added on the way,
/// exactly.
constexpr format matmul_layout(format weight) {
    if (reads_f32(weight)) return format::f32;
    if (info(weight).role != format_role::weight) return format::unknown;
    switch (weight) {
        case format::q4_0:
        case format::q4_1:
        case format::q5_1:
        case format::q4_K:
        case format::q5_K:
        case format::iq1_s:
            return format::q8_1_mmq_ds4;
        case format::fp8_e4m3:
            return format::fp8_group;
        default:
            return format::q8_1_mmq_d4;
    }
}

/// The layout that warpgroups multiply with such weights: that of their type, bf16 of what they
/// decode; unknown: they take none.
constexpr format warpgroup_layout(format weight) {
    if (weight == format::f16) return format::f16_mma;
    const bool decoded = info(weight).role == format_role::weight && !is_number(weight);
    return decoded || weight == format::bf16 ? format::bf16_mma : format::unknown;
}

/// All layouts in which a matmul may read it.
constexpr format_set matmul_layouts(format weight) {
    format_set all;
    for (const format f : {matmul_layout(weight), warpgroup_layout(weight)})
        if (f != format::unknown) all = all | f;
    return all;
}

struct pattern {
    bool known = false;         ///< false: the stages have a shape that the matcher does not know
    bool experts = false;       ///< a sum of experts' results stands before the norm
    bool residual = false;      ///< an ADD stands before the norm
    format_set sum_emits = {};  ///< formats of the sum that a norm reads
    value_kind value = value_kind::plain;
    bool alone = false;  ///< of a gated value: there is no second factor
    bool scale = false;  ///< a MUL with a weight stands after the norm
    bool bias = false;   ///< an ADD with a bias after that
    bool gate = false;   ///< a MUL with a function of a gate after that
    bool join = false;   ///< an ADD of a residual stands after the weight
    bool again = false;  ///< a norm of that sum and a MUL with another weight after that
    format_set emits = {};
    format_set activations = {};  ///< what the group reads: f32 of numbers; empty: no group
    format_set dense = {};        ///< formats of MUL_MAT readers
    format_set expert = {};       ///< formats of MUL_MAT_ID readers
    epilogue_set epilogue = {};   ///< what may be done with their outputs

    /// Ops before the value.
    constexpr int length() const {
        return (experts ? 1 : 0) + (residual ? 1 : 0) + (value != value_kind::plain ? 1 : 0) +
               (scale ? 1 : 0) + (bias ? 1 : 0) + (gate ? 1 : 0) + (join ? 1 : 0) + (again ? 2 : 0);
    }
    constexpr bool has_group() const { return !activations.empty(); }
};

/// Two chains of one family find the same places; they differ in the matrices that may read.
constexpr bool same_family(const pattern& a, const pattern& b) {
    return a.known == b.known && a.experts == b.experts && a.residual == b.residual &&
           a.value == b.value && a.alone == b.alone && a.scale == b.scale && a.bias == b.bias &&
           a.gate == b.gate && a.join == b.join && a.again == b.again &&
           a.sum_emits == b.sum_emits && a.emits == b.emits && a.epilogue == b.epilogue;
}

namespace detail {

/// Where a stage stands in a chain: stages come in this order.
enum class section : std::uint8_t {
    unknown,
    sum,
    value,
    scale,
    bias,
    gate,
    join,
    again,
    emit,
    quantize,
    group,
    epilogue
};

/// Takes the stages of a chain one after the other.
class pattern_reader {
  public:
    /// False: in this place the matcher does not know the stage.
    constexpr bool take(const stage& s) {
        const section here = section_of(s);
        // What was emitted before a second norm is the sum that it reads.
        const bool of_sum = here == section::again && is_norm(s.kind);
        if (of_sum && last_ == section::emit) last_ = here;
        if (here == section::unknown || here < last_) return false;
        last_ = here;
        return add(s, here);
    }

    constexpr pattern finished() const {
        pattern out = out_;
        if (has_numbers(out.dense | out.expert)) out.activations = out.activations | format::f32;
        const bool around = out.experts || out.residual || out.scale || out.bias;
        const bool group = !out.dense.empty() || !out.expert.empty();
        out.known = (normed() || !around) && second_norm_ == out.again &&
                    group == out.has_group() && (group || out.epilogue.empty()) &&
                    (group || out.value != value_kind::plain);
        return out;
    }

  private:
    pattern out_;
    section last_ = section::sum;
    bool second_norm_ = false;

    static constexpr bool is_norm(stage_kind kind) {
        return kind == stage_kind::rms_norm || kind == stage_kind::layer_norm;
    }
    constexpr bool normed() const { return catena::is_norm(out_.value); }

    constexpr section section_of(const stage& s) const {
        switch (s.kind) {
            case stage_kind::combine:
                return section::sum;
            case stage_kind::add:
                if (s.reads == operand::bias) return section::bias;
                return normed() ? section::join : section::sum;
            case stage_kind::rms_norm:
                return out_.join ? section::again : section::value;
            case stage_kind::layer_norm:
                return out_.join ? section::unknown : section::value;
            case stage_kind::l2_norm:
                return section::unknown;  // no graph quantizes one
            case stage_kind::glu:
                return normed() ? section::gate : section::value;
            case stage_kind::mul:
                if (s.reads == operand::next_weight) return section::again;
                return s.reads == operand::weight ? section::scale : section::unknown;
            case stage_kind::emit:
                return out_.residual && out_.value == value_kind::plain ? section::sum
                                                                        : section::emit;
            case stage_kind::quantize:
                return section::quantize;
            case stage_kind::mul_mat:
            case stage_kind::mul_mat_id:
                return section::group;
            case stage_kind::epilogue:
                return section::epilogue;
        }
        return section::unknown;
    }

    /// False: it stands there already, or not beside what does.
    constexpr bool add(const stage& s, section here) {
        switch (here) {
            case section::unknown:
                return false;
            case section::sum:
                if (s.kind == stage_kind::emit) return add(out_.sum_emits, s.formats);
                if (out_.residual) return false;
                return set(s.kind == stage_kind::combine ? out_.experts : out_.residual);
            case section::value:
                if (out_.value != value_kind::plain) return false;
                out_.value = s.kind == stage_kind::rms_norm     ? value_kind::rms_norm
                             : s.kind == stage_kind::layer_norm ? value_kind::layer_norm
                                                                : value_kind::glu;
                out_.alone = s.kind == stage_kind::glu && s.reads == operand::none;
                return true;
            case section::scale:
                return set(out_.scale);
            case section::bias:
                return set(out_.bias);
            case section::gate:
                return set(out_.gate);
            case section::join:
                return !out_.residual && set(out_.join);
            case section::again:
                if (s.kind == stage_kind::mul) return second_norm_ && set(out_.again);
                out_.sum_emits = out_.emits;
                out_.emits = {};
                return set(second_norm_);
            case section::emit:
                return add(out_.emits, s.formats);
            case section::quantize:
                return !out_.has_group() && add(out_.activations, s.formats);
            case section::group:
                return add(s.kind == stage_kind::mul_mat ? out_.dense : out_.expert, s.formats);
            case section::epilogue:
                if (!out_.epilogue.empty()) return false;
                out_.epilogue = s.parts;
                return true;
        }
        return false;
    }

    static constexpr bool set(bool& part) {
        const bool first = !part;
        part = true;
        return first;
    }
    static constexpr bool add(format_set& all, format_set more) {
        all = all | more;
        return true;
    }
};

}  // namespace detail

/// The pattern of `[combine] [add(residual) emit*] [norm | glu | act] [mul(weight)] [add(bias)]
/// [glu] emit* [[quantize<F...>] group [epilogue]]`, or with `add(residual) [emit* rms_norm
/// mul(next_weight)]` behind the weight in place of bias and gate. The norm may be missing only
/// together with what stands around it (a value of the engine's that is quantized, or multiplied as
/// it is).
constexpr pattern pattern_of(const lowered_chain& chain) {
    detail::pattern_reader reader;
    for (int i = 0; i < chain.count; ++i)
        if (!reader.take(chain.stages[i])) return {};
    return reader.finished();
}

}  // namespace catena
