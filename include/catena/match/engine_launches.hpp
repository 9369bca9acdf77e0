// How many launches an engine would take for what a chain takes over.
#pragma once

#include "catena/match/match.hpp"

namespace catena {

/// Launches that an engine takes for a norm and what its chain has around it: RMS_NORM and MUL,
/// with ADD or ROPE, are one, and so are RMS_NORM and SCALE (ggml-cuda fuses them).
inline int engine_launches(const graph_view& view, const match& m) {
    const bool rms = m.stages.has(stage_kind::rms_norm);
    const bool scale_apart = m.norm_scale >= 0 && !(rms && m.mul < 0);
    const int numbers = (m.x_scale >= 0 ? 1 : 0) + (scale_apart ? 1 : 0) + (m.sum_mul >= 0 ? 1 : 0);
    const int around = (m.experts.found() ? 1 : 0) + (m.add >= 0 && !m.joins() ? 1 : 0) +
                       (m.glu >= 0 ? 1 : 0) + (m.next_norm >= 0 ? 1 : 0) + numbers;
    const int behind = (m.mul >= 0 ? 1 : 0) + (m.bias_add >= 0 ? 1 : 0) + (m.joins() ? 1 : 0);
    const bool turned =
        m.norm_scale < 0 && m.readers.size() == 1 && view.node(m.readers[0].node).kind == op::rope;
    return 1 + around + (rms ? 0 : behind) - (rms && turned ? 1 : 0);
}

}  // namespace catena
