#include "matvec_case.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

block_shape block_of(const instance& on, const matvec_case& c) {
    block_shape out;
    for (const member_shape& m : c.members)
        if (c.combined() || m.parts.has(epilogue_part::quantize))
            out.finished =
                std::max(out.finished, c.band_rows / (m.parts.has(epilogue_part::glu) ? 2 : 1));
    const int columns = c.experts == 0 ? c.columns : c.combined() ? c.slots : 1;
    matvec_policy wide = on.policy.matvec();
    for (int width = c.width; width > 0; --width) {
        out.threads = wide.threads = width * on.policy.threads();
        out.shared = shared_bytes(on.computes, wide, c.k, columns, out.finished);
        if (out.shared <= on.most_shared) break;
    }
    return out;
}

bool has_room(const instance& on, const matvec_case& c) {
    return on.computes.kind() != skeleton::matvec || block_of(on, c).shared <= on.most_shared;
}

}  // namespace catena_test
