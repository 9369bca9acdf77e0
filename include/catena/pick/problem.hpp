// A problem: what one launch is asked to compute. It is the functional key: equal problems get
// equal choices. Nothing here says how, or where in the graph.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"

#include <cstdint>
#include <initializer_list>

namespace catena {

struct problem_member {
    format type = format::unknown;
    std::int32_t rows = 0;     ///< weight rows (of one expert)
    std::int32_t experts = 0;  ///< matrices in the tensor; 0: dense
};

constexpr bool operator==(const problem_member& a, const problem_member& b) {
    return a.type == b.type && a.rows == b.rows && a.experts == b.experts;
}

struct problem {
    computation needs;    ///< exactly what is to be computed: emits that are on, formats that occur
    bool sum = false;     ///< row: x + residual is written
    bool expert = false;  ///< matvec: matrices are picked by ids
    std::int64_t k = 0;   ///< elements of a norm row, of a weight row
    std::int64_t rows = 0;     ///< row: norm rows
    std::int64_t quant_k = 0;  ///< row: elements of an activation row; 0: nothing is quantized
    std::int64_t columns = 0;  ///< matvec: columns; expert: slots * tokens
    std::int64_t tokens = 0;   ///< expert: tokens
    int alignment = 16;        ///< largest power of two, 16 at most, that divides every address and
                         ///< stride: row: of all operands; matvec: of the weights
    int member_count = 0;  ///< matvec
    problem_member member[max_members];
};

constexpr bool operator==(const problem& a, const problem& b) {
    if (a.needs != b.needs || a.sum != b.sum || a.expert != b.expert || a.k != b.k ||
        a.rows != b.rows || a.quant_k != b.quant_k || a.columns != b.columns ||
        a.tokens != b.tokens || a.alignment != b.alignment || a.member_count != b.member_count)
        return false;
    for (int i = 0; i < a.member_count; ++i)
        if (!(a.member[i] == b.member[i])) return false;
    return true;
}
constexpr bool operator!=(const problem& a, const problem& b) { return !(a == b); }

/// Bytes that a launch must move at least: every operand once. Of experts, as many matrices as
/// there are columns, for nobody knows the ids.
constexpr std::int64_t bytes_of(const problem& p) {
    if (p.needs.kind == skeleton::row) {
        const std::int64_t values = p.rows * p.k;
        std::int64_t bytes = 4 * values * (1 + (p.needs.residual ? 1 : 0) + (p.sum ? 1 : 0));
        if (p.needs.scale) bytes += 4 * p.k;
        for (const format f : {format::f32, format::f16, format::bf16})
            if (p.needs.emits.has(f)) bytes += row_bytes(f, values);
        if (p.quant_k > 0) bytes += values / p.quant_k * q8_1_row_bytes(p.quant_k);
        return bytes;
    }
    std::int64_t bytes = (p.expert ? p.tokens : p.columns) * q8_1_row_bytes(p.k);
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        std::int64_t matrices = 1;
        if (p.expert) matrices = p.columns < m.experts ? p.columns : m.experts;
        bytes += matrices * m.rows * row_bytes(m.type, p.k) + 4 * p.columns * m.rows;
    }
    return bytes;
}

}  // namespace catena
