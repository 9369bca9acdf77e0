// A problem: what one launch is asked to compute. It is the functional key: equal problems get
// equal choices. Nothing here says how, or where in the graph.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"

#include <cstdint>
#include <initializer_list>

namespace catena {

/// One matrix of a group: its format, its size, and what is done with its result.
struct problem_member {
    format type = format::unknown;
    std::int32_t rows = 0;       ///< weight rows (of one expert, of one matrix)
    std::int32_t experts = 0;    ///< matrices in the tensor; 0: dense, beside experts too
    epilogue_set epilogue = {};  ///< what is done with its result; with glu it is two matrices
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

/// Sizes are in elements, `alignment` in bytes.
struct problem {
    computation needs;    ///< exactly what is to be computed: emits that are on, formats that occur
    bool sum = false;     ///< row: the sum with the residual is written
    bool expert = false;  ///< matvec: matrices are picked by ids, of some members at least
    std::int64_t k = 0;   ///< elements of a norm row, of a weight row
    std::int64_t rows = 0;     ///< row: norm rows
    std::int64_t quant_k = 0;  ///< row: elements of an activation row; 0: nothing is quantized
    /// Row: the results that are added up to x: one of each slot, and that of a shared expert.
    std::int64_t slots = 0;
    std::int64_t columns = 0;  ///< matvec: columns; expert: slots * tokens
    std::int64_t tokens = 0;   ///< expert: tokens
    int alignment = 16;        ///< largest power of two, 16 at most, that divides every address and
                               ///< stride: row: of all operands; matvec: of the weights
                               ///< (matching sees to it that f32 beside them is aligned to 4)
    int member_count = 0;      ///< matvec
    problem_member member[max_members];
};

constexpr bool operator==(const problem& a, const problem& b) {
    if (a.needs != b.needs || a.sum != b.sum || a.expert != b.expert || a.k != b.k ||
        a.rows != b.rows || a.slots != b.slots || a.quant_k != b.quant_k ||
        a.columns != b.columns || a.tokens != b.tokens || a.alignment != b.alignment ||
        a.member_count != b.member_count)
        return false;
    for (int i = 0; i < a.member_count; ++i)
        if (!(a.member[i] == b.member[i])) return false;
    return true;
}
constexpr bool operator!=(const problem& a, const problem& b) { return !(a == b); }

/// Weight rows of all members; of a row step its norm rows.
constexpr std::int64_t rows_of(const problem& p) {
    std::int64_t rows = p.rows;
    for (int i = 0; i < p.member_count; ++i)
        rows += std::int64_t{p.member[i].rows} * weight_rows(p.member[i]);
    return rows;
}

/// Do ids pick the member's matrix? With one token, dense members may stand beside such members.
constexpr bool by_ids(const problem& p, const problem_member& m) {
    return p.expert && m.experts > 0;
}
/// Are the results of a token's slots added up? If so, those of every member are.
constexpr bool combined(const problem& p) { return p.needs.epilogue.has(epilogue_part::combine); }

/// Matrices of an expert tensor that a token reads.
constexpr std::int64_t slots_of(const problem& p) {
    return p.expert && p.tokens > 0 ? quotient(p.columns, p.tokens) : 1;
}

/// Columns of a member's result: one, where it is dense beside experts.
constexpr std::int64_t columns_of(const problem& p, const problem_member& m) {
    if (combined(p)) return p.tokens;
    return p.expert && !by_ids(p, m) ? 1 : p.columns;
}

/// Does a group make the norm of its activation itself?
constexpr bool makes_norm(const problem& p) {
    return p.needs.kind == skeleton::matvec && has_norm(p.needs.stages);
}

/// Does a group quantize an f32 activation itself that is no norm?
constexpr bool quantizes_inside(const computation& c) {
    return c.kind == skeleton::matvec && c.activation == format::f32 && !has_numbers(c.weights);
}

/// Bytes that a launch must move at least: every operand once. Experts count one matrix for each
/// column, for nobody knows the ids.
constexpr std::int64_t bytes_of(const problem& p) {
    if (p.needs.kind == skeleton::row) {
        const std::int64_t values = p.rows * p.k;
        const bool gated = gates(p.needs.stages);
        const std::int64_t reads =
            (p.slots > 0 ? p.slots : 1) + (adds_residual(p.needs.stages) ? 1 : 0) + (gated ? 1 : 0);
        std::int64_t bytes = 4 * values * (reads + (p.sum ? 1 : 0));
        bytes += 4 * p.rows * p.slots;  // their weights
        bytes += 4 * p.k * p.needs.stages.both(vector_stages).size();
        for (const format id : p.needs.emits) {
            const bool padded = info(id).role == format_role::activation && !scales_apart(id);
            bytes += padded ? quotient(values, p.quant_k) * activation_row_bytes(id, p.quant_k)
                            : row_bytes(id, values) + scale_bytes(id, p.k) * p.rows;
        }
        return bytes;
    }
    const format x = makes_norm(p) ? format::f32 : p.needs.activation;
    std::int64_t bytes = (p.expert ? p.tokens : p.columns) * activation_row_bytes(x, p.k);
    if (makes_norm(p)) bytes += 4 * p.k;  // its weight
    for (const format id : p.needs.emits) bytes += p.columns * activation_row_bytes(id, p.k);
    if (combined(p)) bytes += 4 * p.columns;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const std::int64_t columns = columns_of(p, m);
        const std::int64_t matrices = !by_ids(p, m)           ? 1
                                      : p.columns < m.experts ? p.columns
                                                              : m.experts;
        bytes += matrices * m.rows * weight_rows(m) * row_bytes(m.type, p.k);
        const bool adds = m.epilogue.has(epilogue_part::residual);
        bytes += 4 * columns * m.rows * ((m.written ? 1 : 0) + (adds ? 1 : 0));
        if (m.epilogue.has(epilogue_part::quantize)) bytes += columns * q8_1_row_bytes(m.rows);
    }
    return bytes;
}

}  // namespace catena
