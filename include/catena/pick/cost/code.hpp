// What a matvec's machine code costs a warp: counted, if the row is on record
// (evidence/warp_code.hpp), and else a usual number.
#pragma once

#include "catena/pick/cost/terms.hpp"

namespace CATENA_NAMESPACE::detail {

/// Values of a row that a warp multiplies at a step of its product, whether they are there or not.
constexpr std::int64_t product_values(const matvec_policy& n) {
    return n.product == inner_product::dp4a  ? warp_values / rows_abreast(n)
           : n.product == inner_product::fma ? step_floats
                                             : 4 * 32;
}

/// Values of a row whose columns a warp waits for at once.
constexpr std::int64_t awaited_values(const matvec_policy& n) {
    return product_values(n) * steps_in_flight(n);
}

/// What a warp issues for the pieces of a row, in issues or in cycles: a last piece has the
/// product's steps for the values that are there, and all else.
constexpr double of_pieces(const matvec_policy& n, std::int64_t k, double stage, double product) {
    const std::int64_t pieces = quotient(k + n.piece - 1, n.piece);
    const std::int64_t step = product_values(n), steps = quotient(k + step - 1, step);
    return static_cast<double>(pieces) * (stage - product) +
           static_cast<double>(steps * step) / n.piece * product;
}

/// What each further column of a step takes: dp4a loads it and multiplies it with every row, fma
/// too. Regression over the machine code of 319 policies of q4_K, q5_K, q6_K, q8_0 and f32 on
/// sm_90, which take 0.9 to 1.1 times that. A matvec by mma multiplies four columns at the price of
/// one, and the next four again: a quarter of what these take, which is 55 to 75 instructions and
/// 155 to 210 cycles on sm_90 (mxfp4 22, since the integer pipe limits it).
struct column_code {
    double instructions = 0, cycles = 0;
};
constexpr column_code code_of_column(inner_product product, int rows) {
    switch (product) {
        case inner_product::dp4a:
            return {21.0 + 12 * rows, 100.0 + 17 * rows};
        case inner_product::fma:
            return {7.0 + 10 * rows, 12.0 + 51 * rows};
        case inner_product::mma:
            return {13, 39};
    }
    return {};
}

/// Instructions of a warp for each 32 bytes of weights of a row that is not on record, with one
/// column: a usual number of the formats that most models have (docs/kernels/compiled.md).
constexpr double usual_issues(inner_product product, format_set weights) {
    switch (product) {
        case inner_product::dp4a:
            return 6.7;
        case inner_product::mma:
            return 7.5;
        case inner_product::fma:
            return weights.has(format::fp8_e4m3) ? 7.5 : 3.2;
    }
    return 0;
}

/// A warp's code if nobody has counted it. It stalls about two cycles for each instruction.
constexpr warp_code usual_code(const row& r, format weights) {
    const matvec_policy& n = r.policy.matvec();
    const double bytes = static_cast<double>(row_bytes(weights, n.piece)) * n.rows;
    const double steps = static_cast<double>(n.piece) / static_cast<double>(product_values(n));
    const column_code column = code_of_column(n.product, n.rows);
    const int at_once = n.product == inner_product::mma ? halved_columns : 1;
    const double product = bytes / 32 * usual_issues(n.product, r.computes.product().weights) +
                           (n.columns - at_once) * steps * column.instructions;
    warp_code out;
    out.product_issues = static_cast<int>(product);
    out.product_cycles = 2 * out.product_issues;
    out.stage_issues = out.product_issues + 90;
    out.stage_cycles = out.product_cycles + 400;
    out.result_issues = n.product == inner_product::mma ? 378 : 65 + 7 * n.rows;
    out.result_cycles = n.product == inner_product::mma ? 2044 : 550;
    return out;
}

/// The counts of a row's code for weights of a format. A third one counts as the first.
constexpr warp_code code_for(const row& r, format weights) {
    int i = 0;
    for (const format f : r.computes.product().weights) {
        if (f == weights) break;
        ++i;
    }
    const warp_code& counted = r.code.of[i == 1 ? 1 : 0];
    return counted.stage_issues > 0 ? counted : usual_code(r, weights);
}

/// The same, with so many columns that a weight meets: steps for others are left out.
constexpr warp_code code_for_columns(const row& r, format weights, std::int64_t columns,
                                     const cost_constants& c) {
    const matvec_policy& n = r.policy.matvec();
    warp_code code = code_for(r, weights);
    if (n.product == inner_product::mma) {
        // Rows of any alignment are counted with four.
        if (c.on_record || n.activation == activation_source::global) return code;
        columns = columns > halved_columns ? mma_columns : halved_columns;
    }
    if (columns >= n.columns) return code;
    const double steps = static_cast<double>(n.piece) / static_cast<double>(product_values(n));
    const column_code column = code_of_column(n.product, n.rows);
    const auto left_out = [&](int& stage, int& product, double of_column) {
        const double most = 0.9 * product;
        const double gone = static_cast<double>(n.columns - columns) * steps * of_column;
        const int less = static_cast<int>(gone < most ? gone : most);
        stage -= less;
        product -= less;
    };
    left_out(code.stage_issues, code.product_issues, column.instructions);
    left_out(code.stage_cycles, code.product_cycles, column.cycles);
    return code;
}

}  // namespace CATENA_NAMESPACE::detail
