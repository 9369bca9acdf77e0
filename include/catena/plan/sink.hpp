// Where lines of text go: a function of the engine's.
#pragma once

#include "catena/config.hpp"

#include <cstdio>
#include <functional>
#include <type_traits>
#include <utility>

namespace CATENA_NAMESPACE {

/// Takes lines without a newline, from every thread that plans. What it calls must not throw.
/// Empty: stderr.
class sink {
  public:
    sink() = default;

    /// A lambda, a std::function or a plain function that takes the text: `const char*`.
    template <class F, std::enable_if_t<std::is_invocable_v<F&, const char*>, int> = 0>
    sink(F line) : line_(std::move(line)) {}

    /// A function that also takes what the engine hands to it.
    sink(void (*line)(const char* text, void* user), void* user) {
        if (line != nullptr) line_ = [line, user](const char* text) { line(text, user); };
    }

    /// Hands a line on.
    void operator()(const char* text) const {
        if (line_)
            line_(text);
        else
            std::fprintf(stderr, "%s\n", text);
    }

  private:
    std::function<void(const char*)> line_;
};

}  // namespace CATENA_NAMESPACE
