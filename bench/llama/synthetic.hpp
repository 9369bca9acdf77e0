// GGUF files of random weights.
#pragma once

#include <iosfwd>
#include <string>

namespace catena::ab {

/// Writes the GGUF file that a recipe describes, a line for each fact and tensor:
///     str|u32|f32 KEY VALUE
///     i32s KEY VALUE...
///     tensor NAME TYPE MEAN DEVIATION SIZE...     sizes innermost first
/// Weights are random, of that mean and standard deviation, as ggml quantizes them. The file is
/// there as a whole or not at all. Throws a sentence that names the line, or the file.
void write_model(std::istream& recipe, const std::string& file);

}  // namespace catena::ab
