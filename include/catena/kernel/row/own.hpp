// own: f(value), f one of the engine's own ops, which the executor brings (exec/with_ops.hpp).
#pragma once

#include "catena/kernel/gate.hpp"
#include "catena/kernel/row/stage.hpp"

namespace CATENA_NAMESPACE::kernel {

template <class Row>
struct row_stage<stage_kind::own, Row> : idle_stage<Row> {
    CATENA_FN void apply(const Row& r, int at, int j, real (&v)[quad]) const {
        for (int i = 0; i < quad; ++i)
            if (r.inside(at, j, i)) v[i] = apply_own(r.x, r.a.own, v[i]);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
