// A problem: what one launch is asked to compute. It is the functional key: equal problems get
// equal choices. Nothing here says how, or where in the graph. Sizes are in elements, alignments in
// bytes.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// One matrix of a group: its format, its size, and what is done with its result.
struct problem_member {
    format type = format::unknown;
    std::int32_t rows = 0;       ///< weight rows of one matrix
    std::int32_t experts = 0;    ///< matrices in the tensor; 0: dense, beside experts too
    epilogue_set epilogue = {};  ///< parts of its epilogue; with glu the member has two matrices
    bool written = true;         ///< the result is written as f32
};

constexpr bool operator==(const problem_member& a, const problem_member& b) {
    return a.type == b.type && a.epilogue == b.epilogue && a.written == b.written &&
           a.rows == b.rows && a.experts == b.experts;
}

/// Weight rows that are read for one row of the result.
constexpr int weight_rows(const problem_member& m) {
    return m.epilogue.has(epilogue_part::glu) ? 2 : 1;
}

/// What a row step is asked for.
struct row_problem {
    row_computation needs;  ///< exactly what is to be computed: stages, and emits that are on
    bool sum = false;       ///< the sum with the residual is written
    std::int64_t k = 0;     ///< elements of a norm row; if a state makes the row's values, numbers
                            ///< of the state for a value
    std::int64_t rows = 0;  ///< norm rows
    std::int64_t quant_k = 0;  ///< elements of an activation row; 0: nothing is quantized
    /// The results that are added up to x: one of each slot, and that of a shared expert. A
    /// routing, whose rows are tokens of k experts, has those that a token is sent to; a
    /// convolution, whose rows are heads of one token of each sequence, the taps of a channel; the
    /// delta rule and a scan, whose rows are values_of_warp values of a head, the tokens of a
    /// sequence; heads with a norm of tokens the rounds in which a block reads a token
    /// (kernel/head_work.hpp); and attention, whose rows are heads of queries, the queries of a
    /// head of keys.
    std::int64_t slots = 0;
    std::int64_t positions = 0;  ///< those that attention reads of a cache
    std::int64_t stored = 0;  ///< number of the rows that are stored in a cache, if rows are heads
    /// Elements of the shortest head, of all heads, and of those that are stored; 0: all heads have
    /// k elements.
    std::int64_t least_k = 0, values = 0, stored_values = 0;
    std::int64_t sequences = 1;  ///< those that a convolution, or a state each, makes heads of
    int alignment = 16;  ///< largest power of two, 16 at most, that divides every operand's address
                         ///< and strides
};

constexpr bool operator==(const row_problem& a, const row_problem& b) {
    return a.needs == b.needs && a.sum == b.sum && a.k == b.k && a.rows == b.rows &&
           a.quant_k == b.quant_k && a.slots == b.slots && a.positions == b.positions &&
           a.stored == b.stored && a.least_k == b.least_k && a.values == b.values &&
           a.stored_values == b.stored_values && a.sequences == b.sequences &&
           a.alignment == b.alignment;
}
constexpr bool operator!=(const row_problem& a, const row_problem& b) { return !(a == b); }

/// What a matvec or a matmul is asked for.
struct product_problem {
    product_computation needs;  ///< exactly what is to be computed: formats and parts that occur
    bool expert = false;        ///< some members at least have several matrices: ids pick them, or
                                ///< each has a part of the activation
    bool ends_norm = false;     ///< the activation is a norm that another launch begins
    bool begins_norm = false;   ///< what the epilogue quantizes is a norm, which the launch begins
    std::int32_t gate_k = 0;    ///< elements of a head of an activation that the launch gates; 0:
                                ///< it gates none
    std::int64_t k = 0;         ///< elements of a weight row
    std::int64_t columns = 0;   ///< expert: slots * tokens; without ids: matrices * tokens
    std::int64_t tokens = 0;    ///< expert
    int alignment = 16;         ///< largest power of two, 16 at most, that divides the weights'
                                ///< addresses and strides (matching sees to it that f32 beside them
                                ///< is aligned to 4)
    int member_count = 0;
    problem_member member[max_members];
};

