// Watching launches: the order of the calls, and the timer on a clock of its own.
#include "catena/launch/timer.hpp"
#include "catena/runtime.hpp"

#include "cases.hpp"

using namespace catena;
using namespace catena_test;
using Catch::Contains;

namespace {

using lines = std::vector<std::string>;

/// The invented device: `stream` is the list of what happened.
status log_launch(const void*, const launch_config& config, const void*, std::size_t,
                  void* stream) noexcept {
    static_cast<lines*>(stream)->push_back("launch");
    return config.threads == 0 ? failure(status_code::device_error, "no threads") : status{};
}

table watched_table() {
    static const char code[toy_row_count] = {};
    static const std::vector<const void*> kernels = [] {
        std::vector<const void*> out;
        for (const char& c : code) out.push_back(&c);
        return out;
    }();
    table t = toy_table();
    t.kernels = kernels.data();
    t.launch = log_launch;
    return t;
}

/// Writes down what it sees into the stream.
observer recording() {
    observer o;
    o.before = [](const launch_event& e, void*) {
        static_cast<lines*>(e.stream)->push_back("before " + std::to_string(e.step) + " " + e.row);
    };
    o.after = [](const launch_event& e, const status& s, void*) {
        static_cast<lines*>(e.stream)->push_back("after " + std::to_string(e.step) + " " +
                                                 (s.ok() ? "ok" : s.message));
    };
    return o;
}

alignas(256) std::byte workspace[4096];

struct layer : norm_case {
    id a = g.matmul(format::q4_K, 64, mul);
    id b = g.matmul(format::q8_0, 64, g.scaled_norm(a));
};

void launch_all(const plan& p, lines& log, const observer* watch) {
    for (int i = 0; i < p.size(); ++i) REQUIRE(p.launch(i, &log, workspace, watch).ok());
}

/// A clock that counts: every record is 10 us after the one before.
struct toy_clock {
    struct state {
        int created = 0, destroyed = 0, now = 0, fail_at = -1;
    };
    state* s;
    using event = int;

    status create(event&) { return ++s->created, status{}; }
    void destroy(event&) { ++s->destroyed; }
    status record(event& e, void*) {
        if (s->now == s->fail_at) return failure(status_code::device_error, "the clock stopped");
        e = s->now++;
        return {};
    }
    status between(const event& a, const event& b, double& us) {
        us = 10 * (b - a);
        return {};
    }
};

}  // namespace

TEST_CASE("an observer is called around every launch, with the row's name", "[observer]") {
    layer c;
    const plan p = planner(watched_table()).plan(c.g.view());
    REQUIRE(p.steps().size() == 4);
    lines log, expected;
    const observer watch = recording();
    launch_all(p, log, &watch);
    for (int s = 0; s < 4; ++s) {
        const std::string n = std::to_string(s);
        expected.push_back("before " + n + " " +
                           row_name(p.rows(), p.steps()[static_cast<std::size_t>(s)].row));
        expected.push_back("launch");
        expected.push_back("after " + n + " ok");
    }
    CHECK(log == expected);

    lines unwatched;
    launch_all(p, unwatched, nullptr);
    const observer nothing;
    launch_all(p, unwatched, &nothing);
    CHECK(unwatched == lines(8, "launch"));
}

TEST_CASE("an observer hears of a launch that failed, and of none that was not tried",
          "[observer]") {
    layer c;
    table t = watched_table();
    t.launch = [](const void*, const launch_config&, const void*, std::size_t, void*) noexcept {
        return failure(status_code::device_error, "the device is asleep");
    };
    const plan p = planner(t).plan(c.g.view());
    lines log;
    const observer watch = recording();
    CHECK(!p.launch(p.steps()[0].launch_at, &log, workspace, &watch).ok());
    REQUIRE(log.size() == 2);
    CHECK(log[1] == "after 0 the device is asleep");
    log.clear();
    CHECK(!p.launch(p.steps()[0].launch_at, &log, nullptr, &watch).ok());  // no workspace
    CHECK(log.empty());
}

TEST_CASE("a timer adds up the launches of each row, the slowest first", "[observer][timer]") {
    layer c;
    const plan p = planner(watched_table()).plan(c.g.view());
    toy_clock::state clock;
    {
        basic_step_timer<toy_clock> timer(toy_clock{&clock});
        const observer watch = timer.watch();
        lines log;
        launch_all(p, log, &watch);
        const timing t = timer.report();
        REQUIRE(t.state.ok());
        REQUIRE(t.rows.size() == 3);  // both norms run on one row
        CHECK(t.rows[0].row == row_name(p.rows(), p.steps()[0].row));
        CHECK(t.rows[0].launches == 2);
        CHECK(t.rows[0].us == 20);
        CHECK(t.rows[1].launches == 1);
        CHECK(t.rows[1].us == 10);

        CHECK(timer.report().rows.size() == 3);  // again
        timer.clear();
        CHECK(timer.report().rows.empty());
        launch_all(p, log, &watch);
        launch_all(p, log, &watch);
        CHECK(timer.report().rows[0].launches == 4);
        CHECK(clock.created == 16);  // those of the first round were used again
    }
    CHECK(clock.destroyed == 16);
}

TEST_CASE("a timer that a user asks for logs what each row took", "[observer][timer]") {
    layer c;
    const plan p = planner(watched_table()).plan(c.g.view());
    toy_clock::state clock;
    basic_step_timer<toy_clock> timer(toy_clock{&clock});
    std::vector<std::string> said;
    options asked;
    asked.log_to = [&said](const char* line) { said.emplace_back(line); };
    lines log;
    observer watch = timer.watch_if_asked(asked);
    launch_all(p, log, &watch);
    CHECK(clock.created == 0);
    log_as_asked(timer.report(), asked);
    CHECK(said.empty());
    asked.log = log_level::times;
    watch = timer.watch_if_asked(asked);
    launch_all(p, log, &watch);
    log_as_asked(timer.report(), asked);
    REQUIRE(said.size() == 3);
    CHECK(said[0] ==
          "       20.00 us in      2 launches of " + row_name(p.rows(), p.steps()[0].row));
    timing none;
    none.state = failure(status_code::device_error, "the clock stopped");
    log_as_asked(none, asked);
    CHECK(said[3] == "catena: no times: the clock stopped");
}

TEST_CASE("a timer whose clock fails says so and reports nothing", "[observer][timer]") {
    layer c;
    const plan p = planner(watched_table()).plan(c.g.view());
    toy_clock::state clock;
    clock.fail_at = 3;
    basic_step_timer<toy_clock> timer(toy_clock{&clock});
    const observer watch = timer.watch();
    lines log;
    launch_all(p, log, &watch);
    CHECK(log.size() == 4);  // the launches went on
    const timing t = timer.report();
    CHECK_THAT(t.state.message, Contains("the clock stopped"));
    CHECK(t.rows.empty());
    timer.clear();
    clock.fail_at = -1;
    launch_all(p, log, &watch);
    CHECK(timer.report().rows.size() == 3);
}
