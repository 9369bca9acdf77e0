// A plan while it is built: the places that were found and the steps that serve them.
#pragma once

#include "catena/match/epilogue.hpp"
#include "catena/match/match.hpp"
#include "catena/plan/plan.hpp"

#include <utility>

namespace catena {

/// A value that is quantized once, and its readers. It is made by a row step or, as the result of
/// an epilogue, by a group's; or it is the engine's, and numbers are multiplied with it as it is.
struct place {
    std::int32_t chain = -1;  ///< index into the table's chains
    match found;
    std::int32_t made_by = -1;  ///< step; -1: the engine's
    format_set layouts;         ///< in which it is quantized
    finding norm_apart;         ///< why a step of its own makes its norm, not its readers'

    place(std::int32_t listed_by, match&& m, std::int32_t maker, format_set in)
        : chain(listed_by), found(std::move(m)), made_by(maker), layouts(in) {}
};

/// One output of a group's step.
struct drafted_output {
    output what;
    std::int32_t makes = -1;  ///< the place whose value it is, quantized by the epilogue
};

/// A value that an output of the step being tried quantizes, and its readers.
struct made_value {
    std::int32_t output;
    match value;
};

}  // namespace catena
