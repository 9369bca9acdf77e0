#include "prediction.hpp"

#include "traffic.hpp"

#include "catena/pick/measured.hpp"

#include <algorithm>

namespace catena::tool {

launch_time prediction::by_model() const {
    launch_time sum;
    for (const launch_time& one : of_steps) {
        sum.node += one.node;
        sum.bytes += one.bytes;
        sum.columns += one.columns;
        sum.warps += one.warps;
        sum.results += one.results;
    }
    return sum;
}

prediction predict(const graph_view& g, const plan& planned, const explanation& explained,
                   const arch& target) {
    prediction out;
    arch cold = target;
    cold.bytes_per_us *= detail::cold_stream_share;
    for (const step& s : planned.steps()) {
        const row& r = planned.rows().rows[s.row];
        out.steps_us += s.predicted_us;
        const bool measured = measured_rows(planned.rows(), s.what).median_us(s.row) >= 0;
        const launch_shape shape =
            shape_with_bands(r, s.what, cold, blocks_per_sm(r, s.what, target), s.band_rows);
        out.cold_us += measured ? s.predicted_us : predicted_us(r, s.what, cold, shape);
        out.of_steps.push_back(predicted_time(r, s.what, target, shape));
        if (s.what.kind() == skeleton::row) continue;
        out.tokens = std::max(out.tokens, tokens_of(s.what.product()));
    }
    traffic engine = tool::planned(g, explained);
    engine.launches -= static_cast<int>(explained.steps.size());
    engine.bytes -= explained.bytes;
    out.engine_us = engine.attainable_us(target);
    out.engine_launches = engine.launches;
    out.cold_us += engine.attainable_us(cold);
    return out;
}

}  // namespace catena::tool
