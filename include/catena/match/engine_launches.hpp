// How many launches an engine would take for what a chain takes over.
#pragma once

#include "catena/match/match.hpp"

#include <algorithm>

namespace catena {

/// Launches that an engine takes for a norm and what its chain has around it: RMS_NORM and MUL,
/// with ADD or ROPE, are one, and so are RMS_NORM and SCALE (ggml-cuda fuses them).
inline int engine_launches(const graph_view& view, const match& m) {
    const auto own = std::count_if(m.taken.begin(), m.taken.end(),
                                   [](const taken_node& n) { return n.launches; });
    const int sums = m.experts.found() ? 2 : 0;
    const bool turned = m.stages.has(stage_kind::rms_norm) && m.readers.size() == 1 &&
                        view.node(m.readers[0].node).kind == op::rope;
    return static_cast<int>(own) + sums - (turned ? 1 : 0);
}

}  // namespace catena
