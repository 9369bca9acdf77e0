// A gated value, f(gate) * x, as graphs spell it. `Rewrite A to B` above a rule says which nodes A
// are the gated value B. Names in capitals are ggml's ops.
#pragma once

#include "catena/match/detail/state.hpp"
#include "catena/match/detail/value.hpp"

namespace CATENA_NAMESPACE {

struct gated {
    obstacle why;
    std::int32_t unary = -1;  ///< position of the UNARY whose only reader is the MUL or SQR, or -1
    std::int32_t copy = -1;   ///< position of the CONT that copies the gate for f alone, or -1
    row_operand x = {}, gate = {};
    gate_function function = gate_function::none;
    float alpha = 0, limit = 0;

    void take(const own_call& f) {
        function = f.function;
        alpha = f.with.a;
        limit = f.with.b;
    }

    /// A plain product has no f.
    bool product() const { return !why.found() && function == gate_function::none; }
    /// Are the gate and x the two halves of each row of one tensor?
    bool halves() const { return gate.tensor == x.tensor && gate.offset != x.offset; }
};

constexpr gate_function function_of(sub_op s) {
    switch (s) {
        case sub_op::silu:
        case sub_op::swiglu:
            return gate_function::silu;
        case sub_op::sigmoid:
            return gate_function::sigmoid;
        case sub_op::gelu:
        case sub_op::geglu:
            return gate_function::gelu;
        case sub_op::gelu_erf:
        case sub_op::geglu_erf:
            return gate_function::gelu_erf;
        case sub_op::gelu_quick:
        case sub_op::geglu_quick:
            return gate_function::gelu_quick;
        case sub_op::relu:
        case sub_op::reglu:
            return gate_function::relu;
        case sub_op::swiglu_oai:
            return gate_function::swiglu_oai;
        default:
            return gate_function::none;
    }
}

/// The engine's own op that node `position` computes, or one without a function if it computes
/// none. A node that Catena knows is never an own op.
inline own_call own_op_at(const graph_index& g, std::int32_t position) {
    const tensor& t = g.view.node(position);
    const bool open = t.kind == op::other || t.kind == op::clamp || t.kind == op::sqrt ||
                      (t.kind == op::unary && function_of(t.sub) == gate_function::none);
    return g.ops != nullptr && open ? g.ops->of(t) : own_call{};
}

/// The function of a UNARY, Catena's or the engine's own.
inline own_call function_at(const graph_index& g, std::int32_t position) {
    const tensor& t = g.view.node(position);
    if (t.kind != op::unary) return {};
    const gate_function known = function_of(t.sub);
    return known == gate_function::none ? own_op_at(g, position) : own_call{known, {}};
}

namespace detail {

/// The byte of each row of `whole` at which `name` begins, if it is the first or the second half of
/// all rows. -1: it is neither.
inline std::int64_t place_of_half(const graph_index& g, std::int32_t name, std::int32_t whole) {
    const tensor &half = g.view.at(name), &all = g.view.at(whole);
    bool fits = half.type == format::f32 && all.type == format::f32 &&
                all.ne[0] == 2 * half.ne[0] && same_rows(all, half) && half.nb[0] == all.nb[0];
    for (int d = 1; d < 4; ++d) fits = fits && (half.ne[d] == 1 || half.nb[d] == all.nb[d]);
    const std::int64_t before = fits ? offset_in(g, name, whole) : -1;
    return before == 0 || before == half.ne[0] * 4 ? before : -1;
}

/// Reads a gate and x that are views of the two halves of a tensor's rows as a GLU of that tensor
/// would.
inline void read_halves(const graph_index& g, gated& v) {
    const std::int32_t whole = g.root(v.gate.tensor);
    if (whole == v.gate.tensor || whole != g.root(v.x.tensor)) return;
    const std::int64_t gate = place_of_half(g, v.gate.tensor, whole),
                       x = place_of_half(g, v.x.tensor, whole);
    if (gate < 0 || x < 0 || gate == x) return;
    const row_strides rows = strides_of(g.view.at(whole));
    v.gate = {whole, gate, rows}, v.x = {whole, x, rows};
}

/// Rewrite GLU(gate, x) to f(gate) * x, and GLU(ab) to f(a) * b, where a and b are the halves of
/// each row. op_params[1] swaps the halves. Rewrite GLU(VIEW(ab), VIEW(ab)) in the same way if the
/// views are the two halves.
inline gated glu_of(const graph_index& g, std::int32_t position) {
    const graph_view& view = g.view;
    const tensor& t = view.node(position);
    const bool halves = t.src[1] == no_tensor;
    if (const obstacle f = node_fits(g, position, halves ? 1 : 2); f.found()) return {f};
    gated out;
    out.function = function_of(t.sub);
    const bool bounded = out.function == gate_function::swiglu_oai;
    if (out.function == gate_function::none ||
        (bounded && !(finite(t.params[2]) && finite_from_zero(t.params[3]))))
        return {{position, reason::gate_function_unknown}};
    if (bounded) {
        out.alpha = float_of(t.params[2]);
        out.limit = float_of(t.params[3]);
    }
    const tensor& first = view.at(t.src[0]);
    const bool fits = halves ? first.ne[0] == 2 * t.ne[0] && same_rows(first, t)
                             : same_shape(first, t) && same_shape(view.at(t.src[1]), t);
    if (!fits) return {{position, reason::gate_shape}};
    for (int s = 0; s < (halves ? 1 : 2) && !out.why.found(); ++s)
        out.why = rows_fit(g, position, t.src[s]);
    out.gate = {t.src[0], 0, strides_of(first)};
    out.x = halves ? row_operand{t.src[0], t.ne[0] * 4, strides_of(first)}
                   : row_operand{t.src[1], 0, strides_of(view.at(t.src[1]))};
    if (halves && t.params[1] != 0) std::swap(out.gate, out.x);
    if (!halves) read_halves(g, out);
    return out;
}

/// Rewrite MUL(x, gate) to gate * x without a function. One row of the gate may serve many rows of
/// x.
inline gated product_of(const graph_index& g, std::int32_t position) {
    const graph_view& view = g.view;
    const tensor& t = view.node(position);
    const gated no{{position, reason::no_gate}};
    const bool plain = !node_fits(g, position, 2).found() && t.src[0] != t.src[1] &&
                       !rows_fit(g, position, t.src[0]).found() &&
                       !rows_fit(g, position, t.src[1]).found();
    if (!plain) return no;
    const tensor& x = view.at(t.src[0]);
    const tensor& y = view.at(t.src[1]);
    bool fits = same_shape(x, t) && y.ne[0] == t.ne[0];
    for (int d = 1; d < 4; ++d) fits = fits && (y.ne[d] == t.ne[d] || y.ne[d] == 1);
    if (!fits) return no;
    gated out;
    out.x = {t.src[0], 0, strides_of(x)};
    const auto stride = [&y](int d) { return y.ne[d] == 1 ? 0 : y.nb[d]; };
    out.gate = {t.src[1], 0, {stride(1), stride(2), stride(3)}};
    return out;
}

/// Rewrite MUL(x, UNARY(gate)) and MUL(UNARY(gate), x) to f(gate) * x. If others read the UNARY, or
/// there is none, the MUL may still be a product without a function.
inline gated mul_of(const graph_index& g, std::int32_t position) {
    const graph_view& view = g.view;
    const tensor& t = view.node(position);
    for (const int slot : {1, 0}) {
        if (t.src[slot] == no_tensor || t.src[1 - slot] == no_tensor)
            return {{position, reason::no_gate}};
        const std::int32_t result = value_behind(view, t.src[slot]);
        const std::int32_t unary = g.position(result);
        if (unary < 0 || view.node(unary).kind != op::unary) continue;
        gated out;
        out.take(function_at(g, unary));
        if (out.function == gate_function::none) continue;
        if (const obstacle f = node_fits(g, position, 2); f.found()) return {f};
        if (const obstacle f = node_fits(g, unary, 1); f.found()) return {f};
        const tensor& named = view.at(t.src[slot]);
        const tensor& z = view.at(view.node(unary).src[0]);
        const tensor& x = view.at(t.src[1 - slot]);
        const bool renamed = t.src[slot] != result;
        if (!same_shape(named, t) || !same_shape(x, t) || !same_shape(view.node(unary), z) ||
            (renamed && !contiguous(z)))
            return {{position, reason::gate_shape}};
        for (const std::int32_t in : {t.src[1 - slot], view.node(unary).src[0]})
            if (!out.why.found()) out.why = rows_fit(g, position, in);
        out.gate = {view.node(unary).src[0], 0, strides_of(renamed ? named : z)};
        out.x = {t.src[1 - slot], 0, strides_of(x)};
        out.unary = unary;
        if (g.only_reader(result).node != position && !out.why.found())
            out.why = {unary, reason::gate_read_elsewhere};
        if (out.why.why != reason::gate_read_elsewhere) return out;
        const gated product = product_of(g, position);
        return !product.why.found() ? product : out;
    }
    return product_of(g, position);
}

/// Rewrite UNARY(gate) and SQR(RELU(gate)) to f(gate), without x.
inline gated alone_of(const graph_index& g, std::int32_t position) {
    const graph_view& view = g.view;
    if (const obstacle f = node_fits(g, position, 1); f.found()) return {f};
    gated out;
    std::int32_t of = position;
    if (view.node(position).kind == op::sqr) {
        of = out.unary = g.position(view.node(position).src[0]);
        const bool relu = of >= 0 && view.node(of).kind == op::unary &&
                          view.node(of).sub == sub_op::relu &&
                          g.only_reader(view.nodes[of]).node == position;
        if (!relu) return {{position, reason::no_gate}};
        if (const obstacle f = node_fits(g, of, 1); f.found()) return {f};
        out.function = gate_function::relu_squared;
    } else {
        out.take(function_at(g, position));
        if (out.function == gate_function::none) return {{position, reason::no_gate}};
    }
    const std::int32_t gate = view.node(of).src[0];
    if (!same_shape(view.at(gate), view.node(position))) return {{position, reason::gate_shape}};
    out.why = rows_fit(g, position, gate);
    out.gate = {gate, 0, strides_of(view.at(gate))};
    return out;
}

/// Rewrite CONT(gate) to a copy of gate's rows, without f and x. If the rows of gate lie next to
/// each other already, they are cut as the rows of the CONT's result.
inline gated copy_of(const graph_index& g, std::int32_t position) {
    const tensor& t = g.view.node(position);
    gated out;
    if (out.why = node_fits(g, position, 1); out.why.found()) return out;
    const tensor& from = g.view.at(t.src[0]);
    out.why = rows_fit(g, position, t.src[0]);
    if (!out.why.found() && (!contiguous(t) || elements(from) != elements(t)))
        out.why = {position, reason::gate_shape};
    out.copy = position;
    out.gate = {t.src[0], 0, strides_of(contiguous(from) ? t : from)};
    return out;
}

}  // namespace detail

/// The gated value that node `position`, a GLU, MUL, UNARY, SQR or CONT, computes.
inline gated gated_at(const graph_index& g, std::int32_t position) {
    switch (g.view.node(position).kind) {
        case op::glu:
            return detail::glu_of(g, position);
        case op::mul:
            return detail::mul_of(g, position);
        case op::cont:
            return detail::copy_of(g, position);
        default:
            return detail::alone_of(g, position);
    }
}

/// The gated value of gated_at, but UNARY(CONT(gate)) is rewritten to f(gate): the gate is read
/// where it lies. If its rows have gaps, the rows of x are numbered as those of the gate.
inline gated gathered_at(const graph_index& g, std::int32_t position) {
    const graph_view& view = g.view;
    gated v = gated_at(g, position);
    if (v.why.found() || v.unary < 0) return v;
    const std::int32_t gate = view.node(v.unary).src[0], cont = g.position(gate);
    if (cont < 0 || g.kind(cont) != op::cont || g.only_reader(gate).node != v.unary) return v;
    const gated copy = detail::copy_of(g, cont);
    if (copy.why.found()) return v;
    const tensor& from = view.at(copy.gate.tensor);
    if (!contiguous(from)) {
        const bool whole = v.x.tensor != no_tensor && v.x.offset == 0 &&
                           contiguous(view.at(v.x.tensor)) && contiguous(view.node(position));
        if (!whole) return v;
        v.gate.at = copy.gate.at;
        v.x.at = packed(from);
    }
    v.gate.tensor = copy.gate.tensor;
    v.copy = cont;
    return v;
}

}  // namespace CATENA_NAMESPACE
