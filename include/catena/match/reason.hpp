// Why something stayed with the engine: a closed list, each with the sentence that a report prints.
// `have` and `need` of an obstacle fill the places {have} and {need}; an obstacle names its node by
// position.
#pragma once

#include "catena/config.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace CATENA_NAMESPACE {

// name, sentence.
#define CATENA_REASONS(X)                                                                          \
    X(none, "it is served")                                                                        \
    X(no_chain, "no chain of the table has a pattern that begins at this op")                      \
    X(not_computed, "the node is not flagged for computation")                                     \
    X(missing_source, "it lacks a source that its op needs")                                       \
    X(extra_source, "it has a source that its op is not known to have")                            \
    X(not_f32, "a value of the chain is not f32")                                                  \
    X(not_unit_stride, "neighbors in a row lie {have} bytes apart, not {need}")                    \
    X(unaligned,                                                                                   \
      "tensor {have} lies at an address, or has strides, that {need} bytes do not divide")         \
    X(overlaps_itself, "rows of tensor {have}, which it writes, lie over each other")              \
    X(written_in_place, "the memory of a value of the chain is written in place by another node")  \
    X(no_elements, "it has no elements")                                                           \
    X(too_large, "a size of {have} is above {need}")                                               \
    X(unreachable, "a value of the chain is not in memory that a kernel can reach")                \
    X(eps, "its eps is NaN, infinite or negative")                                                 \
    X(gate_function_unknown, "no row computes the function of its gate")                           \
    X(no_gate, "neither factor is a known function of a gate")                                     \
    X(gate_shape, "the gate has not the shape of what it gates")                                   \
    X(gate_read_elsewhere, "the function of the gate has other readers than its MUL")              \
    X(unscaled, "the norm's result is not read by a MUL with a weight")                            \
    X(unbiased, "the norm's result is not read by an ADD with a bias alone")                       \
    X(ungated, "the norm's result is not read by a MUL with a function of a gate alone")           \
    X(unjoined, "the norm's result is not read by an ADD of a tensor of its shape alone")          \
    X(no_own_op, "none of the engine's own ops alone reads the result")                            \
    X(not_normed_again, "the sum is not read by an RMS_NORM with a weight")                        \
    X(read_elsewhere, "the norm's result has {have} readers, and only its MUL could be served")    \
    X(read_outside, "the norm's result is, or may be, read outside this graph")                    \
    X(is_output, "the norm's result is flagged OUTPUT, and the chain does not write it")           \
    X(reshaped, "the norm's result is reshaped before its MUL")                                    \
    X(weight_not_leaf,                                                                             \
      "the weight is no leaf that the engine flags as a weight, nor a RESHAPE or VIEW of one")     \
    X(weight_not_f32, "the weight of the norm is not f32")                                         \
    X(weight_shape, "the weight of the norm is not one row of {need} elements (it has {have})")    \
    X(no_residual, "the norm's input is not an ADD of two tensors of its own shape")               \
    X(no_scale, "the norm's input is not a SCALE of rows by a number")                             \
    X(no_experts, "the norm's input is not a sum of experts' results")                             \
    X(not_read, "no quantized matmul reads the result")                                            \
    X(none_served, "none of the {have} quantized matmuls that read the result can be served")      \
    X(no_emit, "f32 must stay for another reader, and the chain has no emit<f32>")                 \
    X(not_activation, "the value is an operand other than the activation")                         \
    X(plain_weight, "its weight is not quantized: it reads f32")                                   \
    X(format_not_in_chain, "the chain lists no matrix of this format")                             \
    X(weight_batched, "its weight has more matrices, or fewer, than its activation has parts")     \
    X(weight_strided, "its weight is not contiguous")                                              \
    X(weight_scales,                                                                               \
      "the scales of its weight are not f32 of one number, one a row or one a square of 128")      \
    X(factor_of_experts,                                                                           \
      "its factors are not a leaf's numbers, one for each expert, picked by its matmul's ids")     \
    X(precision, "it asks for a precision (op_params[0] is {have}) that no row promises")          \
    X(hint, "it carries a transform hint (op_params[1] is {have})")                                \
    X(activation_precision,                                                                        \
      "its activation may not be quantized to 8 bits (op_params[3] is {have})")                    \
    X(activation_rounded,                                                                          \
      "so many columns are multiplied in the type of the weights, and it asks for more "           \
      "(op_params[0] is {have}, op_params[3] is {need})")                                          \
    X(parameter, "it carries a parameter that is not known (op_params[{have}])")                   \
    X(activation_strided, "it reads the activation through a strided or partial view")             \
    X(activation_unaligned, "it reads an f32 activation that is not 16-byte aligned")              \
    X(row_length, "it reads rows of {have} elements, the first matmul reads rows of {need}")       \
    X(stream, "it runs on stream {have} of the engine, the value is made on stream {need}")        \
    X(batched_result, "its result is not contiguous from column to column")                        \
    X(expert_ids, "its expert ids are not i32 of [slots, tokens]")                                 \
    X(matmul_shape, "the sizes of its weight, activation, ids and result do not fit together")     \
    X(meets_own_input, "its result shares memory with what it reads")                              \
    X(no_row, "no row of the table serves it")                                                     \
    X(engine_faster,                                                                               \
      "the engine's own kernels took {need} ns where steps took {have} ns, measured in one run")   \
    X(engine_faster_in_models,                                                                     \
      "with such matmuls in steps models reached {need} % of the tokens a second that they reach " \
      "without")                                                                                   \
    X(engine_fuses, "an engine does it in one launch with the nodes around it")                    \
    X(overlap, "the step would pass node {have}, which shares memory with it")                     \
    X(group_split,                                                                                 \
      "it is launched apart from its group: node {have} between them shares its memory or reads "  \
      "it")                                                                                        \
    X(epilogue_apart,                                                                              \
      "what follows it stays with the engine: node {have} shares its memory, or no row does it")   \
    X(norm_shared, "others than the matrices of one launch read the norm")                         \
    X(norm_of_heads, "it is of heads on their way to attention")                                   \
    X(no_norm_inside, "no row makes this norm inside a launch of its readers")                     \
    X(norm_split, "it and its readers cannot be one launch: memory or what follows them forbids")  \
    X(norm_slower,                                                                                 \
      "its readers' launch with it should take {have} ns, the two launches {need} ns")             \
    X(same_bits, "same_bits needs it in a launch of its own")                                      \
    X(rope_mode, "it turns pairs in mode {have}, which no row does")                               \
    X(rope_numbers, "its numbers are no turn of the pairs of a head")                              \
    X(rope_positions,                                                                              \
      "its positions are not i32 without gaps, as many as its mode has for tokens")                \
    X(rope_factors, "what divides its angles is not f32 without gaps, a number for each pair")     \
    X(heads_reshaped, "its heads are of several batches, or of another shape than its result")     \
    X(not_joined, "it does not put the heads of two f32 values into one row each, end to end")     \
    X(cache_format, "no row stores heads in the format of the cache")                              \
    X(cache_shape, "what it stores is not f32 rows, each for one row of the cache")                \
    X(cache_ids, "its numbers of rows are not i64 or i32 without gaps, one for each row")          \
    X(attention_tokens, "it has {have} tokens; a launch attends for {need} at most")               \
    X(attention_shape,                                                                             \
      "it has a soft cap, biases by distance, or operands that no row attends to")                 \
    X(attention_heads, "others read its queries, keys or values, or no row makes heads of them")   \
    X(attention_cache, "its keys and values are not rows of caches from one row on")               \
    X(attention_same_bits, "same_bits: with more tokens it is the engine's, so it is so with one") \
    X(attention_slower,                                                                            \
      "a launch should take {have} ns for it and its heads, a launch of the heads and it {need}")  \
    X(convolution_tokens, "it convolves {have} tokens of a sequence; a row has {need} at most")    \
    X(convolution_taps, "no row has its taps: {have} for each channel, which must be a weight")    \
    X(convolution_state,                                                                           \
      "what it convolves is no state in front of tokens, which a CPY alone may keep")              \
    X(delta_rule_tokens,                                                                           \
      "it recalls values of {have} tokens of a sequence; a row has {need} at most")                \
    X(delta_rule_shape,                                                                            \
      "no row recalls heads of its sizes, or keeps more than one state of a sequence")             \
    X(delta_rule_state, "others than a CPY read the states that it leaves")                        \
    X(scan_tokens, "it scans {have} tokens of a sequence; a row has {need} at most")               \
    X(scan_shape, "no row scans heads of its sizes, or keeps more than one state of a sequence")   \
    X(scan_state, "others than a CPY read the states that it leaves")                              \
    X(routing_order, "it sorts no f32 scores of a token's experts, the best first")                \
    X(routing_unweighed, "no GET_ROWS reads the scores of the experts that come first")            \
    X(routing_groups, "what limits a token to groups of experts is nothing that a row does")       \
    X(routing_choice, "experts are sorted by something else than their scores and a bias")         \
    X(routing_read, "others read a value between the logits of experts and their weights")         \
    X(no_heads_inside, "no row turns or stores these heads in the launch of their matrices")       \
    X(heads_apart, "it and its heads are results of several launches, or others read them, too")   \
    X(heads_split, "its matrices and it cannot be one launch: node {have} shares its memory")      \
    X(heads_slower,                                                                                \
      "the launch of its matrices with it should take {have} ns, the two launches {need} ns")      \
    X(no_routing_inside, "no row routes a token in the launch of these experts")                   \
    X(routing_split, "it and its experts cannot be one launch: node {have} shares its memory")     \
    X(routing_slower,                                                                              \
      "the launch of its experts with it should take {have} ns, the two launches {need} ns")       \
    X(moe_ffn_values,                                                                              \
      "its x, its router and its result are not f32, or its gates are not of the type of its ups") \
    X(moe_ffn_gaps, "its result or one of its sources has gaps, or its result names other memory") \
    X(moe_ffn_sizes, "the sizes of its sources and of its result do not fit together")             \
    X(moe_ffn_chosen, "it picks {have} of {need} experts: 2 are the fewest, and all the most")     \
    X(moe_ffn_scratch, "graph_view::scratch has no memory for the values inside")                  \
    X(moe_ffn_in_part,                                                                             \
      "steps would leave {have} of the {need} launches that it stands for to the engine")          \
    X(one_launch, "it takes the engine one launch, as it would take a step")                       \
    X(taken, "another step already covers the node")

