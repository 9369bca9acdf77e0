// Time per step, by an observer that brackets every launch with two events. What an event is comes
// from a clock; launch/timer.cuh has CUDA's.
#pragma once

#include "catena/plan/observer.hpp"
#include "catena/plan/options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace catena {

/// What the launches of one row took.
struct row_time {
    std::string row;  ///< the instance's name
    int launches = 0;
    double us = 0;  ///< of all of them
};

/// What basic_step_timer::report returns.
struct timing {
    status state;                ///< why there are no times, if so
    std::vector<row_time> rows;  ///< the slowest first
};

/// What options::log asks of an engine at log_level::times: a line for each row, or one that says
/// why there are no times; at another level none.
inline void log_as_asked(const timing& t, const options& asked) {
    if (asked.log != log_level::times) return;
    if (!t.state.ok()) asked.log_to((std::string("catena: no times: ") + t.state.message).c_str());
    for (const row_time& r : t.rows) {
        char line[64];
        std::snprintf(line, sizeof(line), "  %10.2f us in %6d launches of ", r.us, r.launches);
        asked.log_to((line + r.row).c_str());
    }
}

/// A Clock has `using event`, a default-constructible handle, and
///     status create(event&), record(event&, void* stream);
///     status between(const event&, const event&, double& us);   waits for the second
///     void destroy(event&);
/// One timer serves one thread at a time; the streams may be many. Events stay with the timer and
/// are used again after clear().
template <class Clock>
class basic_step_timer {
  public:
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
    /// times to log_as_asked now and then.
    observer watch_if_asked(const options& asked) {
        return asked.log == log_level::times ? watch() : observer{};
    }

    /// Waits for what was launched and adds it up. The first thing that failed is in `state`.
    timing report() {
        timing out;
        out.state = state_;
        for (std::size_t i = 0; i < rows_.size() && out.state.ok(); ++i) {
            double us = 0;
            out.state = clock_.between(events_[2 * i], events_[2 * i + 1], us);
            row_time& row = entry(out.rows, rows_[i]);
            ++row.launches;
            row.us += us;
        }
        if (!out.state.ok()) out.rows.clear();
        std::stable_sort(out.rows.begin(), out.rows.end(),
                         [](const row_time& a, const row_time& b) { return a.us > b.us; });
        return out;
    }

    /// Forgets what was launched so far.
    void clear() {
        rows_.clear();
        state_ = {};
    }

  private:
    Clock clock_;
    status state_;
    std::vector<typename Clock::event> events_;  // two per launch
    std::vector<std::string> rows_;              // per launch

    static void begun(const launch_event& e, void* self) {
        static_cast<basic_step_timer*>(self)->begin(e);
    }
    static void ended(const launch_event& e, const status& result, void* self) {
        static_cast<basic_step_timer*>(self)->end(e, result);
    }

    void begin(const launch_event& e) {
        while (state_.ok() && events_.size() < 2 * rows_.size() + 2) {
            typename Clock::event fresh{};
            state_ = clock_.create(fresh);
            if (state_.ok()) events_.push_back(fresh);
        }
        if (state_.ok()) state_ = clock_.record(events_[2 * rows_.size()], e.stream);
    }

    void end(const launch_event& e, const status& result) {
        if (!state_.ok() || !result.ok()) return;  // a launch that failed has no time
        state_ = clock_.record(events_[2 * rows_.size() + 1], e.stream);
        if (state_.ok()) rows_.emplace_back(e.row);
    }

    static row_time& entry(std::vector<row_time>& rows, const std::string& name) {
        for (row_time& r : rows)
            if (r.row == name) return r;
        rows.push_back({name, 0, 0});
        return rows.back();
    }
};

}  // namespace catena
