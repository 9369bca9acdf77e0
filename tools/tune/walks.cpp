#include "walks.hpp"

#include "code.hpp"
#include "timed_shape.hpp"

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"

#include <cstdio>
#include <stdexcept>

namespace catena::tune {

namespace {

/// The row that ran: one of `recorded`, or one that the set no longer lists.
row row_of(const tool::launch_record& record, const std::string& instance,
           const std::vector<row>& recorded) {
    const auto named = row_named(instance);
    for (row r : recorded) {
        if (!named || named->policy.kind() != r.policy.kind()) continue;
        const bool listed = named->policy == r.policy;
        r.policy = named->policy;
        if (row_name(r, record.arch.c_str()) != instance) continue;
        if (listed) return r;
        r.order = order_of(r.policy);
        r.registers = 0, r.code = {};
        r.code = code_like(r, recorded);
        return r;
    }
    throw std::runtime_error(record.file + ": no row of " + record.arch + " is like " + instance +
                             ": the set lacks its chain or its formats");
}

double predicted(const row& r, const problem& p, const arch& a, const std::string& date,
                 double head_start_us) {
    const launch_shape shape = date <= generator::last_date_without_shapes
                                   ? generator::timed_shape(r, p, a)
                                   : shape_of_launch(r, p, a, blocks_per_sm(r, p, a));
    return predicted_us(r, p, a, shape, as_recorded(), head_start_us);
}

/// What the steps of a walk take, one after the other. In the walks on record none starts early
/// behind a kernel of the engine's.
walk_sum sum_of(const tool::recorded_walk& walk, const tool::launch_record& record,
                const std::vector<row>& rows, const arch& a) {
    walk_sum sum = {.model = walk.model, .load = walk.load};
    double head_start_us = 0;
    for (const tool::recorded_launch& l : walk.launches) {
        if (l.step < 0) {
            head_start_us = 0;
            continue;
        }
        const auto step = static_cast<std::size_t>(l.step);
        const double us =
            predicted(rows[step], record.steps[step].what, a, record.date, head_start_us);
        head_start_us = head_start_behind_us(us, a);
        ++sum.steps;
        sum.measured_us += l.us;
        sum.predicted_us += us;
    }
    return sum;
}

}  // namespace

std::vector<walk_sum> walks_of(const tool::launch_record& record, const arch& a,
                               const std::vector<row>& recorded) {
    if (record.arch != a.name)
        throw std::runtime_error(record.file + ": its launches ran on " + record.arch + ", not " +
                                 a.name);
    std::vector<row> rows;
    for (const tool::recorded_step& s : record.steps)
        rows.push_back(row_of(record, s.instance, recorded));
    std::vector<walk_sum> out;
    for (const tool::recorded_walk& walk : record.walks)
        out.push_back(sum_of(walk, record, rows, a));
    return out;
}

std::string text(const std::vector<walk_sum>& walks, const std::string& file) {
    std::string out = "Catena's steps of a walk, predicted and measured, " + file +
                      "\n  steps  predicted us  measured us  predicted / measured  model, load\n";
    for (const walk_sum& w : walks) {
        char line[160];
        std::snprintf(line, sizeof line, "%7d %13.0f %12.0f %21.2f  ", w.steps, w.predicted_us,
                      w.measured_us, w.predicted_us / w.measured_us);
        out += line + w.model + ", " + w.load + "\n";
    }
    return out;
}

}  // namespace catena::tune
