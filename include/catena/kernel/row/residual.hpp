// scale: x, or what experts made, times a number. add_residual: that plus the residual, the sum
// that a norm reads. join_residual: what a norm and its weight made plus the residual, times a
// number in memory.
#pragma once

#include "catena/kernel/row/stage.hpp"

namespace CATENA_NAMESPACE::kernel {

template <class Row>
struct row_stage<stage_kind::scale, Row> : idle_stage<Row> {
    CATENA_FN void make(const Row& r, int, typename Row::quads& v) const {
        Row::scale(real{r.a.x_scale}, v);
    }
};

template <class Row>
struct row_stage<stage_kind::add_residual, Row> : idle_stage<Row> {
    using typename idle_stage<Row>::quads;

    /// All loads are in flight before the first addition.
    CATENA_FN void make(const Row& r, int at, quads& v) const {
        if (r.a.residual == nullptr) return;
        quads other;
        r.load_row(row_at(r.a.residual, r.a.residual_at, r.place), at, other);
        Row::add(other, v);
    }
};

template <class Row>
struct row_stage<stage_kind::join_residual, Row> : idle_stage<Row> {
    typename Row::quads residual;
    real factor{1};

    CATENA_FN bool active(const Row& r) const { return r.a.residual != nullptr; }
    CATENA_FN void load_numbers(const Row& r) {
        if (r.a.sum_factor != nullptr) factor = r.x.load(r.a.sum_factor);
    }
    CATENA_FN void load(const Row& r, int at, int j) {
        r.load_quad_of(row_at(r.a.residual, r.a.residual_at, r.place), at, j, residual[j]);
    }
    CATENA_FN void apply(const Row&, int, int j, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i) v[i] = (v[i] + residual[j][i]) * factor;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
