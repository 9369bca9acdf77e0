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

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

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

/// What a member's epilogue goes through in the model of costs.
struct output_size {
    std::int64_t k = 0, rows = 0;            ///< of one matrix
    std::int64_t matrices = 1, columns = 0;  ///< matrices that are read, columns of their products
    std::int64_t pair = 1;                   ///< 2: each has a second one, for a GLU
    std::int64_t sums = 0;                   ///< columns of the result
    format type = format::unknown;

    constexpr std::int64_t products() const { return rows * columns; }
    constexpr std::int64_t results() const { return rows * sums; }
};

/// A product on its way, and that of the second matrix; `which` matrix and which row they are of.
struct product_value {
    double v, up;
    std::size_t which, row;
};

/// What a part of an epilogue does, in double: is it `asked` of a matrix, what does it compute for
/// a member (`count`; what it reads follows from its operand), and what becomes of one product
/// (`apply`).
struct idle_part {
    static bool asked(const matrix&) { return false; }
    static constexpr work count(const output_size&) { return {}; }
    static void apply(const matrix&, product_value&) {}
};
template <epilogue_part Part>
struct part_meaning;

template <>
struct part_meaning<epilogue_part::scale> : idle_part {
    static bool asked(const matrix& m) { return m.numbers.scale != 1; }
    static constexpr work count(const output_size& n) { return {.operations = n.products()}; }
    static void apply(const matrix& m, product_value& p) { p.v *= double{m.numbers.scale}; }
};

template <>
struct part_meaning<epilogue_part::factor> : idle_part {
    static bool asked(const matrix& m) { return !m.factor.empty() || !m.up_factor.empty(); }
    static constexpr work count(const output_size& n) {
        return {.operations = n.products() * n.pair};
    }
    static void apply(const matrix& m, product_value& p) {
        p.v *= of_matrix(m.factor, p.which);
        p.up *= of_matrix(m.up_factor, p.which);
    }

  private:
    /// One factor for all matrices, or one for each.
    static double of_matrix(const std::vector<double>& factors, std::size_t which) {
        if (factors.empty()) return 1;
        return factors.size() == 1 ? factors.front() : factors[which];
    }
};

template <>
struct part_meaning<epilogue_part::bias> : idle_part {
    static bool asked(const matrix& m) { return !m.bias.empty() || !m.up_bias.empty(); }
    static constexpr work count(const output_size& n) {
        return {.operations = n.products() * n.pair};
    }
    static void apply(const matrix& m, product_value& p) {
        const std::size_t at = p.which * static_cast<std::size_t>(m.rows) + p.row;
        if (!m.bias.empty()) p.v += m.bias[at];
        if (!m.up_bias.empty()) p.up += m.up_bias[at];
    }
};

template <>
struct part_meaning<epilogue_part::glu> : idle_part {
    static bool asked(const matrix& m) { return !m.up.empty(); }
    static constexpr work count(const output_size& n) {
        return {.read = row_bytes(n.type, n.k) * n.rows * n.matrices,
                .operations = (2 * n.k + gate_operations) * n.products()};
    }
    static void apply(const matrix& m, product_value& p) {
        if (!m.up.empty()) p.v = gated(m.gated_by, p.v, p.up);
    }
};

template <>
struct part_meaning<epilogue_part::act> : idle_part {
    static bool asked(const matrix& m) {
        return m.up.empty() &&
               (m.gated_by.function != gate_function::none || m.gated_by.own != nullptr);
    }
    static constexpr work count(const output_size& n) {
        return {.operations = gate_operations * n.products()};
    }
    static void apply(const matrix& m, product_value& p) {
        if (m.up.empty()) p.v = gated(m.gated_by, p.v, 1);
    }
};

template <>
struct part_meaning<epilogue_part::own> : idle_part {
    static bool asked(const matrix& m) { return m.own.own != nullptr; }
    static constexpr work count(const output_size& n) {
        return {.operations = gate_operations * n.products()};
    }
    static void apply(const matrix& m, product_value& p) { p.v = gated(m.own, p.v, 1); }
};

