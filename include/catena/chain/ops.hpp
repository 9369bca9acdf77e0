// All ops. A new op joins with its header and, if it brings a stage kind, its line in `stages`.
#pragma once

#include "catena/chain/ops/add.hpp"
#include "catena/chain/ops/combine.hpp"
#include "catena/chain/ops/emit.hpp"
#include "catena/chain/ops/epilogue.hpp"
#include "catena/chain/ops/glu.hpp"
#include "catena/chain/ops/mul.hpp"
#include "catena/chain/ops/mul_mat.hpp"
#include "catena/chain/ops/norm.hpp"
#include "catena/chain/ops/quantize.hpp"

namespace catena::chain {

template <class... Stages>
struct stage_list {
    /// One type for each kind of stage, in their order?
    static constexpr bool complete() {
        int next = 0;
        return ((static_cast<int>(Stages::kind) == next++) && ...) && next == stage_kind_count;
    }

    /// Calls `visit(meaning)` with the stage type whose kind is `kind`.
    template <class Visit>
    static constexpr void with(stage_kind kind, Visit visit) {
        ((Stages::kind == kind ? visit(Stages{}) : void()), ...);
    }
};

using stages = stage_list<
    combine_op, add_stage<stage_kind::add_residual>, norm_stage<stage_kind::rms_norm>,
    norm_stage<stage_kind::layer_norm>, norm_stage<stage_kind::l2_norm>, glu_stage<stage_kind::glu>,
    mul_stage<stage_kind::mul_weight>, add_stage<stage_kind::add_bias>, glu_stage<stage_kind::gate>,
    add_stage<stage_kind::join_residual>, norm_stage<stage_kind::next_norm>,
    mul_stage<stage_kind::mul_next_weight>, emit_stage, quantize_stage,
    mul_mat_stage<stage_kind::mul_mat>, mul_mat_stage<stage_kind::mul_mat_id>, epilogue_stage>;
static_assert(stages::complete(), "catena: every stage_kind has a type in `stages`, in order");

}  // namespace catena::chain
