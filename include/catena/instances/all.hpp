// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 16c775180cbc0f1f.
// The instance sets that this program links, by the name of their arch. A set is there when its
// target catena::instances_<arch> is linked, which defines CATENA_HAS_<ARCH>.
#pragma once

#if defined(CATENA_HAS_HOST)
#include "catena/instances/host.hpp"
#endif
#if defined(CATENA_HAS_SM_75)
#include "catena/instances/sm_75.hpp"
#endif
#if defined(CATENA_HAS_SM_80)
#include "catena/instances/sm_80.hpp"
#endif
#if defined(CATENA_HAS_SM_86)
#include "catena/instances/sm_86.hpp"
#endif
#if defined(CATENA_HAS_SM_89)
#include "catena/instances/sm_89.hpp"
#endif
#if defined(CATENA_HAS_SM_90)
#include "catena/instances/sm_90.hpp"
#endif
#if defined(CATENA_HAS_SM_100)
#include "catena/instances/sm_100.hpp"
#endif
#if defined(CATENA_HAS_SM_120)
#include "catena/instances/sm_120.hpp"
#endif
#include "catena/error/message.hpp"
#include "catena/pick/row.hpp"

#include <string_view>

namespace CATENA_NAMESPACE::instances {

// Each file has its own of what follows: those of one program may be compiled with different sets.

/// The names of the linked sets, a space before each.
constexpr char built_in[] = ""
#if defined(CATENA_HAS_HOST)
    " host"
#endif
#if defined(CATENA_HAS_SM_75)
    " sm_75"
#endif
#if defined(CATENA_HAS_SM_80)
    " sm_80"
#endif
#if defined(CATENA_HAS_SM_86)
    " sm_86"
#endif
#if defined(CATENA_HAS_SM_89)
    " sm_89"
#endif
#if defined(CATENA_HAS_SM_90)
    " sm_90"
#endif
#if defined(CATENA_HAS_SM_100)
    " sm_100"
#endif
#if defined(CATENA_HAS_SM_120)
    " sm_120"
#endif
    ;

/// The table of `arch`. When its set is not linked: a table without rows, whose state names those
/// that are.
static inline table table_named(const char* arch) {
    [[maybe_unused]] const std::string_view wanted = arch == nullptr ? "" : arch;
#if defined(CATENA_HAS_HOST)
    if (wanted == "host") return host();
#endif
#if defined(CATENA_HAS_SM_75)
    if (wanted == "sm_75") return sm_75();
#endif
#if defined(CATENA_HAS_SM_80)
    if (wanted == "sm_80") return sm_80();
#endif
#if defined(CATENA_HAS_SM_86)
    if (wanted == "sm_86") return sm_86();
#endif
#if defined(CATENA_HAS_SM_89)
    if (wanted == "sm_89") return sm_89();
#endif
#if defined(CATENA_HAS_SM_90)
    if (wanted == "sm_90") return sm_90();
#endif
#if defined(CATENA_HAS_SM_100)
    if (wanted == "sm_100") return sm_100();
#endif
#if defined(CATENA_HAS_SM_120)
    if (wanted == "sm_120") return sm_120();
#endif
    table none;
    none.state = failure(status_code::no_instances,
                         "no instances for arch '%.24s': built in are%s; link "
                         "catena::instances_<arch>",
                         arch == nullptr ? "" : arch, sizeof(built_in) > 1 ? built_in : " none");
    return none;
}

}  // namespace CATENA_NAMESPACE::instances
