// A small graph as JSON, to be read as it is or broken in one place.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace catena_test {

/// rms_norm, mul(weight), reshape, mul_mat of q4_K, view of its result, add. Ids: 0 x, 1 norm
/// weight, 2 matrix, 3 rms_norm, 4 mul, 5 reshape, 6 mul_mat, 7 view, 8 add.
nlohmann::json small_graph();

/// A path for a file of this test run, in the directory for temporary files.
std::string scratch(const std::string& name);

void write_file(const std::string& path, const std::string& bytes);
std::string gzipped(const std::string& text);

}  // namespace catena_test
