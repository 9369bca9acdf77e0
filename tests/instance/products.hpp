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
    visit.template operator()<q4_1, q5_0, q5_1, q5_K>();
    visit.template operator()<q2_K, q3_K, q1_0, q2_0>();
    visit.template operator()<mxfp4, nvfp4, iq4_nl, iq4_xs>();
    visit.template operator()<iq2_xxs, iq2_xs, iq2_s, iq3_s>();
    visit.template operator()<iq3_xxs, iq1_s, iq1_m, tq1_0, tq2_0>();
}

}  // namespace catena_test