constexpr bool operator==(const product_problem& a, const product_problem& b) {
    if (a.needs != b.needs || a.expert != b.expert || a.k != b.k || a.columns != b.columns ||
        a.gate_k != b.gate_k || a.tokens != b.tokens || a.ends_norm != b.ends_norm ||
        a.begins_norm != b.begins_norm || a.alignment != b.alignment ||
        a.member_count != b.member_count)
        return false;
    for (int i = 0; i < a.member_count; ++i)
        if (!(a.member[i] == b.member[i])) return false;
    return true;
}
constexpr bool operator!=(const product_problem& a, const product_problem& b) { return !(a == b); }

/// The skeleton of a product's launch, as by_skeleton asks.
constexpr skeleton skeleton_of(const product_problem& p) { return p.needs.kind; }

/// What one launch is asked for: a row_problem or a product_problem.
using problem = by_skeleton<row_problem, product_problem>;

/// The weight rows of all members.
constexpr std::int64_t rows_of(const product_problem& p) {
    std::int64_t rows = 0;
    for (int i = 0; i < p.member_count; ++i)
        rows += std::int64_t{p.member[i].rows} * weight_rows(p.member[i]);
    return rows;
}

/// Columns; where ids pick matrices, tokens. Limits and records go by this number.
constexpr std::int64_t tokens_of(const product_problem& p) {
    return p.expert ? p.tokens : p.columns;
}

/// What a row step does to its values; what a matvec does to its activation, or nothing.
constexpr stage_set stages_of(const problem& p) {
    return p.visit([](const auto& own) { return own.needs.stages; });
}

/// Matrices of a group; a row step has none.
constexpr int members_of(const problem& p) {
    return p.kind() == skeleton::row ? 0 : p.product().member_count;
}

/// Do ids pick the member's matrix? Dense members may stand beside such members.
constexpr bool by_ids(const product_problem& p, const problem_member& m) {
    return p.expert && m.experts > 0;
}
/// Are the results of a token's slots added up? If so, those of every member are.
constexpr bool combined(const product_problem& p) {
    return p.needs.epilogue.has(epilogue_part::combine);
}

/// Does a launch add up the results of its matrices for a token's slots?
constexpr bool combined(const problem& p) {
    return p.kind() != skeleton::row && combined(p.product());
}

/// Matrices of an expert tensor that a token reads.
constexpr std::int64_t slots_of(const product_problem& p) {
    return p.expert && p.tokens > 0 ? quotient(p.columns, p.tokens) : 1;
}

/// Has a member of a launch of experts one result for each token, not one for each slot? So have
/// sums of slots, and a dense member.
constexpr bool one_for_token(const product_problem& p, const problem_member& m) {
    return p.expert && (combined(p) || !by_ids(p, m));
}
/// Columns of a member's result.
constexpr std::int64_t columns_of(const product_problem& p, const problem_member& m) {
    return one_for_token(p, m) ? p.tokens : p.columns;
}

/// Does a group gate its activation itself, or a norm of each of its heads?
constexpr bool gates_inside(const product_problem& p) { return p.gate_k > 0; }
/// Does a group make the norm of its activation itself?
constexpr bool makes_norm(const product_problem& p) {
    return p.needs.kind == skeleton::matvec && has_norm(p.needs.stages) && !gates_inside(p);
}
/// Does a group send its tokens to the experts that it multiplies with?
constexpr bool routes(const product_problem& p) { return routes(p.needs.stages); }

/// Does a launch make the norm that its matrices read?
constexpr bool makes_norm(const problem& p) {
    return p.kind() == skeleton::matvec && makes_norm(p.product());
}

/// Does a group quantize an f32 activation itself that is no norm?
constexpr bool quantizes_inside(const product_computation& c) {
    return c.kind == skeleton::matvec && c.activation == format::f32 &&
           !has_float_weights(c.weights);
}

