// Building a status' sentence without allocating.
#pragma once

#include "catena/error/status.hpp"

#include <cstdio>

namespace CATENA_NAMESPACE {

/// A failure whose message is printf's rendering of `format`, cut to fit.
template <class... Args>
status failure(status_code code, const char* format, Args... args) {
    status out;
    out.code = code;
    std::snprintf(out.message, sizeof(out.message), format, args...);
    return out;
}

inline status failure(status_code code, const char* message) {
    return failure(code, "%s", message);
}

}  // namespace CATENA_NAMESPACE
