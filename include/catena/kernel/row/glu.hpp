// glu: f(gate) * x, or f(gate) alone without x. gate: what a norm made, times f(gate).
#pragma once

#include "catena/kernel/gate.hpp"
#include "catena/kernel/row/stage.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

/// Quad j from element `at` on. An engine's own op need not make a zero of one: past the row it is
/// not asked, because a NaN there would spoil a scale of the row.
template <class Row>
CATENA_FN void gate_quad(const Row& r, int at, int j, const real (&g)[quad], real (&v)[quad]) {
    constexpr bool own = has_ops<std::remove_reference_t<decltype(r.x)>>;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i)
        if (!own || r.inside(at, j, i))
            v[i] = gated_on<true>(r.x, r.a.function, g[i], v[i], r.a.alpha, r.a.limit);
}

template <class Row>
struct row_stage<stage_kind::glu, Row> : idle_stage<Row> {
    using typename idle_stage<Row>::quads;

    CATENA_FN void make(const Row& r, int at, quads& v) const {
        quads g;
        r.load_row(row_at(r.a.gate, r.a.gate_at, r.place), at, g);
        if (r.a.x != nullptr) {
            r.load_row(row_at(r.a.x, r.a.x_at, r.place), at, v);
        } else {
            CATENA_UNROLL
            for (int j = 0; j < Row::held; ++j)
                for (int i = 0; i < quad; ++i) v[j][i] = r.inside(at, j, i) ? real{1} : real{0};
        }
        CATENA_UNROLL
        for (int j = 0; j < Row::held; ++j) gate_quad(r, at, j, g[j], v[j]);
    }
};

template <class Row>
struct row_stage<stage_kind::gate, Row> : idle_stage<Row> {
    typename Row::quads gate;

    CATENA_FN bool active(const Row& r) const { return r.a.gate != nullptr; }
    CATENA_FN void load(const Row& r, int at, int j) {
        r.load_quad_of(row_at(r.a.gate, r.a.gate_at, r.place), at, j, gate[j]);
    }
    CATENA_FN void apply(const Row& r, int at, int j, real (&v)[quad]) const {
        gate_quad(r, at, j, gate[j], v);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