/// Does a launch quantize what its matrices read, and is that no norm?
constexpr bool quantizes_inside(const problem& p) {
    return p.kind() == skeleton::matvec && quantizes_inside(p.product().needs);
}

/// A value is read with the values before it, of which all but the first are written. It is written
/// as it is, or normed. All sequences have the same taps.
constexpr std::int64_t bytes_of_convolution(const row_problem& p) {
    const std::int64_t state = p.slots - 1, heads = quotient(p.rows, p.sequences);
    return 4 * p.k * (p.rows * (1 + 2 * state + 1) + heads * p.slots);
}

/// Each row reads and replaces its part of the state, and makes its values of each token. All else
/// is a hundredth of that.
constexpr std::int64_t bytes_of_delta_rule(const row_problem& p) {
    return 4 * p.rows * values_of_warp * (2 * p.k + 2 * p.slots);
}

/// The same, with x, z and the result of each value and token.
constexpr std::int64_t bytes_of_scan(const row_problem& p) {
    return 4 * p.rows * values_of_warp * (2 * p.k + 3 * p.slots);
}

/// Heads of keys that attention reads; without queries none.
constexpr std::int64_t key_heads_of(const row_problem& p) {
    return p.slots > 0 ? quotient(p.rows, p.slots) : 0;
}

/// Tokens of attention: of each, a key and a value of each head of keys are stored.
constexpr std::int64_t tokens_that_attend(const row_problem& p) {
    const std::int64_t heads = 2 * key_heads_of(p);
    return p.stored > heads && heads > 0 ? quotient(p.stored, heads) : 1;
}

/// Attention of one token.
constexpr row_problem of_one_token(row_problem p) {
    const std::int64_t tokens = tokens_that_attend(p);
    p.rows = quotient(p.rows, tokens), p.slots = quotient(p.slots, tokens);
    p.stored = quotient(p.stored, tokens);
    return p;
}

/// Keys and values of all positions are read, queries are read and what they attend to is written,
/// and a key and a value of each head of keys of each token, which are stored, too. The weight of a
/// norm is read once.
constexpr std::int64_t bytes_of_attention(const row_problem& p) {
    const std::int64_t vectors = operands_read(p.needs.stages, operand_shape::vector);
    const std::int64_t results = p.k * p.rows;
    std::int64_t bytes = 4 * results + p.k * (2 * 2 * p.positions * key_heads_of(p) +
                                              (4 + 2) * p.stored + 4 * vectors);
    if (p.needs.emits.has(format::f32)) bytes += 4 * results;
    if (p.needs.emits.has(format::q8_1))
        bytes += quotient(results, p.quant_k) * q8_1_row_bytes(p.quant_k);
    return bytes;
}

/// Heads are read once and written once: as f32, or in the format of a cache. The weight of a norm
/// is read once.
constexpr std::int64_t bytes_of_heads(const row_problem& p) {
    if (convolves(p.needs.stages)) return bytes_of_convolution(p);
    if (recalls(p.needs.stages)) return bytes_of_delta_rule(p);
    if (scans(p.needs.stages)) return bytes_of_scan(p);
    if (attends(p.needs.stages)) return bytes_of_attention(p);
    const std::int64_t vectors = operands_read(p.needs.stages, operand_shape::vector);
    const bool alike = p.values == 0;
    const std::int64_t values = alike ? p.k * p.rows : p.values,
                       stored = alike ? p.k * p.stored : p.stored_values;
    std::int64_t bytes = 4 * (2 * values - stored + p.k * vectors), widest = 0;
    for (const format id : p.needs.emits)
        if (id != format::f32 && row_bytes(id, stored) > widest) widest = row_bytes(id, stored);
    return bytes + (widest > 0 ? widest : 4 * stored);
}

/// Logits are read, the numbers of all experts and the weights of some are written.
constexpr std::int64_t bytes_of_routing(const row_problem& p) {
    return 4 * p.rows * (2 * p.k + p.slots);
}

