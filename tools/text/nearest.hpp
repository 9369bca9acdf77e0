// What a mistyped word was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace catena::tool {

/// The first of the words known that are nearest to `word`; empty if all differ in more than a
/// third of its letters.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'sm_90'?", or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace catena::tool
