// How weight bytes travel from global to shared memory: what an executor's stream is made for.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

enum class copy_method : std::uint8_t {
    plain,  ///< loads and stores of any alignment; every arch
    async,  ///< cp.async, 16 bytes a thread (sm_80)
    bulk    ///< cp.async.bulk with an mbarrier per stage (sm_90)
};

}  // namespace CATENA_NAMESPACE
