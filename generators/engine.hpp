// What a benchmark found the engine's own kernels to be faster at: instances/<arch>/engine.txt,
// written by bench/engine.py, read by the generator and compiled into the table.
#pragma once

#include "expand.hpp"

#include <filesystem>

namespace catena::generator {

/// Reads the medians of every arch that has such a file under `root`. Throws, naming file and line,
/// on a line that is none of pick/measured_file.hpp's for an engine.
engine_medians read_engine(const std::filesystem::path& root);

/// Where an arch's lies, below the root.
std::string engine_path(const arch& target);

}  // namespace catena::generator
