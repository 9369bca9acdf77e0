// epilogue<...>: what the launch of a group may do with a finished output before writing it. Its
// parts are ops of the language, listed in the order in which they happen; each matrix of a launch
// uses those that it has operands for.
#pragma once

#include "catena/chain/ops/add.hpp"
#include "catena/chain/ops/combine.hpp"
#include "catena/chain/ops/glu.hpp"
#include "catena/chain/ops/mul.hpp"
#include "catena/chain/ops/own.hpp"
#include "catena/chain/ops/quantize.hpp"
#include "catena/format/rows.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::chain {

/// The part of an epilogue that an op is; empty if none.
template <class Op>
inline constexpr epilogue_set epilogue_part_of{};
template <>
inline constexpr auto epilogue_part_of<mul_op<operand::scale>> =
    epilogue_set::of(epilogue_part::scale);
template <>
inline constexpr auto epilogue_part_of<mul_op<operand::factor>> =
    epilogue_set::of(epilogue_part::factor);
template <>
inline constexpr auto epilogue_part_of<add_op<operand::bias>> =
    epilogue_set::of(epilogue_part::bias);
template <>
inline constexpr auto epilogue_part_of<glu_op> = epilogue_set::of(epilogue_part::glu);
template <>
inline constexpr auto epilogue_part_of<act_op> = epilogue_set::of(epilogue_part::act);
template <>
inline constexpr auto epilogue_part_of<own_stage> = epilogue_set::of(epilogue_part::own);
template <>
inline constexpr auto epilogue_part_of<combine_op> = epilogue_set::of(epilogue_part::combine);
template <>
inline constexpr auto epilogue_part_of<add_op<operand::residual>> =
    epilogue_set::of(epilogue_part::residual);
template <>
inline constexpr auto epilogue_part_of<quantize_op<format::q8_1>> =
    epilogue_set::of(epilogue_part::quantize);

struct epilogue_stage {
    static constexpr stage_kind kind = stage_kind::epilogue;

    static void apply(evaluation& e, const stage&) {
        for (std::size_t i = 0; i < e.in.matrices.size(); ++i)
            finish(e, e.in.matrices[i], e.out.products[i], e.seconds[i]);
    }

    static constexpr work count(const stage&, const sizes& n) {
        work total;
        for (const matrix_size& m : n.matrices) {
            const std::int64_t columns = m.experts_read != 0 ? n.columns : n.rows;
            const std::int64_t matrices = m.experts_read != 0 ? m.experts_read : 1;
            const std::int64_t outputs = m.rows * columns;
            const bool pair = m.epilogue.has(epilogue_part::glu);
            if (m.epilogue.has(epilogue_part::scale)) total.operations += outputs;
            if (m.epilogue.has(epilogue_part::factor)) {
                total.read += matrices * (pair ? 2 : 1) * 4;
                total.operations += outputs * (pair ? 2 : 1);
            }
            if (m.epilogue.has(epilogue_part::bias)) {
                total.read += m.rows * matrices * (pair ? 2 : 1) * 4;
                total.operations += outputs * (pair ? 2 : 1);
            }
            if (pair) {
                total.read += row_bytes(m.type, n.k) * m.rows * matrices;
                total.operations += (2 * n.k + gate_operations) * outputs;
            }
            if (m.epilogue.has(epilogue_part::act)) total.operations += gate_operations * outputs;
            if (m.epilogue.has(epilogue_part::own)) total.operations += gate_operations * outputs;
            const bool combined = m.epilogue.has(epilogue_part::combine);
            if (combined) {
                total.read += columns * 4;
                total.operations += 2 * outputs;
            }
            const std::int64_t sums = combined ? columns / n.slots : columns;
            if (m.epilogue.has(epilogue_part::residual)) {
                total.read += m.rows * sums * 4;
                total.operations += m.rows * sums;
            }
            if (m.epilogue.has(epilogue_part::quantize)) {
                total.written += q8_1_row_bytes(m.rows) * sums;
                total.operations += 4 * m.rows * sums;
            }
        }
        return total;
    }

