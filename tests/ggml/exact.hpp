// What ggml's CPU backend computes with numbers of f16, in double: its own results are no yardstick
// for f32.
#pragma once

#include <ggml.h>

#include <cstddef>
#include <vector>

namespace catena_test {

/// Is a node a GELU, which ggml-cpu looks up in a table of f16 numbers, or a FLASH_ATTN_EXT, which
/// it adds up in f16?
bool rounds_to_f16(const ggml_tensor* t);

/// What such a node makes of its sources.
std::vector<std::byte> exact(const ggml_tensor* t);

}  // namespace catena_test
