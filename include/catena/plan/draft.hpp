// A plan while it is built: the places that were found and the steps that serve them.
#pragma once

#include "catena/match/epilogue.hpp"
#include "catena/match/match.hpp"
#include "catena/pick/pick.hpp"

namespace catena {

/// A value that is quantized once, and its readers. It is made by a row step or, as the result of
/// an epilogue, by a group's.
struct place {
    std::int32_t chain = -1;  ///< index into the table's chains
    match found;
    std::int32_t made_by = -1;  ///< step
    format_set layouts;         ///< in which it is quantized
};

/// One output of a group's step.
struct drafted_output {
    output what;
    std::int32_t makes = -1;  ///< the place whose value it is, quantized by the epilogue
};

/// A step with what is needed to write it down; its nodes are in the schedule.
struct draft {
    std::int32_t place = -1;  ///< the place that it makes (row) or reads (matvec, matmul)
    problem what;
    picked pick;
    std::int32_t first_output = 0;  ///< of a group: its outputs, in launch order, stand together
};

}  // namespace catena
