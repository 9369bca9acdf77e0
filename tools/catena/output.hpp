// Where results go: standard output, or a file that appears whole or not at all.
#pragma once

#include <string>

namespace catena::tool {

/// Writes `text` to a file beside `path` and renames it; an empty `path` is standard output, and
/// what is no file, such as /dev/null, is written to. Throws failure; then the file, if it was
/// there before, is as it was.
void write_whole(const std::string& path, const std::string& text);

/// Throws as write_whole would where no file can be made, before the work whose result is to go
/// there.
void refuse_unwritable(const std::string& path);

}  // namespace catena::tool
