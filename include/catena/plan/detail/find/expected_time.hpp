// What launches should take together, and which of two ways to do some work takes less time.
#pragma once

#include "catena/pick/choice.hpp"

#include <limits>
#include <utility>

namespace CATENA_NAMESPACE {

/// The time of launches one after the other: by the table's medians where it has some, and by the
/// cost model alone.
struct expected_time {
    double us = 0;
    double model_us = 0;
    bool measured = true;  ///< each launch has a median

    expected_time() = default;
    explicit expected_time(const picked& launch)
        : us(launch.row < 0 ? std::numeric_limits<double>::infinity() : launch.predicted_us),
          model_us(launch.model_us),
          measured(launch.measured) {}

    expected_time& operator+=(const expected_time& next) {
        us += next.us, model_us += next.model_us;
        measured = measured && next.measured;
        return *this;
    }
    friend expected_time operator+(expected_time a, const expected_time& b) { return a += b; }
};

/// The times of two ways to do the same work that can be compared: medians, if every launch of both
/// has one, else those of the cost model. A median beside a prediction would tell the error of the
/// model rather than the faster way.
inline std::pair<double, double> comparable(const expected_time& a, const expected_time& b) {
    if (a.measured && b.measured) return {a.us, b.us};
    return {a.model_us, b.model_us};
}

/// Does `a` take less time?
inline bool shorter(const expected_time& a, const expected_time& b) {
    const auto [us, other_us] = comparable(a, b);
    return us < other_us;
}

}  // namespace CATENA_NAMESPACE
