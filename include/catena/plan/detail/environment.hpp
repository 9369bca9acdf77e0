// Options from the environment.
#pragma once

#include "catena/error/message.hpp"
#include "catena/plan/options.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace CATENA_NAMESPACE {

namespace detail {

/// A variable that is set to something, or null.
inline const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

inline void read_switch(const char* name, bool& to, status& state) {
    const char* value = variable(name);
    if (value == nullptr) return;
    const bool on = std::strcmp(value, "1") == 0;
    if (on || std::strcmp(value, "0") == 0)
        to = on;
    else if (state.ok())
        state = failure(status_code::invalid_argument,
                        "%s is '%.40s': set it to 0 or 1, or unset it", name, value);
}

inline void read_count(const char* name, std::int64_t& to, status& state) {
    const char* value = variable(name);
    if (value == nullptr) return;
    const std::size_t digits = std::strspn(value, "0123456789");
    if (digits <= 9 && value[digits] == '\0')
        to = std::strtoll(value, nullptr, 10);
    else if (state.ok())
        state =
            failure(status_code::invalid_argument,
                    "%s is '%.40s': set it to a number below 1000000000, or unset it", name, value);
}

inline void read_log_level(const char* name, log_level& to, status& state) {
    const char* value = variable(name);
    if (value == nullptr) return;
    static constexpr const char* levels[] = {"off", "summary", "steps", "times"};
    for (int l = 0; l < 4; ++l)
        if (std::strcmp(value, levels[l]) == 0) {
            to = static_cast<log_level>(l);
            return;
        }
    if (state.ok())
        state = failure(status_code::invalid_argument,
                        "%s is '%.40s': set it to off, summary, steps or times, or unset it", name,
                        value);
}

}  // namespace detail

options options::from_environment(options base) {
    detail::read_switch("CATENA_ENABLED", base.enabled, base.state);
    detail::read_switch("CATENA_MEASURED_ONLY", base.pick.measured_only, base.state);
    detail::read_switch("CATENA_SAME_BITS", base.pick.same_bits, base.state);
    detail::read_count("CATENA_MAX_COLUMNS", base.pick.max_columns, base.state);
    detail::read_switch("CATENA_DEPENDENT_LAUNCH", base.pick.dependent_launch, base.state);
    detail::read_switch("CATENA_ERROR_ON_FALLBACK", base.error_on_fallback, base.state);
    detail::read_switch("CATENA_VERIFY", base.verify, base.state);
    detail::read_log_level("CATENA_LOG", base.log, base.state);
    if (const char* names = detail::variable("CATENA_CHAINS_OFF")) {
        if (!base.chains_off.empty()) base.chains_off += ',';
        base.chains_off += names;
    }
    return base;
}

}  // namespace CATENA_NAMESPACE
