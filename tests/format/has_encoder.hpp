// Which formats encode_row takes.
#pragma once

#include "catena/format/codec.hpp"

namespace catena_test {

constexpr bool has_encoder(catena::format f) {
    using catena::format;
    bool found = false;
    catena::detail::with_codec(
        f, [&]<format F>(std::integral_constant<format, F>) { found = catena::encodes<F>; });
    return found;
}

}  // namespace catena_test
