// mul_mat<W...>, mul_mat_id<W...> and group<...>: the matrices that read one activation. A group
// names kinds and formats, not members: any number of matrices of them, in any sequence, may stand
// in the graph. Float weights read its f32, all others what it was quantized to.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"
#include "catena/format/float_weights.hpp"

namespace CATENA_NAMESPACE::chain {

/// What a group of matrices means. Dense matrices belong to mul_mat, those with experts to
/// mul_mat_id.
template <stage_kind Kind>
struct mul_mat_stage {
    static constexpr bool by_expert = Kind == stage_kind::mul_mat_id;

    static void apply(evaluation& e, const stage& s) {
        e.out.products.resize(e.in.matrices.size());
        e.seconds.resize(e.in.matrices.size());
        for (std::size_t i = 0; i < e.in.matrices.size(); ++i) {
            const matrix& m = e.in.matrices[i];
            if ((m.experts != 0) != by_expert) continue;
            if (!s.formats.has(m.type))
                throw std::invalid_argument("reference: matrix " + std::to_string(i) + " is " +
                                            catena::name(m.type) +
                                            ", which the chain's group lacks");
            const auto product = by_expert ? expert : dense;
            e.out.products[i] = product(e, m, m.values);
            if (!m.up.empty()) e.seconds[i] = product(e, m, m.up);
        }
    }

  private:
    static std::vector<double> dense(const evaluation& e, const matrix& m,
                                     const std::vector<double>& values) {
        expect_elements("a dense matrix", values, e.in.k * m.rows);
        std::vector<double> product(static_cast<std::size_t>(m.rows * e.in.rows));
        for (std::int64_t column = 0; column < e.in.rows; ++column)
            multiply(m, e.in.k, values.data(), e.value.data() + column * e.in.k,
                     product.data() + column * m.rows);
        return product;
    }

    /// Experts that the chain itself has chosen read something else than the scores of that choice.
    static std::vector<double> expert(const evaluation& e, const matrix& m,
                                      const std::vector<double>& values) {
        const bool routed = !e.chosen.empty();
        const std::int64_t k = routed ? e.in.routed_k : e.in.k;
        const std::int64_t slots = routed ? e.in.routing.chosen : e.in.slots;
        const std::vector<double>& x = routed ? e.in.routed_x : e.value;
        expect_elements("an expert matrix", values, k * m.rows * m.experts);
        if (routed) expect_elements("what experts read", x, k * e.in.rows);
        const auto columns = static_cast<std::int64_t>(ids_of(e).size());
        std::vector<double> product(static_cast<std::size_t>(m.rows * columns));
        for (std::int64_t column = 0; column < columns; ++column) {
            const std::int64_t id = ids_of(e)[static_cast<std::size_t>(column)];
            if (id < 0 || id >= m.experts)
                throw std::invalid_argument("reference: id " + std::to_string(id) + " of column " +
                                            std::to_string(column) + " names none of the " +
                                            std::to_string(m.experts) + " experts");
            const std::int64_t token = column / slots, slot = column % slots;
            const std::int64_t x_row = token * e.in.x_slots + (e.in.x_slots == 1 ? 0 : slot);
            if (x_row >= e.in.rows)
                throw std::invalid_argument("reference: ids name more tokens than x has rows for");
            multiply(m, k, values.data() + id * m.rows * k, x.data() + x_row * k,
                     product.data() + column * m.rows);
        }
        return product;
    }

    static void multiply(const matrix& m, std::int64_t k, const double* values, const double* x,
                         double* product) {
        for (std::int64_t row = 0; row < m.rows; ++row) {
            const double* w = values + row * k;
            double dot = 0;
            for (std::int64_t i = 0; i < k; ++i) dot += w[i] * x[i];
            product[row] = dot;
        }
    }
};

template <stage_kind Kind, format... Ws>
struct mul_mat_op {
    static constexpr bool is_reader = true;
    static constexpr stage_kind kind = Kind;
    static constexpr int named = sizeof...(Ws);
    static constexpr stage lowered = {.formats = (format_set{} | ... | Ws)};

