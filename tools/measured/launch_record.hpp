// A record of decode steps: what each launch took, one after the other. bench/launches.py writes
// it.
#pragma once

#include "catena/pick/problem.hpp"

#include <string>
#include <vector>

namespace catena::tool {

/// A kernel of a decode step. They stand in the order of their starts.
struct recorded_launch {
    double us = 0;      ///< that no earlier kernel hides
    double gap_us = 0;  ///< before it, in which no kernel ran
    int step = -1;      ///< index into launch_record::steps; -1: a kernel of the engine's
    int kernel = -1;    ///< index into launch_record::kernels; -1: a step of Catena's
};

/// What a launch of Catena computed, and by which instance.
struct recorded_step {
    std::string instance;
    problem what;
};

/// A decode step of one model, under one load.
struct recorded_walk {
    std::string model, load;  ///< for readers: nothing is decided by them
    int repeats = 0;          ///< that the times are medians of
    double us = 0;            ///< from the first kernel's start to the last one's end
    std::vector<recorded_launch> launches;
};

struct launch_record {
    std::string file, arch;
    std::string gpu;                                 ///< of arch/gpu.hpp; empty: none of them
    std::string device, driver, cuda, date, commit;  ///< that it was measured with
    std::vector<recorded_step> steps;
    std::vector<std::string> kernels;
    std::vector<recorded_walk> walks;
};

/// Reads a record, plain or gzip. Throws std::runtime_error, naming the file and the place in it.
launch_record read_launches(const std::string& file);

/// The same from a text; `file` is for messages alone.
launch_record parse_launches(const std::string& text, const std::string& file);

}  // namespace catena::tool
