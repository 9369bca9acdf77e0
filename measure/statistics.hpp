// What repeated measurements of one thing amount to, and when two things really differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace catena::tune {

struct summary {
    int samples = 0;
    double median = 0;
    double spread = 0;  ///< half the distance of the quartiles, relative to the median
};

inline summary summary_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {  // between neighbors in proportion
        const double place = share * static_cast<double>(values.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const std::size_t above = std::min(below + 1, values.size() - 1);
        return values[below] + (values[above] - values[below]) * (place - std::floor(place));
    };
    const double median = at(0.5);
    return {static_cast<int>(values.size()), median, (at(0.75) - at(0.25)) / 2 / median};
}

/// The standard error of a median: 1.253 deviations over the root of the samples; of a bell curve
/// the quartiles lie 0.6745 deviations from the median.
inline double error_of(const summary& s) {
    return s.spread * s.median / 0.6745 * 1.253 / std::sqrt(static_cast<double>(s.samples));
}

/// Is `slow` slower than `fast`, and by an amount that is worth a decision? Four standard errors,
/// for a dozen are compared with the luckiest of them; and one percent at least, as much as two
/// builds of one kernel differ by where their code lies.
inline bool really_slower(const summary& slow, const summary& fast) {
    const double error = std::hypot(error_of(slow), error_of(fast));
    return slow.median - fast.median > std::max(4 * error, 0.01 * fast.median);
}

}  // namespace catena::tune
