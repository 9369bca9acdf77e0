// own: f(value), f one of an engine's own ops (match/own_ops.hpp). Which one is an operand of the
// launch, as the function of an act is. In an epilogue it is applied to each output of a group.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

struct own_stage {
    static constexpr stage lowered = {};

    static constexpr void spell(text& out) { out << "own"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool fits = Before.fits(stage_kind::own);
        static_assert(fits,
                      "catena: own applies an engine's own op to a finished value: put it behind a "
                      "norm and what follows the norm, or behind glu or act");
        return fits ? Before.then(stage_kind::own) : refused;
    }
};

inline constexpr own_stage own{};

template <>
struct stage_meaning<stage_kind::own> {
    static void apply(evaluation& e, const stage&) {
        for (double& v : e.value) v = gated(e.in.own, v, 1);
    }
};

}  // namespace CATENA_NAMESPACE::chain