    static constexpr void spell(text& out) {
        const char* before = Kind == stage_kind::mul_mat ? "mul_mat<" : "mul_mat_id<";
        ((out << before << name(Ws), before = ", "), ...);
        out << ">";
    }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool once = !Before.passed.any(group_stages);
        constexpr bool of_weights = ((info(Ws).role == format_role::weight || is_float(Ws)) && ...);
        constexpr bool quantized = Before.behind(stage_kind::quantize);
        constexpr bool as_fp8 =
            !lowered.formats.has(format::fp8_e4m3) || !quantized || Before.engine_reads;
        constexpr bool routed = routes(Before.passed);
        constexpr bool activated = quantized || routed || (is_float(Ws) && ...);
        constexpr bool f32_there =
            Before.passed.without(stage_kind::quantize).empty() || Before.emitted.has(format::f32);
        constexpr bool in_f32 = f32_there || !(reads_f32(lowered.formats) ||
                                               (has_float_weights(lowered.formats) && !quantized));
        static_assert(once,
                      "catena: a chain ends with one group: put all its readers in one "
                      "group<mul_mat<W>...>");
        static_assert(!once || of_weights,
                      "catena: mul_mat<W> and mul_mat_id<W> take a weight format, such as q4_K, or "
                      "f32, f16 or bf16");
        static_assert(!once || as_fp8,
                      "catena: mul_mat<fp8_e4m3> reads f32 or fp8: put quantize<fp8_group> before "
                      "it");
        constexpr bool by_choice = !routed || Kind == stage_kind::mul_mat_id;
        constexpr bool of_blocks = !routed || !has_float_weights(lowered.formats);
        constexpr bool told = !routed || Before.emitted.has(format::f32);
        static_assert(!once || !of_weights || by_choice,
                      "catena: behind choose stand the matrices of experts: write mul_mat_id<W>");
        static_assert(
            !once || !of_weights || !by_choice || of_blocks,
            "catena: experts that their own launch chooses read q8_1: float weights stand "
            "behind no choose");
        static_assert(!once || !of_weights || !by_choice || !of_blocks || told,
                      "catena: other launches read the experts and their weights: put emit<f32> "
                      "before mul_mat_id<W>");
        static_assert(!once || !of_weights || activated,
                      "catena: mul_mat<W> reads an activation: put quantize<q8_1> before it");
        static_assert(!once || routed || in_f32,
                      "catena: mul_mat<W> of float weights reads f32: put emit<f32> before it");
        constexpr bool as_routed = by_choice && of_blocks && told;
        constexpr bool fits =
            once && of_weights && as_fp8 && activated && as_routed && (routed || in_f32);
        return fits ? Before.then(Kind) : refused;
    }
};

template <format W, format... More>
inline constexpr mul_mat_op<stage_kind::mul_mat, W, More...> mul_mat{};

template <format W, format... More>
inline constexpr mul_mat_op<stage_kind::mul_mat_id, W, More...> mul_mat_id{};

template <class T>
concept reader = requires {
    requires std::remove_const_t<T>::is_reader;
};

/// The formats of the readers of one kind.
template <stage_kind Kind, class... Readers>
constexpr format_set formats_of() {
    format_set all;
    ((all = Readers::kind == Kind ? all | Readers::lowered.formats : all), ...);
    return all;
}

/// One or two stages: the dense readers, then the expert readers.
template <class... Readers>
struct group_op {
    static constexpr stage dense = {.kind = stage_kind::mul_mat,
                                    .formats = formats_of<stage_kind::mul_mat, Readers...>()};
    static constexpr stage expert = {.kind = stage_kind::mul_mat_id,
                                     .formats = formats_of<stage_kind::mul_mat_id, Readers...>()};
    static constexpr stage lowered = dense.formats.empty() ? expert : dense;

    static constexpr void spell(text& out) {
        const char* before = "group<";
        ((out << before, before = ", ", Readers::spell(out)), ...);
        out << ">";
    }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool once =
            dense.formats.size() + expert.formats.size() == (Readers::named + ...);
        static_assert(once,
                      "catena: group<...> names each mul_mat<W> once: any number of matrices may "
                      "have that format");
        if constexpr (once)
            return after_all<Before, Readers...>();
        else
            return refused;
    }

  private:
    /// The rules of each reader, up to the first that is broken.
    template <flow Before, class First, class... Rest>
    static constexpr flow after_all() {
        constexpr flow next = First::template after<Before>();
        if constexpr (next.refused || sizeof...(Rest) == 0)
            return next;
        else
            return after_all<Before, Rest...>();
    }
};

template <auto... Readers>
constexpr auto make_group() {
    constexpr bool named = sizeof...(Readers) > 0;
    constexpr bool all_read = (reader<decltype(Readers)> && ...);
    static_assert(named, "catena: group<> is empty: name its readers, as in group<mul_mat<q4_K>>");
    static_assert(all_read, "catena: group<...> takes mul_mat<W> and mul_mat_id<W> only");
    if constexpr (named && all_read)
        return group_op<std::remove_const_t<decltype(Readers)>...>{};
    else
        return refused_op{};
}

template <auto... Readers>
inline constexpr auto group = make_group<Readers...>();

template <>
struct stage_meaning<stage_kind::mul_mat> : mul_mat_stage<stage_kind::mul_mat> {};
template <>
struct stage_meaning<stage_kind::mul_mat_id> : mul_mat_stage<stage_kind::mul_mat_id> {};

}  // namespace CATENA_NAMESPACE::chain
