// What a cut computed: read back, and compared between two sides.
#pragma once

#include "copies.hpp"

#include <vector>

namespace catena::bench {

/// Fills what the nodes write with NaN, so that what a side leaves out is seen.
void poison_results(const small_graph& placed, const memory& where);

/// Fills it with seeded numbers: what a side that computes only some nodes reads of the others.
void seed_results(const small_graph& placed, const memory& where);

/// The f32 values of every node that leaves the cut, in order.
std::vector<std::vector<float>> read_results(const small_graph& placed, const memory& where);

/// sum (found - expected)^2 / sum expected^2.
double nmse(const std::vector<float>& expected, const std::vector<float>& found);

/// The largest of all values. Both sides quantize what a matmul reads, each in its own way, so 5e-4
/// of it are allowed, as in ggml's own tests, for every value that is quantized on the way.
double worst_nmse(const std::vector<std::vector<float>>& expected,
                  const std::vector<std::vector<float>>& found);
inline constexpr double allowed_nmse = 5e-4;

}  // namespace catena::bench
