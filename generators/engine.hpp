// What was measured of the engine's own kernels: instances/<arch>/engine.txt, read by the generator
// and compiled into the table. It has the chains that they do faster, as bench/engine.py writes
// them, and verdicts on whole models.
#pragma once

#include "expand.hpp"

#include <filesystem>

namespace catena::generator {

/// Reads the file of every arch that has one under `root`. Throws, naming file and line, on a line
/// that is none of pick/measured_file.hpp's for an engine.
engine_records read_engine(const std::filesystem::path& root);

/// Where an arch's lies, below the root.
std::string engine_path(const arch& target);

}  // namespace catena::generator
