// The medians of a record for a table. They are carried over to kernels and launches that have
// changed since the race.
#include "timed_shape.hpp"
#include "tuning.hpp"

#include "catena/pick/cost.hpp"
#include "catena/pick/measured.hpp"

#include <algorithm>

namespace catena::generator {

namespace {

/// How many times as long the cost model has today's launch of the row `now` as the one that was
/// timed, in the tuner's chain of copies, whose columns are cold. What the record does not say of
/// that one is as it is now.
double changed_since(const tuned_candidate& c, const row& now, const problem& what, const arch& a) {
    const bool first = c.shape.resident < 1;  // of the record that has no shapes
    row then = now;
    if (c.registers > 0) then.registers = c.registers;
    if (c.code != warp_codes{}) then.code = c.code;
    const launch_shape today = shape_of_launch(now, what, a, blocks_per_sm(now, what, a));
    const launch_shape timed = first ? timed_shape(then, what, a) : c.shape;
    if (today.resident < 1 || timed.resident < 1) return 1;
    const cost_constants by = with_cold_columns(first ? as_recorded() : cost_constants{});
    return predicted_us(now, what, a, today, with_cold_columns()) /
           predicted_us(then, what, a, timed, by);
}

}  // namespace

std::vector<measurement> medians_of(const instance_set& set, const tunings& all) {
    std::vector<measurement> out;
    const auto own = all.find(set.target->name);
    if (own == all.end()) return out;
    struct timed {
        std::int32_t row;
        const tuned_candidate* by;
    };
    for (const tuned_problem& p : own->second->problems) {
        std::vector<timed> rows;
        for (const tuned_candidate& c : p.candidates) {
            if (!p.decided || c.samples == 0 || c.is == verdict::failed) continue;
            for (std::size_t i = 0; i < set.rows.size(); ++i)
                if (set.rows[i].computes == p.computes && set.rows[i].policy == c.policy)
                    rows.push_back({static_cast<std::int32_t>(i), &c});
        }
        if (rows.empty()) continue;
        // All change by as much as the fastest, since nobody has raced them again.
        const timed& first = *std::min_element(rows.begin(), rows.end(), [](auto& a, auto& b) {
            return a.by->median_us < b.by->median_us;
        });
        const double factor =
            p.what.kind() != skeleton::matvec
                ? 1
                : changed_since(*first.by, set.rows[static_cast<std::size_t>(first.row)], p.what,
                                *set.target);
        for (const timed& t : rows)
            out.push_back({problem_key(p.what), t.row, static_cast<float>(factor * t.by->median_us),
                           static_cast<float>(t.by->spread)});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.problem < b.problem; });
    return out;
}

}  // namespace catena::generator