/// The sum over slots and the residual are of whole columns: epilogue_stage adds them up.
template <>
struct part_meaning<epilogue_part::combine> : idle_part {
    static bool asked(const matrix& m) { return m.combined; }
    static constexpr work count(const output_size& n) {
        return {.read = n.columns * 4, .operations = 2 * n.products()};
    }
};

template <>
struct part_meaning<epilogue_part::residual> : idle_part {
    static bool asked(const matrix& m) { return !m.residual.empty(); }
    static constexpr work count(const output_size& n) { return {.operations = n.results()}; }
};

template <>
struct part_meaning<epilogue_part::quantize> : idle_part {
    static constexpr work count(const output_size& n) {
        return {.written = q8_1_row_bytes(n.rows) * n.sums, .operations = 4 * n.results()};
    }
};

/// Calls `visit` with the meaning of each part, in their order.
template <class Visit>
constexpr void each_part(const Visit& visit) {
    [&]<int... Parts>(std::integer_sequence<int, Parts...>) {
        (visit(static_cast<epilogue_part>(Parts),
               part_meaning<static_cast<epilogue_part>(Parts)>()),
         ...);
    }
    (std::make_integer_sequence<int, epilogue_part_count>());
}

/// The parts of an epilogue that a matrix asks for.
inline epilogue_set asked_parts(const matrix& m) {
    epilogue_set parts;
    each_part([&](epilogue_part part, auto meaning) {
        if (meaning.asked(m)) parts = parts | part;
    });
    return parts;
}

struct epilogue_stage {
    static constexpr stage_kind kind = stage_kind::epilogue;

    static void apply(evaluation& e, const stage&) {
        for (std::size_t i = 0; i < e.in.matrices.size(); ++i)
            finish(e, e.in.matrices[i], e.out.products[i], e.seconds[i]);
    }

    static constexpr work count(const stage&, const sizes& n) {
        work total;
        for (const matrix_size& m : n.matrices) {
            const bool experts = m.experts_read != 0;
            output_size of = {.k = n.k, .rows = m.rows, .type = m.type};
            of.matrices = experts ? m.experts_read : 1;
            of.columns = experts ? n.columns : n.rows;
            of.pair = m.epilogue.has(epilogue_part::glu) ? 2 : 1;
            of.sums = m.epilogue.has(epilogue_part::combine) ? of.columns / n.slots : of.columns;
            each_part([&](epilogue_part part, auto meaning) {
                if (!m.epilogue.has(part)) return;
                total += meaning.count(of);
                total.read += 4 * operand_values(info(part).reads, of);
            });
        }
        return total;
    }

  private:
    static constexpr std::int64_t operand_values(part_operand kind, const output_size& n) {
        switch (kind) {
            case part_operand::none:
                return 0;
            case part_operand::number:
                return n.matrices * n.pair;
            case part_operand::vector:
                return n.rows * n.matrices * n.pair;
            case part_operand::result:
                return n.results();
        }
        return 0;
    }

    /// `second`: the products of m.up.
    static void finish(const evaluation& e, const matrix& m, std::vector<double>& product,
                       const std::vector<double>& second) {
        const auto count = static_cast<std::int64_t>(product.size());
        const std::int64_t biases = m.rows * (m.experts != 0 ? m.experts : 1);
        if (!m.bias.empty()) expect_elements("a matrix's bias", m.bias, biases);
        if (!m.up_bias.empty()) expect_elements("a matrix's up_bias", m.up_bias, biases);
        const std::int64_t sums = m.combined ? count / e.in.slots : count;
        if (!m.residual.empty()) expect_elements("a matrix's residual", m.residual, sums);
        for (std::size_t i = 0; i < product.size(); ++i) {
            const std::size_t rows = static_cast<std::size_t>(m.rows), column = i / rows;
            const auto which =
                m.experts != 0 ? static_cast<std::size_t>(ids_of(e)[column]) : std::size_t{0};
            product_value p = {product[i], m.up.empty() ? 1 : second[i], which, i % rows};
            each_part([&](epilogue_part, auto meaning) { meaning.apply(m, p); });
            product[i] = p.v;
        }
        if (m.combined) combine(e, m, product);
        for (std::size_t i = 0; i < m.residual.size(); ++i) product[i] += m.residual[i];
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
