// Watching launches: the order of the calls, and the timer on a clock of its own.
#include "catena/launch/timer.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/log.hpp"
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

/// A clock by which the launches of the first walk take 1, 2, 3 us and so on. Those of the second
/// take 10 us more, those of the third 40 us.
struct toy_clock {
    struct state {
        int launches_of_a_walk = 4;
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
        const int launch = a / 2, walk = launch / s->launches_of_a_walk;
        us = (b - a) * (1 + launch % s->launches_of_a_walk + 10 * walk * walk);
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

TEST_CASE("a timer tells what each step took in the walks of a graph, the slowest first",
          "[observer][timer]") {
    layer c;
    const plan p = planner(watched_table()).plan(c.g.view());
    toy_clock::state clock;
    {
        basic_step_timer<toy_clock> timer(toy_clock{&clock});
        const observer watch = timer.watch();
        lines log;
        for (int walk = 0; walk < 3; ++walk) {
            launch_all(p, log, &watch);
            timer.end_walk();
        }
        const timing t = timer.report();
        REQUIRE(t.state.ok());
        REQUIRE(t.walks.size() == 1);
        CHECK(t.walks[0].walks == 3);
        REQUIRE(t.walks[0].steps.size() == 4);  // both norms run on one row
        for (int i = 0; i < 4; ++i) {
            const step_time& s = t.walks[0].steps[static_cast<std::size_t>(3 - i)];
            const step& planned = p.steps()[static_cast<std::size_t>(i)];
            CHECK(s.step == p.step_name(i));
            CHECK(s.row == row_name(p.rows(), planned.row));
            CHECK(s.bytes == planned.bytes);
            CHECK(s.attainable_us == attainable_us(planned.what, p.rows().limits()));
            CHECK(s.median_us == 11 + i);
            CHECK(s.mean_us == Approx(1 + i + (10 + 40) / 3.0));
        }
        CHECK(t.walks[0].us() == 11 + 12 + 13 + 14);

        CHECK(timer.report().walks[0].walks == 3);  // again
        timer.clear();
        CHECK(timer.report().walks.empty());
        CHECK(clock.created == 8);  // those of the first walk were used again
    }
    CHECK(clock.destroyed == 8);
}

TEST_CASE("a timer keeps the walks of graphs apart", "[observer][timer]") {
    layer decode, prompt;
    prompt.g.matmul(format::q8_0, 64, prompt.g.scaled_norm(prompt.b));
    const plan one = planner(watched_table()).plan(decode.g.view()),
               replanned = planner(watched_table()).plan(decode.g.view()),
               other = planner(watched_table()).plan(prompt.g.view());
    toy_clock::state clock;
    basic_step_timer<toy_clock> timer(toy_clock{&clock});
    const observer watch = timer.watch();
    lines log;
    for (const plan* p : {&one, &other, &replanned}) {
        launch_all(*p, log, &watch);
        timer.end_walk();
    }
    const timing t = timer.report();
    REQUIRE(t.walks.size() == 2);
    CHECK(t.walks[0].walks == 2);
    CHECK(t.walks[1].walks == 1);
}

TEST_CASE("steps of one name that other rows do are other steps to a timer", "[observer][timer]") {
    layer c;
    table slower = watched_table();
    std::vector<row> rows(slower.rows, slower.rows + slower.row_count);
    slower.rows = rows.data();
    const plan one = planner(watched_table()).plan(c.g.view());
    row& used = rows[static_cast<std::size_t>(one.steps()[0].row)];
    row_policy wider = used.policy.row();
    wider.threads *= 2;
    used.policy = wider;
    const plan other = planner(slower).plan(c.g.view());
    REQUIRE(one.step_name(0) == other.step_name(0));
    REQUIRE(row_name(one.rows(), one.steps()[0].row) !=
            row_name(other.rows(), other.steps()[0].row));
    toy_clock::state clock;
    basic_step_timer<toy_clock> timer(toy_clock{&clock});
    const observer watch = timer.watch();
    lines log;
    for (const plan* p : {&one, &other}) {
        launch_all(*p, log, &watch);
        timer.end_walk();
    }
    CHECK(timer.report().walks.size() == 2);
}

TEST_CASE("a launch that failed has no time", "[observer][timer]") {
    layer c;
    table t = watched_table();
    t.launch = [](const void*, const launch_config&, const void*, std::size_t, void*) noexcept {
        return failure(status_code::device_error, "the device is asleep");
    };
    const plan p = planner(t).plan(c.g.view());
    toy_clock::state clock;
    basic_step_timer<toy_clock> timer(toy_clock{&clock});
    const observer watch = timer.watch();
    CHECK(!p.launch(p.steps()[0].launch_at, nullptr, workspace, &watch).ok());
    const timing times = timer.report();
    CHECK(times.state.ok());
    CHECK(times.walks.empty());
}

TEST_CASE("a timer that a user asks for logs the slowest ten steps", "[observer][timer]") {
    layer c;
    id x = c.b;
    for (int i = 0; i < 5; ++i) x = c.g.matmul(format::q8_0, 64, c.g.scaled_norm(x));
    toy_clock::state clock{.launches_of_a_walk = 14};
    basic_step_timer<toy_clock> timer(toy_clock{&clock});
    std::vector<std::string> said;
    options asked;
    asked.log_to = [&said](const char* line) { said.emplace_back(line); };
    const plan p = planner(watched_table()).plan(c.g.view());
    REQUIRE(p.steps().size() == 14);
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
    REQUIRE(said.size() == 11);
    CHECK(said[0] == "catena: 14 steps take 105.00 us, by the median of walks: 1; the slowest 10:");
    char line[128];
    const step_time slowest = timer.report().walks[0].steps[0];
    std::snprintf(line, sizeof line,
                  "       14.00 us, mean 14.00, 13.3 %%, %lld bytes, attainable in %.2f us: ",
                  static_cast<long long>(slowest.bytes), slowest.attainable_us);
    CHECK(said[1] == line + p.step_name(13) + ": " + row_name(p.rows(), p.steps()[13].row));
    timing none;
    none.state = failure(status_code::device_error, "the clock stopped");
    log_as_asked(none, asked);
    CHECK(said[11] == "catena: no times: the clock stopped");
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
    CHECK(t.walks.empty());
    timer.clear();
    clock.fail_at = -1;
    launch_all(p, log, &watch);
    CHECK(timer.report().walks.size() == 1);
}
