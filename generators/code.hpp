// Plain data as C++ source, in the words of catena/instances/rows.hpp; fields at their defaults are
// left out.
#pragma once

#include "catena/pick/row.hpp"

#include <string>

namespace catena::generator {

std::string code(format_set formats);
std::string code(const computation& c);
std::string code(const provenance& p);
std::string code(const warp_codes& all);
std::string code(const row& r);  ///< a line of rows.inc, without its end
std::string code(const lowered_chain& c);

/// What computations.hpp calls it: "rms_norm_mul_gate_ggml", "matvec_q4_K", "matvec_q4_K_norm",
/// "matmul_q4_K_bf16_mma".
std::string computation_name(const computation& c);

}  // namespace catena::generator
