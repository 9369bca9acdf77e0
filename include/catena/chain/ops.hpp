// All ops. A new op joins with its header.
#pragma once

#include "catena/chain/ops/add.hpp"
#include "catena/chain/ops/attend.hpp"
#include "catena/chain/ops/combine.hpp"
#include "catena/chain/ops/convolve.hpp"
#include "catena/chain/ops/delta_rule.hpp"
#include "catena/chain/ops/emit.hpp"
#include "catena/chain/ops/epilogue.hpp"
#include "catena/chain/ops/glu.hpp"
#include "catena/chain/ops/mul.hpp"
#include "catena/chain/ops/mul_mat.hpp"
#include "catena/chain/ops/norm.hpp"
#include "catena/chain/ops/own.hpp"
#include "catena/chain/ops/quantize.hpp"
#include "catena/chain/ops/rope.hpp"
#include "catena/chain/ops/route.hpp"
#include "catena/chain/ops/ssm_scan.hpp"
#include "catena/chain/ops/store.hpp"

#include <utility>

namespace CATENA_NAMESPACE::chain {

namespace detail {

template <class Visit, int... Kinds>
constexpr void with_meaning_among(stage_kind kind, Visit visit,
                                  std::integer_sequence<int, Kinds...>) {
    ((static_cast<stage_kind>(Kinds) == kind
          ? visit(stage_meaning<static_cast<stage_kind>(Kinds)>{})
          : void()),
     ...);
}

}  // namespace detail

/// Calls `visit(meaning)` with the stage_meaning of a kind. Every kind has one.
template <class Visit>
constexpr void with_meaning(stage_kind kind, Visit visit) {
    detail::with_meaning_among(kind, visit, std::make_integer_sequence<int, stage_kind_count>());
}

}  // namespace CATENA_NAMESPACE::chain
