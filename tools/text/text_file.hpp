// Text files: written whole or not at all.
#pragma once

#include <filesystem>
#include <string>

namespace catena::tool {

/// A file's content, or an empty string when there is none. Throws where something is there that
/// cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Writes beside `path`, then renames. Throws with the path and the reason where the file system
/// refuses.
void write_text(const std::filesystem::path& path, const std::string& content);

}  // namespace catena::tool
