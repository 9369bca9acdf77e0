// Text that came from a file, made fit for a terminal: a name may hold what moves the cursor,
// clears the screen or breaks a line.
#pragma once

#include <string>
#include <string_view>

namespace catena::tool {

/// The text with each byte of a control character, or of what is no UTF-8, as "\x1b". Other
/// characters stay.
std::string printable(std::string_view text);

}  // namespace catena::tool