enum class reason : std::uint8_t {
#define CATENA_ENUMERATOR(name, sentence) name,
    CATENA_REASONS(CATENA_ENUMERATOR)
#undef CATENA_ENUMERATOR
};

/// An entry of a closed list.
struct worded {
    const char* name;
    const char* sentence;
};

inline constexpr worded reason_words[] = {
#define CATENA_WORDS(name, sentence) {#name, sentence},
    CATENA_REASONS(CATENA_WORDS)
#undef CATENA_WORDS
};

constexpr const char* name(reason r) { return reason_words[static_cast<int>(r)].name; }

/// A sentence with the places {have} and {need} filled in.
inline std::string filled(const char* sentence, std::int64_t have, std::int64_t need) {
    constexpr std::size_t place = 6;  // both are as long
    std::string out;
    while (*sentence != '\0') {
        const bool is_have = std::strncmp(sentence, "{have}", place) == 0;
        if (is_have || std::strncmp(sentence, "{need}", place) == 0) {
            out.append(std::to_string(is_have ? have : need));
            sentence += place;
        } else {
            out.push_back(*sentence++);
        }
    }
    return out;
}

/// What keeps something that was looked at from being served: where, why, and the numbers of the
/// sentence.
struct obstacle {
    std::int32_t node = -1;  ///< position in the view
    reason why = reason::none;
    std::int64_t have = 0, need = 0;

    bool found() const { return why != reason::none; }
};

inline std::string sentence(const obstacle& f) {
    return filled(reason_words[static_cast<int>(f.why)].sentence, f.have, f.need);
}

}  // namespace CATENA_NAMESPACE
