// What the tests of the inner products share: the formats, in sets that a launch can hold, and the
// policies at the edges of what a body takes.
#pragma once

#include "order.hpp"

namespace catena_test {

/// Calls visit.operator()<Formats...>() for sets that together hold every format that can be taken
/// apart.
template <class Visit>
void every_format(Visit visit) {
    using enum catena::format;
    visit.template operator()<q8_0, q4_0, q4_K, q6_K>();
}

}  // namespace catena_test
