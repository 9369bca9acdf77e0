// Time per step, by an observer that brackets every launch with two events. What an event is comes
// from a clock; launch/timer.cuh has CUDA's.
#pragma once

#include "catena/pick/cost.hpp"
#include "catena/plan/observer.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

/// What a step took: it is launched once in each walk. Times are in microseconds.
struct step_time {
    std::string step;          ///< plan::step_name
    std::string row;           ///< the instance's name
    std::int64_t bytes = 0;    ///< moved at least
    double attainable_us = 0;  ///< one launch and the bytes at full bandwidth
    double mean_us = 0, median_us = 0;
};

/// Walks that launched the same steps in the same order.
struct walk_times {
    int walks = 0;
    std::vector<step_time> steps;  ///< the slowest by its median first

    /// A walk by the medians: their sum.
    double us() const {
        return std::accumulate(steps.begin(), steps.end(), 0.0,
                               [](double sum, const step_time& s) { return sum + s.median_us; });
    }
};

/// What basic_step_timer::report returns.
struct timing {
    status state;                   ///< reason why there are no times
    std::vector<walk_times> walks;  ///< graphs in the order of their first walk
};

/// What options::log asks of an engine at log_level::times: the slowest ten steps of each graph, or
/// a line that says why there are no times; at another level nothing.
inline void log_as_asked(const timing& t, const options& asked) {
    constexpr std::size_t slowest = 10;
    if (asked.log != log_level::times) return;
    if (!t.state.ok()) asked.log_to((std::string("catena: no times: ") + t.state.message).c_str());
    for (const walk_times& w : t.walks) {
        char line[192];
        const double us = w.us();
        const std::size_t shown = std::min(slowest, w.steps.size());
        std::snprintf(
            line, sizeof(line),
            "catena: %zu steps take %.2f us, by the median of walks: %d; the slowest %zu:",
            w.steps.size(), us, w.walks, shown);
        asked.log_to(line);
        for (std::size_t i = 0; i < shown; ++i) {
            const step_time& s = w.steps[i];
            std::snprintf(line, sizeof(line),
                          "  %10.2f us, mean %.2f, %.1f %%, %lld bytes, attainable in %.2f us: ",
                          s.median_us, s.mean_us, 100 * s.median_us / us,
                          static_cast<long long>(s.bytes), s.attainable_us);
            asked.log_to((line + s.step + ": " + s.row).c_str());
        }
    }
}

/// A Clock has `using event`, a default-constructible handle, and
///     status create(event&), record(event&, void* stream);
///     status between(const event&, const event&, double& us);   waits for the second
///     void destroy(event&);
/// One timer serves one thread at a time; the streams may be many. Events stay with the timer and
/// are used again after each walk.
template <class Clock>
class basic_step_timer {
  public:
    /// So many walks of a graph are kept: the first ones.
    static constexpr std::size_t most_walks = 4096;

    /// Makes no event yet: the first launch that is watched does.
    explicit basic_step_timer(Clock clock = {}) : clock_(clock) {}
    ~basic_step_timer() {
        for (auto& e : events_) clock_.destroy(e);
    }
    basic_step_timer(const basic_step_timer&) = delete;
    basic_step_timer& operator=(const basic_step_timer&) = delete;

    /// For plan::launch. It must not outlive the timer.
    observer watch() {
        observer out;
        out.before = begun;
        out.after = ended;
        out.user = this;
        return out;
    }

    /// For plan::launch where a user decides: `watch` at log_level::times, else none. Hand the
    /// times to log_as_asked at the end, or now and then.
    observer watch_if_asked(const options& asked) {
        return asked.log == log_level::times ? watch() : observer{};
    }

    /// Behind the last launch of a walk of a graph: waits for the walk and keeps its times.
    void end_walk() {
        std::vector<double> us(launched_.size());
        for (std::size_t i = 0; i < us.size() && state_.ok(); ++i)
            state_ = clock_.between(events_[2 * i], events_[2 * i + 1], us[i]);
        if (state_.ok() && !us.empty()) keep(us);
        launched_.clear();
    }

    /// Ends the walk and adds up all of them. The first thing that failed is in `state`.
    timing report() {
        end_walk();
        timing out;
        out.state = state_;
        if (!out.state.ok()) return out;
        for (const graph& g : graphs_) out.walks.push_back(added_up(g));
        return out;
    }

    /// Forgets what was launched so far.
    void clear() {
        launched_.clear();
        graphs_.clear();
        steps_.clear();
        state_ = {};
    }

  private:
    /// The walks that launched these steps.
    struct graph {
        std::vector<std::size_t> steps;       // into steps_
        std::vector<std::vector<double>> us;  // per walk and step
    };

    Clock clock_;
    status state_;
    std::vector<typename Clock::event> events_;  // two per launch
    std::vector<std::size_t> launched_;          // in this walk: into steps_
    std::vector<step_time> steps_;               // without times
    std::vector<graph> graphs_;

    static void begun(const launch_event& e, void* self) {
        static_cast<basic_step_timer*>(self)->begin(e);
    }
    static void ended(const launch_event& e, const status& result, void* self) {
        static_cast<basic_step_timer*>(self)->end(e, result);
    }

    void begin(const launch_event& e) {
        while (state_.ok() && events_.size() < 2 * launched_.size() + 2) {
            typename Clock::event fresh{};
            state_ = clock_.create(fresh);
            if (state_.ok()) events_.push_back(fresh);
        }
        if (state_.ok()) state_ = clock_.record(events_[2 * launched_.size()], e.stream);
    }

    void end(const launch_event& e, const status& result) {
        if (!state_.ok() || !result.ok()) return;  // a launch that failed has no time
        state_ = clock_.record(events_[2 * launched_.size() + 1], e.stream);
        if (state_.ok()) launched_.push_back(number_of(e));
    }

    /// Steps of several plans are one if they have the same name and instance.
    std::size_t number_of(const launch_event& e) {
        const step& s = e.from->steps()[static_cast<std::size_t>(e.step)];
        const std::string name = e.from->step_name(e.step);
        const auto known = std::find_if(steps_.begin(), steps_.end(), [&](const step_time& other) {
            return other.step == name && other.row == e.row;
        });
        const auto number = static_cast<std::size_t>(known - steps_.begin());
        if (known == steps_.end())
            steps_.push_back(
                {name, e.row, s.bytes, attainable_us(s.what, e.from->rows().limits()), 0, 0});
        return number;
    }

    void keep(const std::vector<double>& walk) {
        auto g = std::find_if(graphs_.begin(), graphs_.end(),
                              [this](const graph& known) { return known.steps == launched_; });
        if (g == graphs_.end()) g = graphs_.insert(g, {launched_, {}});
        if (g->us.size() < most_walks) g->us.push_back(walk);
    }

    walk_times added_up(const graph& g) const {
        walk_times out;
        out.walks = static_cast<int>(g.us.size());
        for (std::size_t i = 0; i < g.steps.size(); ++i) {
            step_time s = steps_[g.steps[i]];
            std::vector<double> us;
            for (const std::vector<double>& walk : g.us) us.push_back(walk[i]);
            s.mean_us = std::accumulate(us.begin(), us.end(), 0.0) / out.walks;
            const auto middle = us.begin() + out.walks / 2;
            std::nth_element(us.begin(), middle, us.end());
            s.median_us = *middle;
            out.steps.push_back(std::move(s));
        }
        std::stable_sort(
            out.steps.begin(), out.steps.end(),
            [](const step_time& a, const step_time& b) { return a.median_us > b.median_us; });
        return out;
    }
};

}  // namespace CATENA_NAMESPACE
