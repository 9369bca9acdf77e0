// The engine's own kernels as a contender: where a table knows from a benchmark that they do in less
// time what the steps of a chain would do, the chain is left to the engine.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// What stands or falls together is the value of a match, its readers, and what those quantize and
/// who reads that. A plan is drafted first and looked up then: only the steps say what they compute.
inline left_over plan_builder::contest(const family& f, match&& m) {
    const std::size_t first = steps_.size(), outputs = outputs_.size(), places = places_.size(),
                      left = left_.size();
    const std::int32_t node = m.node();
    left_over why = serve(f, std::move(m));
    if (why.what.why != reason::none) return why;
    std::uint64_t key = 0;
    for (std::size_t i = first; i < steps_.size(); ++i) key += pick(steps_[i].what).key;
    const table& t = known_.rows.rows();
    const engine_median* const end = t.engine + t.engine_count;
    const engine_median* const found = std::lower_bound(
        t.engine, end, key,
        [](const engine_median& e, std::uint64_t steps) { return e.steps < steps; });
    if (found == end || found->steps != key || found->engine_us >= found->catena_us) return why;

    const auto ns = [](float us) { return static_cast<std::int64_t>(us * 1000); };
    why.what = {node, reason::engine_faster, ns(found->catena_us), ns(found->engine_us)};
    for (std::size_t i = first; i < steps_.size(); ++i)
        for (const covered_node& c : schedule_.nodes(schedule_.steps()[i]))
            given_[c.node] = {c.node, why.what.why, why.what.have, why.what.need};
    schedule_.retract(first);
    steps_.resize(first);
    first_output_.resize(first);
    outputs_.resize(outputs);
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(places), places_.end());
    left_.resize(left);
    return why;
}

}  // namespace catena