  private:
    /// `second`: the products of m.up.
    static void finish(const evaluation& e, const matrix& m, std::vector<double>& product,
                       const std::vector<double>& second) {
        const auto count = static_cast<std::int64_t>(product.size());
        const std::int64_t biases = m.rows * (m.experts != 0 ? m.experts : 1);
        if (!m.bias.empty()) expect_elements("a matrix's bias", m.bias, biases);
        if (!m.up_bias.empty()) expect_elements("a matrix's up_bias", m.up_bias, biases);
        const std::int64_t sums = m.combined ? count / e.in.slots : count;
        if (!m.residual.empty()) expect_elements("a matrix's residual", m.residual, sums);
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t column = i / m.rows;
            const std::int64_t which =
                m.experts != 0 ? ids_of(e)[static_cast<std::size_t>(column)] : 0;
            const auto at = static_cast<std::size_t>(i);
            const auto bias_at = static_cast<std::size_t>(which * m.rows + i % m.rows);
            double value = product[at] * m.scale * of_matrix(m.factor, which);
            if (!m.bias.empty()) value += m.bias[bias_at];
            if (!m.up.empty())
                value = gated(m.gated_by, value,
                              second[at] * of_matrix(m.up_factor, which) +
                                  (m.up_bias.empty() ? 0 : m.up_bias[bias_at]));
            else
                value = gated(m.gated_by, value, 1);
            product[at] = gated(m.own, value, 1);
        }
        if (m.combined) combine(e, m, product);
        for (std::size_t i = 0; i < m.residual.size(); ++i) product[i] += m.residual[i];
    }

    /// The factor of a matrix among those that a member has.
    static double of_matrix(const std::vector<double>& factors, std::int64_t which) {
        if (factors.empty()) return 1;
        return factors.size() == 1 ? factors.front() : factors[static_cast<std::size_t>(which)];
    }

    static void combine(const evaluation& e, const matrix& m, std::vector<double>& product) {
        const auto rows = static_cast<std::size_t>(m.rows);
        const auto slots = static_cast<std::size_t>(e.in.slots);
        const std::size_t columns = product.size() / rows;
        const std::vector<double>& weights = e.in.expert_weights;
        if (!weights.empty())
            expect_elements("expert_weights", weights, static_cast<std::int64_t>(columns));
        std::vector<double> sums(product.size() / slots);
        for (std::size_t c = 0; c < columns; ++c)
            for (std::size_t r = 0; r < rows; ++r)
                sums[c / slots * rows + r] +=
                    product[c * rows + r] * (weights.empty() ? 1 : weights[c]);
        product = std::move(sums);
    }
};

template <class... Parts>
struct epilogue_op {
    static constexpr bool is_op = true;
    static constexpr stage lowered = {.parts = (epilogue_set{} | ... | epilogue_part_of<Parts>)};

    static constexpr void spell(text& out) {
        out << "epilogue<";
        bool first = true;
        ((out << (first ? "" : ", "), first = false, Parts::spell(out)), ...);
        out << ">";
    }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool once = !Before.passed.has(stage_kind::epilogue);
        constexpr bool of_group = Before.passed.any(group_stages);
        static_assert(once, "catena: a chain has one epilogue<...>: name all its parts in it");
        static_assert(of_group,
                      "catena: epilogue<...> finishes the outputs of matrices: put it behind "
                      "mul_mat<W> or group<mul_mat<W>...>");
        constexpr bool sums = routes(Before.passed) && lowered.parts.has(epilogue_part::combine);
        static_assert(!once || !of_group || !sums,
                      "catena: the launch that chooses experts does not add them up: put combine "
                      "behind the matrices that come last");
        return once && of_group && !sums ? Before.then(stage_kind::epilogue) : refused;
    }
};

/// The order of a kernel is that of epilogue_part, so a chain may state no other.
template <class... Parts>
constexpr bool in_order() {
    unsigned last = 0;
    bool rising = true;
    ((rising = rising && epilogue_part_of<Parts>.bits > last, last = epilogue_part_of<Parts>.bits),
     ...);
    return rising;
}

template <auto... Parts>
constexpr auto make_epilogue() {
    constexpr bool named = sizeof...(Parts) > 0;
    constexpr bool known = (!epilogue_part_of<std::remove_const_t<decltype(Parts)>>.empty() && ...);
    constexpr bool ordered = !known || in_order<std::remove_const_t<decltype(Parts)>...>();
    static_assert(named, "catena: epilogue<> is empty: name its parts, as in epilogue<add(bias)>");
    static_assert(known,
                  "catena: epilogue<...> takes mul(scale), mul(factor), add(bias), glu, act, own, "
                  "combine, add(residual) and quantize<q8_1> only");
    static_assert(ordered,
                  "catena: epilogue<...> names each part once, in the order in which they happen: "
                  "mul(scale), mul(factor), add(bias), glu, act, own, combine, add(residual), "
                  "quantize<q8_1>");
    if constexpr (named && known && ordered)
        return epilogue_op<std::remove_const_t<decltype(Parts)>...>{};
    else
        return refused_op{};
}

template <auto... Parts>
inline constexpr auto epilogue = make_epilogue<Parts...>();

template <>
struct stage_meaning<stage_kind::epilogue> : epilogue_stage {};

}  // namespace CATENA_NAMESPACE::chain
