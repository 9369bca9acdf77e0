// Text broken into lines that fit a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace catena::tool {

/// The text with each longer line broken at spaces, so that it takes at most `width` columns; a
/// longer word stays whole. The rest of a line begins below its second column, "label  text", if
/// that begins early, else two columns to the right of the line. Width 0: the text as it is.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace catena::tool
