// What every violation is tried with: the catalogue's own entry point. A macro, since template
// arguments in a chain hold commas.
#pragma once

#include "catena/chain/catalogue.hpp"

#define CATENA_USE(...)                                                                            \
    namespace tried {                                                                              \
    using namespace catena::chain;                                                                 \
    constexpr auto chain = __VA_ARGS__;                                                            \
    constexpr catena::lowered_chain plain = lower("", chain);                                      \
    }
