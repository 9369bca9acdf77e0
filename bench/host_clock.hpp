// Times by the host's clock, for peers whose launches no event can stand between.
#pragma once

#include <algorithm>
#include <chrono>

namespace catena::bench {

inline constexpr int most_more = 12;  ///< what 16 replays are more than 4

/// As many more replays of `us` as take 10 ms.
inline int more_replays(double us) {
    return static_cast<int>(std::clamp(1e4 / std::max(us, 1.0), 1.0, double{most_more}));
}

/// Microseconds of one `queue` by the host's clock: what so many more of them take, so that
/// beginning and waiting cancel.
template <class Queue, class Wait>
double by_host_clock(int more, Queue&& queue, Wait&& wait) {
    const int few = std::max(1, more / 3);
    const auto run = [&](int times) {
        wait();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < times; ++i) queue();
        wait();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count();
    };
    const double few_us = run(few);
    return (run(few + more) - few_us) / more;
}

}  // namespace catena::bench
