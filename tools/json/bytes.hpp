// The text of a graph file, unpacked.
#pragma once

#include <string>

namespace catena::json {

/// Every byte of the file, unpacked if it is gzip. Throws json::error if it is absent, truncated or
/// damaged.
std::string bytes_of(const std::string& path);

}  // namespace catena::json
