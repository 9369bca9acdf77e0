// Is what two candidates computed the same?
#pragma once

#include "catena/format/format.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace catena::tune {

/// What is wrong with an output beside another candidate's, or an empty string. Candidates of one
/// accumulation order agree bit for bit; others to sum (a-b)^2 / sum b^2 <= 1e-6, or 1e-4 where
/// values are quantized, since one that lies halfway may go either way. Scales and values of the
/// layouts of a matmul are compared bit for bit or not at all. A float that is no number was not
/// written.
std::string difference(std::span<const std::byte> found, std::span<const std::byte> reference,
                       format type, bool same_order);

}  // namespace catena::tune
