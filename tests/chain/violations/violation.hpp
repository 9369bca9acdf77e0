// What a violation is tried with. A wrong chain is refused where it is written, an incomplete one
// where a catalogue takes it. Macros, since template arguments in a chain hold commas.
#pragma once

#include "catena/catena.hpp"

#define CATENA_WRITE(...)                                                                          \
    namespace tried {                                                                              \
    using namespace catena::chain;                                                                 \
    constexpr auto chain = __VA_ARGS__;                                                            \
    }

#define CATENA_LIST(...)                                                                           \
    CATENA_WRITE(__VA_ARGS__)                                                                      \
    constexpr auto plain = catena::chain::lower(catena::chain::entry<"tried">(tried::chain));
