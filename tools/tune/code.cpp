#include "code.hpp"

#include "catena/pick/cost/code.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace catena::tune {

namespace {

// Regression over the machine code of 319 policies of q4_K, q5_K, q6_K, q8_0, mxfp4 and f32 that
// nvcc 13.0 compiled for sm_90. Instructions come to 0.9 to 1.1 times it, cycles to 0.85 to 1.15.
// They are taken for issues: most of what it counts is not integer.

/// What a stage takes beside its product.
constexpr double fixed_instructions = 80, fixed_cycles = 300;
/// What a row takes that a warp brings: as one bulk copy, or for each 16 bytes of its lanes.
constexpr double bulk_instructions = 11, bulk_cycles = 51, chunk_instructions = 5.6,
                 chunk_cycles = 25;
/// What a step of dp4a or fma with one column takes beside its rows.
constexpr double step_instructions = 21, step_cycles = 59;

struct counts {
    double instructions = 0, cycles = 0;
};

/// What a step takes for its columns.
counts of_columns(const matvec_policy& n) {
    if (n.product == inner_product::mma) return {};
    const detail::column_code column = detail::code_of_column(n.product, n.rows);
    return {step_instructions + (n.columns - 1) * column.instructions,
            step_cycles + (n.columns - 1) * column.cycles};
}

counts result_of(const matvec_policy& n) {
    if (n.product == inner_product::mma) return n.slices > 0 ? counts{141, 716} : counts{378, 2044};
    const double rows = n.rows, others = n.columns - 1;
    return {65 + 7 * rows + others * (5 + 6 * rows), 530 + 3 * rows + 15 * others * rows};
}

counts filling_of(const matvec_policy& n, format weights) {
    const double brought = static_cast<double>(n.rows) / warp_slices(n);
    if (n.copy == copy_method::bulk) return {bulk_instructions * brought, bulk_cycles * brought};
    const auto bytes = static_cast<double>(row_bytes(weights, stage_values(n)));
    const double chunks = brought * detail::units(bytes, warp_size * 16);
    return {chunk_instructions * chunks, chunk_cycles * chunks};
}

double steps_of(const matvec_policy& n) {
    return static_cast<double>(n.piece) / static_cast<double>(detail::product_values(n));
}

/// What a stage of `n` multiplies with, if one of `known` takes `code`: each row of a step takes
/// the same.
counts product_of(const matvec_policy& n, const matvec_policy& known, const warp_code& code) {
    counts step = {code.product_issues / steps_of(known), code.product_cycles / steps_of(known)};
    if (n.product != inner_product::mma) {
        const counts there = of_columns(known), here = of_columns(n);
        const double rows = static_cast<double>(n.rows) / known.rows;
        step = {here.instructions + std::max(0.0, step.instructions - there.instructions) * rows,
                here.cycles + std::max(0.0, step.cycles - there.cycles) * rows};
    }
    return {step.instructions * steps_of(n), step.cycles * steps_of(n)};
}

warp_code like(const matvec_policy& n, const matvec_policy& known, const warp_code& code,
               format weights) {
    if (code.stage_issues == 0) return {};
    const auto whole = [](double x) { return static_cast<int>(std::lround(x)); };
    const counts product = product_of(n, known, code), result = result_of(n),
                 filling = filling_of(n, weights);
    return {.stage_issues = whole(product.instructions + fixed_instructions + filling.instructions),
            .stage_cycles = whole(product.cycles + fixed_cycles + filling.cycles),
            .result_issues = whole(result.instructions),
            .result_cycles = whole(result.cycles),
            .product_issues = whole(product.instructions),
            .product_cycles = whole(product.cycles)};
}

/// Less for a policy whose code is more alike.
auto distance(const matvec_policy& a, const matvec_policy& b) {
    const auto ratio = [](int x, int y) { return std::abs(std::log(static_cast<double>(x) / y)); };
    return std::make_tuple(a.activation != b.activation, a.placement != b.placement,
                           ratio(a.rows, b.rows), ratio(a.columns, b.columns));
}

}  // namespace

warp_codes code_like(const row& r, const std::vector<row>& recorded) {
    if (r.policy.kind() != skeleton::matvec || r.code.of[0].stage_issues > 0) return r.code;
    const matvec_policy& n = r.policy.matvec();
    const row* nearest = nullptr;
    for (const row& known : recorded) {
        if (known.policy.kind() != skeleton::matvec || known.code.of[0].stage_issues == 0 ||
            known.computes.product().weights != r.computes.product().weights)
            continue;
        if (known.policy == r.policy && known.computes == r.computes) return known.code;
        const matvec_policy& m = known.policy.matvec();
        if (m.product != n.product) continue;
        if (nearest == nullptr || distance(m, n) < distance(nearest->policy.matvec(), n))
            nearest = &known;
    }
    warp_codes out;
    if (nearest == nullptr) return out;
    int i = 0;
    for (const format f : r.computes.product().weights) {
        if (i > 1) break;
        out.of[i] = like(n, nearest->policy.matvec(), nearest->code.of[i], f);
        ++i;
    }
    return out;
}

}  // namespace catena::tune
