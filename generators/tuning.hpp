// What a tuner measured on one GPU: instances/<arch>/tuning.json. The generator takes policies and
// their evidence from it; a tuner that was interrupted goes on from it.
#pragma once

#include "expand.hpp"

#include "catena/pick/config.hpp"
#include "catena/pick/problem.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace catena::generator {

/// The machine. Clocks are the highest that its driver names, in MHz.
struct tuned_on {
    std::string gpu, driver, cuda, date;
    int sm_mhz = 0, memory_mhz = 0;
};

/// What became of a candidate on a problem.
enum class verdict {
    open,    ///< still in the running
    chosen,  ///< the simplest of those that nothing beats
    tied,    ///< no slower than the chosen one beyond the noise, and less simple
    slower,  ///< beaten beyond the noise
    failed,  ///< not compiled, or its result is wrong: `why`
    unrun    ///< time ran out before it was measured
};
constexpr const char* name(verdict v) {
    constexpr const char* names[] = {"open", "chosen", "tied", "slower", "failed", "unrun"};
    return names[static_cast<int>(v)];
}
inline constexpr int verdict_count = 6;

struct tuned_candidate {
    catena::policy policy;
    int registers = 0;
    launch_shape shape = {};  ///< as it was timed; no resident blocks: nobody wrote it down
    warp_codes code = {};     ///< of the kernel that was timed; none: nobody wrote it down
    double predicted_us = 0;
    verdict is = verdict::open;
    std::string why;  ///< of a failed one
    int samples = 0;
    double median_us = 0;
    double spread = 0;       ///< half the distance of the quartiles, relative
    std::vector<double> us;  ///< the samples, until the problem is decided
};

struct tuned_problem {
    computation computes;  ///< the catalogue's row that serves it
    problem what;
    int places = 0;  ///< launches of the given graphs that it stands for
    bool decided = false;
    std::vector<tuned_candidate> candidates;
};

struct tuning {
    std::string arch;
    tuned_on on;
    std::vector<tuned_problem> problems;
};

/// Reads a file's text. Throws std::runtime_error that names `file` and what is wrong with it.
tuning parse_tuning(const std::string& text, const std::string& file);
std::string tuning_text(const tuning& t);

std::string tuning_path(const arch& target);

/// Reads the record of every arch that has one under `root`.
tunings read_tunings(const std::filesystem::path& root);

/// An engine's own records: the files `<arch>.json` of a folder, which `catena tune --out` wrote.
/// Throws std::runtime_error, naming the file, where it is called or made for another arch, or is
/// of a simulated GPU, and if the folder has none.
tunings read_own_tunings(const std::filesystem::path& folder);

/// A policy that a record proves, and its best evidence.
struct proven_policy {
    catena::policy policy;
    tuned_candidate evidence;  ///< of the problem with the most places
};
/// The policies that a record proves for a computation: those listed that nothing beats on some
/// problem, and the fewest others, of equals the simplest, such that every problem that was decided
/// has one that nothing beats. Empty: none was measured.
std::vector<proven_policy> proven_policies(const tuning& t, const computation& c,
                                           const std::vector<policy>& listed = {});

/// `rows` of a computation, all of them, and behind them those that a tuner found on this arch.
/// Medians alone pick the latter: a record decides the problems that it has measured, and no other.
std::vector<row> tuned_rows(const arch& target, const std::vector<row>& rows, const tunings& all);

/// The medians of the set's rows on every problem.
std::vector<measurement> medians_of(const instance_set& set, const tunings& all);

}  // namespace catena::generator
