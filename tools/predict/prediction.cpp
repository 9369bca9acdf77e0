#include "prediction.hpp"

#include "traffic.hpp"

#include <algorithm>

namespace catena::tool {

prediction predict(const graph_view& g, const explanation& plan, const arch& target) {
    prediction out;
    for (const explained_step& s : plan.steps) {
        out.steps_us += s.predicted_us;
        if (s.what.kind() == skeleton::row) continue;
        out.tokens = std::max(out.tokens, tokens_of(s.what.product()));
    }
    traffic engine = planned(g, plan);
    engine.launches -= static_cast<int>(plan.steps.size());
    engine.bytes -= plan.bytes;
    out.engine_us = engine.attainable_us(target);
    return out;
}

}  // namespace catena::tool
