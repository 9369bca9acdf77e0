// Numbers that a test takes from the environment.
#pragma once

#include <cstdlib>

namespace catena_test {

/// A number from the environment, or `otherwise`.
inline unsigned asked(const char* variable, unsigned otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

}  // namespace catena_test
