// How a body says that it cannot be compiled for a computation and a policy.
#pragma once

#include "catena/kernel/layout.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Why no kernel can compute so; none: it can.
struct objection {
    const char* rule = nullptr;  ///< a sentence; each {} stands for a number
    std::int64_t number[2] = {};

    constexpr explicit operator bool() const { return rule != nullptr; }
};

constexpr objection threads_objection(int threads) {
    if (threads <= 0 || threads % warp_size != 0)
        return {"{} threads are no whole warps", {threads}};
    return {};
}

}  // namespace CATENA_NAMESPACE
