// The stages of a computation, one after the other. A new stage joins with its header.
#pragma once

#include "catena/kernel/row/combine.hpp"
#include "catena/kernel/row/glu.hpp"
#include "catena/kernel/row/norm.hpp"
#include "catena/kernel/row/own.hpp"
#include "catena/kernel/row/residual.hpp"
#include "catena/kernel/row/stage.hpp"
#include "catena/kernel/row/weight.hpp"

#include <type_traits>
#include <utility>

namespace CATENA_NAMESPACE::kernel {

/// A stage that the computation lacks.
template <stage_kind Kind, class Row>
struct absent_stage {};

template <stage_set Stages, stage_kind Kind, class Row>
using stage_or_absent =
    typename std::conditional_t<Stages.has(Kind), std::type_identity<row_stage<Kind, Row>>,
                                std::type_identity<absent_stage<Kind, Row>>>::type;

/// Has a stage of the computation all hooks?
template <stage_set Stages, stage_kind Kind, class Row>
inline constexpr bool absent_or_complete = [] {
    if constexpr (Stages.has(Kind))
        return stage_of_row<row_stage<Kind, Row>, Row>;
    else
        return true;
}();

template <stage_set Stages, class Row,
          class Kinds = std::make_integer_sequence<int, static_cast<int>(stage_kind::emit)>>
struct stage_sequence;

template <stage_set Stages, class Row, int... Kinds>
struct stage_sequence<Stages, Row, std::integer_sequence<int, Kinds...>>
    : stage_or_absent<Stages, static_cast<stage_kind>(Kinds), Row>... {
    static_assert((absent_or_complete<Stages, static_cast<stage_kind>(Kinds), Row> && ...));

    /// Calls `visit(stage)` for each stage among `Some`, in their order.
    template <stage_set Some, class Visit>
    CATENA_FN void each(Visit visit) {
        (visit_one<Some, static_cast<stage_kind>(Kinds)>(visit), ...);
    }

  private:
    template <stage_set Some, stage_kind Kind, class Visit>
    CATENA_FN void visit_one(Visit& visit) {
        if constexpr (Some.both(Stages).has(Kind)) visit(static_cast<row_stage<Kind, Row>&>(*this));
    }
};

}  // namespace CATENA_NAMESPACE::kernel
