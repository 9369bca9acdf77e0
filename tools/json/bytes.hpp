// The text of a graph file, unpacked.
#pragma once

#include "catena/config.hpp"

#include <cstddef>
#include <string>

namespace CATENA_NAMESPACE::json {

/// The most text of a graph file that is read, in bytes. What it becomes takes some ten times as
/// much memory, and gzip packs a thousand bytes into one.
inline constexpr std::size_t most_text = std::size_t{64} << 20;

/// Every byte of the file, unpacked if it is gzip, of one member or several. Throws json::error if
/// it is absent, truncated, damaged or too long, or if something else stands behind the gzip data.
std::string bytes_of(const std::string& path);

}  // namespace CATENA_NAMESPACE::json
