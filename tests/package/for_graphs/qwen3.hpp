#pragma once

#include "catalogue.hpp"  // Catena's

namespace qwen3 {
inline constexpr auto catalogue = catena::catalogue::entries;
}
