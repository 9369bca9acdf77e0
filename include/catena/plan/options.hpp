// What an engine may ask of a planner. A user in trouble asks the same by environment variables,
// if the engine takes its options through options::from_environment().
#pragma once

#include "catena/error/status.hpp"
#include "catena/pick/preference.hpp"
#include "catena/plan/sink.hpp"

#include <cstdint>
#include <string>

#ifndef CATENA_VERIFY_PLANS
#define CATENA_VERIFY_PLANS 0
#endif

namespace CATENA_NAMESPACE {

/// What a planner logs of each plan that it makes.
enum class log_level : std::uint8_t {
    off,
    summary,  ///< one line
    steps,    ///< a line more for each step and for each node that was left
    times     ///< the summary; steps are timed where the engine has a timer (launch/timer.hpp)
};

/// For planner's constructor. The defaults serve all that the table can serve.
struct options {
    bool enabled = true;  ///< off: every node is the engine's

    /// Chains that are not looked for, by name, with commas or spaces between them. "norm_input" is
    /// the whole chain, "norm_input.q4_K" its matrices of that format. A name that the table does
    /// not know leaves every node to the engine, and plan::state() says so.
    std::string chains_off;

    preference pick;  ///< rows that may be picked, and whether kernels start early

    /// The engine launches kernels programmatically too, and all threads of such a kernel may
    /// return without having waited (griddepcontrol.wait). It is done then while the kernel before
    /// it still runs, so a step behind nodes of the engine starts when all is done, unless the
    /// engine's model says that their kernels wait (engine_model::waits).
    bool engine_may_skip_wait = false;

    /// The version of the engine, such as ggml_version(). A model speaks for those whose kernels
    /// were read.
    std::string engine_version;

    /// A fallback (counters.hpp says what counts as one) leaves every node to the engine, and
    /// plan::state() names the first with its remedy.
    bool error_on_fallback = false;

    /// Proves every new plan right, by plan/verify.hpp. If one is wrong, or its graph overwrites a
    /// value that it still reads, every node stays with the engine, and plan::state() names step,
    /// node and byte. The proof takes about as long as planning. The default follows the build: on
    /// where CATENA_VERIFY_PLANS is 1, as in debug builds.
    bool verify = CATENA_VERIFY_PLANS != 0;

    log_level log = log_level::off;
    sink log_to;  ///< receiver of lines, such as a lambda with a const char*; empty: stderr

    /// Why these options cannot be followed. If it is not ok, every plan leaves all to the engine
    /// and has this state.
    status state;

    /// These options, changed by the environment; a variable that is not set, or empty, changes
    /// nothing:
    ///     CATENA_ENABLED            0 | 1
    ///     CATENA_CHAINS_OFF         names as in chains_off, added to them
    ///     CATENA_MEASURED_ONLY      0 | 1
    ///     CATENA_SAME_BITS          0 | 1
    ///     CATENA_MAX_COLUMNS        a number
    ///     CATENA_DEPENDENT_LAUNCH   0 | 1
    ///     CATENA_ERROR_ON_FALLBACK  0 | 1
    ///     CATENA_VERIFY             0 | 1
    ///     CATENA_LOG                off | summary | steps | times
    /// Another value makes `state` an error that names variable and remedy. Nothing else in Catena
    /// reads the environment; as getenv does, this must not run beside a thread that changes it.
    static options from_environment(options base);
    /// The default options, changed by the environment.
    static options from_environment() { return from_environment(options{}); }
};

}  // namespace CATENA_NAMESPACE
