// From a format that a launch names to the code that was compiled for it.
#pragma once

#include "catena/config.hpp"
#include "catena/format/format.hpp"

#include <utility>

namespace CATENA_NAMESPACE::kernel {

template <format_set W, format F>
inline constexpr bool holds = W.has(F);

/// Calls `visit` with the format that `type` is, if the set holds it.
template <format_set W>
struct format_list {
    template <class Visit>
    CATENA_FN static void visit(format type, const Visit& visit) {
        each(type, visit, std::make_integer_sequence<int, format_count>{});
    }

  private:
    template <class Visit, int... I>
    CATENA_FN static void each(format type, const Visit& visit, std::integer_sequence<int, I...>) {
        (one<static_cast<format>(I)>(type, visit), ...);
    }
    template <format F, class Visit>
    CATENA_FN static void one(format type, const Visit& visit) {
        if constexpr (holds<W, F>)
            if (type == F) visit.template operator()<F>();
    }
};

}  // namespace CATENA_NAMESPACE::kernel
