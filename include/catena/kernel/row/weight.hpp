// mul_weight, mul_next_weight, add_bias: a vector of the row's length, which all rows share.
#pragma once

#include "catena/kernel/row/stage.hpp"

namespace CATENA_NAMESPACE::kernel {

template <class Row>
struct row_stage<stage_kind::mul_weight, Row> : idle_stage<Row> {
    typename Row::quads weight;

    CATENA_FN bool active(const Row& r) const { return r.a.weight != nullptr; }
    CATENA_FN void load_constants(const Row& r, int at, int j) {
        r.load_quad_of(r.a.weight, at, j, weight[j]);
    }
    CATENA_FN void apply(const Row& r, int, int j, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i)
            v[i] = v[i] * (r.a.one_plus_weight ? real{1} + weight[j][i] : weight[j][i]);
    }
};

template <class Row>
struct row_stage<stage_kind::mul_next_weight, Row> : idle_stage<Row> {
    typename Row::quads weight;

    CATENA_FN bool active(const Row& r) const { return r.a.next_weight != nullptr; }
    CATENA_FN void load_constants(const Row& r, int at, int j) {
        r.load_quad_of(r.a.next_weight, at, j, weight[j]);
    }
    CATENA_FN void apply(const Row&, int, int j, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i) v[i] = v[i] * weight[j][i];
    }
};

template <class Row>
struct row_stage<stage_kind::add_bias, Row> : idle_stage<Row> {
    typename Row::quads bias;

    CATENA_FN bool active(const Row& r) const { return r.a.bias != nullptr; }
    CATENA_FN void load(const Row& r, int at, int j) { r.load_quad_of(r.a.bias, at, j, bias[j]); }
    CATENA_FN void apply(const Row&, int, int j, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i) v[i] = v[i] + bias[j][i];
    }
};

}  // namespace CATENA_NAMESPACE::kernel
