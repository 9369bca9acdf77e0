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
#include "catena/chain/ops/rope.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::chain {

/// turned_heads: the outputs of a matrix are the heads of a token. What a head passes before
/// attention (rope, and store<F...>) the launch of the matrix does; the numbers of the turn are
/// operands of the launch.
struct turned_heads_op {
    static constexpr void spell(text& out) { out << "turned_heads"; }
};
inline constexpr turned_heads_op turned_heads{};

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
template <>
inline constexpr auto epilogue_part_of<turned_heads_op> = epilogue_set::of(epilogue_part::heads);

/// A product on its way, and that of the second matrix; which row they are of, and `which` matrix,
/// or dense which column.
struct product_value {
    double v, up;
    std::size_t which, row;
};

/// The numbers that a part reads for a product, and for that of the second matrix.
struct numbers_read {
    double v, up;
};

/// What the operand of a part has for a product; `none` where the matrix has no operand. There is
/// one vector or number for all, or one for each matrix, or for each dense column.
inline numbers_read read_by(epilogue_part part, const matrix& m, const product_value& p,
                            double none) {
    const auto number = [&](const std::vector<double>& all) {
        if (all.empty()) return none;
        const bool vector = info(part).reads == part_operand::vector;
        const std::size_t one = vector ? static_cast<std::size_t>(m.rows) : 1;
        const std::size_t first = all.size() == one ? 0 : p.which * one;
        return all[first + (vector ? p.row : 0)];
    };
    return {number(m[part].values), number(m[part].of_up)};
}

/// What a part of an epilogue does, in double: what becomes of one product (`apply`), and is it
/// `asked` of a matrix that has no operand for it.
struct idle_part {
    static bool asked(const matrix&) { return false; }
    static void apply(const matrix&, product_value&) {}
};
template <epilogue_part Part>
struct part_meaning;

template <>
struct part_meaning<epilogue_part::scale> : idle_part {
    static bool asked(const matrix& m) { return m.numbers.scale != 1; }
    static void apply(const matrix& m, product_value& p) { p.v *= double{m.numbers.scale}; }
};

template <>
struct part_meaning<epilogue_part::factor> : idle_part {
    static void apply(const matrix& m, product_value& p) {
        const numbers_read factor = read_by(epilogue_part::factor, m, p, 1);
        p.v *= factor.v;
        p.up *= factor.up;
    }
};

template <>
struct part_meaning<epilogue_part::bias> : idle_part {
    static void apply(const matrix& m, product_value& p) {
        const numbers_read bias = read_by(epilogue_part::bias, m, p, 0);
        p.v += bias.v;
        p.up += bias.up;
    }
};

template <>
struct part_meaning<epilogue_part::glu> : idle_part {
    static bool asked(const matrix& m) { return !m.up.empty(); }
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
    static void apply(const matrix& m, product_value& p) {
        if (m.up.empty()) p.v = gated(m.gated_by, p.v, 1);
    }
};

template <>
struct part_meaning<epilogue_part::own> : idle_part {
    static bool asked(const matrix& m) { return m.own.own != nullptr; }
    static void apply(const matrix& m, product_value& p) { p.v = gated(m.own, p.v, 1); }
};

/// The sum over slots and the residual are of whole columns: epilogue_stage adds them up.
template <>
struct part_meaning<epilogue_part::combine> : idle_part {
    static bool asked(const matrix& m) { return m.combined; }
};

template <>
struct part_meaning<epilogue_part::residual> : idle_part {};

/// The reference rounds nothing.
template <>
struct part_meaning<epilogue_part::quantize> : idle_part {};

/// A turn is of whole heads: epilogue_stage makes it.
template <>
struct part_meaning<epilogue_part::heads> : idle_part {
    static bool asked(const matrix& m) { return m.head > 0 || m.head_scale != 1; }
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
        const bool given = !m[part].values.empty() || !m[part].of_up.empty();
        if (given || meaning.asked(m)) parts = parts | part;
    });
    return parts;
}

struct epilogue_stage {
    static void apply(evaluation& e, const stage&) {
        for (std::size_t i = 0; i < e.in.matrices.size(); ++i)
            finish(e, e.in.matrices[i], e.out.products[i], e.seconds[i]);
    }

  private:
    /// `sums`: the elements of the result.
    static void expect_operands(const matrix& m, std::int64_t sums) {
        const std::int64_t several = m.experts != 0 ? m.experts : sums / m.rows;
        for (const epilogue_part part : all_epilogue_parts) {
            const part_operand kind = info(part).reads;
            const std::int64_t one = kind == part_operand::vector ? m.rows : 1;
            const std::int64_t wanted = kind == part_operand::result ? sums : one * several;
            for (const std::vector<double>* given : {&m[part].values, &m[part].of_up}) {
                const bool dense = m.experts == 0 || kind == part_operand::number;
                const bool shared = dense && std::ssize(*given) == one;
                if (!given->empty() && !shared) expect_elements(name(part), *given, wanted);
            }
        }
    }

    /// `second`: the products of m.up.
    static void finish(const evaluation& e, const matrix& m, std::vector<double>& product,
                       const std::vector<double>& second) {
        const auto count = static_cast<std::int64_t>(product.size());
        expect_operands(m, m.combined ? count / e.in.slots : count);
        for (std::size_t i = 0; i < product.size(); ++i) {
            const std::size_t rows = static_cast<std::size_t>(m.rows), column = i / rows;
            const auto which =
                m.experts != 0 ? static_cast<std::size_t>(ids_of(e)[column]) : column;
            product_value p = {product[i], m.up.empty() ? 1 : second[i], which, i % rows};
            each_part([&](epilogue_part, auto meaning) { meaning.apply(m, p); });
            product[i] = p.v;
        }
        if (m.combined) combine(e, m, product);
        const std::vector<double>& residual = m[epilogue_part::residual].values;
        for (std::size_t i = 0; i < residual.size(); ++i) product[i] += residual[i];
        if (m.head > 0) turn_heads(e.in, m.head, m.rows / m.head, product);
        for (double& v : product) v *= m.head_scale;
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
    static constexpr stage lowered = {.parts = (epilogue_set{} | ... | epilogue_part_of<Parts>)};

    static constexpr void spell(text& out) {
        const char* before = "epilogue<";
        ((out << before, before = ", ", Parts::spell(out)), ...);
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
        constexpr bool alone = !has_heads(lowered.parts) || parts_of_heads.contains(lowered.parts);
        static_assert(!once || !of_group || sums || alone,
                      "catena: outputs that are heads get a bias, and nothing else: write "
                      "epilogue<add(bias), turned_heads>");
        return once && of_group && !sums && alone ? Before.then(stage_kind::epilogue) : refused;
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
                  "combine, add(residual), quantize<q8_1> and turned_heads only");
    static_assert(ordered,
                  "catena: epilogue<...> names each part once, in the order in which they happen: "
                  "mul(scale), mul(factor), add(bias), glu, act, own, combine, add(residual), "
                  "quantize<q8_1>, turned_heads");
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
