// The files of page/, as text. Their definitions are written by embed.cmake when the command is
// built.
#pragma once

namespace catena::tool::page {

extern const char* const skeleton;  ///< page.html, with a mark for each part
extern const char* const style;     ///< page.css
extern const char* const script;    ///< every .js file, one after the other

}  // namespace catena::tool::page