/// Bytes that a launch must move at least: every operand once.
constexpr std::int64_t bytes_of(const row_problem& p) {
    if (routes(p.needs.stages)) return bytes_of_routing(p);
    if (has_heads(p.needs.stages)) return bytes_of_heads(p);
    const std::int64_t values = p.rows * p.k;
    const stage_set stages = p.needs.stages;
    const std::int64_t reads =
        (p.slots > 0 ? p.slots : 1) + operands_read(stages, operand_shape::rows);
    std::int64_t bytes = 4 * values * (reads + (p.sum ? 1 : 0));
    bytes += 4 * p.rows * p.slots;  // their weights
    bytes += 4 * p.k * operands_read(stages, operand_shape::vector);
    for (const format id : p.needs.emits) {
        const bool padded = info(id).role == format_role::activation && !scales_apart(id);
        bytes += padded ? quotient(values, p.quant_k) * activation_row_bytes(id, p.quant_k)
                        : row_bytes(id, values) + scale_bytes(id, p.k) * p.rows;
    }
    return bytes;
}

/// Matrices of a member that a launch reads, on average. Nobody knows the ids. The few tokens of a
/// matvec are taken to draw their experts at random, so some draw what others have drawn; ids of a
/// matmul are taken to spread evenly.
constexpr double matrices_read(const product_problem& p, const problem_member& m) {
    if (!by_ids(p, m)) return 1;
    const auto experts = static_cast<double>(m.experts), columns = static_cast<double>(p.columns);
    if (p.needs.kind == skeleton::matmul) return columns < experts ? columns : experts;
    const auto slots = static_cast<double>(slots_of(p));
    if (slots >= experts) return experts;
    double by_nobody = 1;  // the share of the experts that no token draws
    for (std::int64_t token = 0; token < p.tokens; ++token) by_nobody *= 1 - slots / experts;
    return experts * (1 - by_nobody);
}

/// Bytes of a product, with the weights of the matrices that are read.
constexpr std::int64_t bytes_of(const product_problem& p) {
    const format x = makes_norm(p) ? format::f32 : p.needs.activation;
    std::int64_t bytes = tokens_of(p) * activation_row_bytes(x, p.k);
    if (p.ends_norm) bytes += tokens_of(p) * (begun_row_bytes(p.k) - q8_1_row_bytes(p.k));
    if (makes_norm(p)) bytes += 4 * p.k;  // its weight
    if (gates_inside(p)) {
        bytes += 4 * p.k;  // the gate
        if (has_norm(p.needs.stages)) bytes += 4 * p.gate_k;
    }
    for (const format id : p.needs.emits) bytes += p.columns * activation_row_bytes(id, p.k);
    if (combined(p)) bytes += 4 * p.columns;
    if (routes(p)) bytes += 4 * (2 * p.tokens * p.member[0].experts + p.columns);
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const std::int64_t columns = columns_of(p, m);
        const std::int64_t matrix = m.rows * weight_rows(m) * row_bytes(m.type, p.k);
        bytes += static_cast<std::int64_t>(matrices_read(p, m) * static_cast<double>(matrix) + 0.5);
        int results = m.written ? 1 : 0;
        for (const epilogue_part part : m.epilogue)
            if (info(part).reads == part_operand::result) ++results;
        bytes += 4 * columns * m.rows * results;
        if (m.epilogue.has(epilogue_part::quantize))
            bytes += p.begins_norm ? columns * begun_row_bytes(m.rows) + 4 * m.rows
                                   : columns * q8_1_row_bytes(m.rows);
        if (has_heads(m.epilogue) && !m.written) bytes += 2 * m.rows;  // of a cache of 16 bits
    }
    return bytes;
}

/// Bytes that any launch must move at least, if experts are drawn as matrices_read says.
constexpr std::int64_t bytes_of(const problem& p) {
    return p.visit([](const auto& own) { return bytes_of(own); });
}

}  // namespace CATENA_NAMESPACE
