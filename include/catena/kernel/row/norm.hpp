// The norms. Each learns one or two numbers of the whole row, which every element is then changed
// by.
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/kernel/row/stage.hpp"

namespace CATENA_NAMESPACE::kernel {

/// 1 / rms of k numbers whose squares come to this.
CATENA_FN real over_rms(real squares, int k, float eps) {
    return inverse_root(fma(squares, reciprocal(from_int(k)), real{eps}));
}

/// A norm that changes an element by nothing but one number of the row.
template <class Row>
struct scaling_norm : idle_stage<Row> {
    real scale{1};

    CATENA_FN void apply(const Row&, int, int, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i) v[i] = v[i] * scale;
    }
};

template <class Row>
struct row_stage<stage_kind::rms_norm, Row> : scaling_norm<Row> {
    using typename idle_stage<Row>::quads;

    template <class Remake>
    CATENA_FN void measure(Row& r, quads& v, Remake remake) {
        const real squares =
            r.sum_of_row(v, remake, [](real sum, real e, bool) { return fma(e, e, sum); });
        this->scale = over_rms(squares, r.a.k, r.a.eps) * real{r.a.norm_scale};
    }
};

template <class Row>
struct row_stage<stage_kind::layer_norm, Row> : idle_stage<Row> {
    using typename idle_stage<Row>::quads;
    real mean{0}, scale{1};

    template <class Remake>
    CATENA_FN void measure(Row& r, quads& v, Remake remake) {
        mean = r.sum_of_row(v, remake, [](real sum, real e, bool) { return sum + e; }) *
               reciprocal(from_int(r.a.k));
        const real squares = r.sum_of_row(v, remake, [this](real sum, real e, bool in_row) {
            const real rest = centered(e, in_row);
            return fma(rest, rest, sum);
        });
        scale = over_rms(squares, r.a.k, r.a.eps) * real{r.a.norm_scale};
    }
    CATENA_FN void apply(const Row& r, int at, int j, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i) v[i] = centered(v[i], r.inside(at, j, i)) * scale;
    }

  private:
    CATENA_FN real centered(real e, bool in_row) const { return in_row ? e - mean : real{0}; }
};

template <class Row>
struct row_stage<stage_kind::l2_norm, Row> : scaling_norm<Row> {
    using typename idle_stage<Row>::quads;

    template <class Remake>
    CATENA_FN void measure(Row& r, quads& v, Remake remake) {
        const real squares =
            r.sum_of_row(v, remake, [](real sum, real e, bool) { return fma(e, e, sum); });
        const real least = real{r.a.eps} * real{r.a.eps};
        this->scale = inverse_root(less(squares, least) ? least : squares) * real{r.a.norm_scale};
    }
};

template <class Row>
struct row_stage<stage_kind::next_norm, Row> : scaling_norm<Row> {
    using typename idle_stage<Row>::quads;

    CATENA_FN bool active(const Row& r) const { return r.a.next_weight != nullptr; }
    template <class Remake>
    CATENA_FN void measure(Row& r, quads& v, Remake remake) {
        const auto square = [](real sum, real e, bool) { return fma(e, e, sum); };
        this->scale = over_rms(r.sum_of_row(v, remake, square), r.a.k, r.a.next_eps);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
