// Where lines of text go: a function of the engine's.
#pragma once

#include <cstdio>

namespace catena {

struct sink {
    void (*line)(const char* text, void* user) = nullptr;  ///< `text` has no newline
    void* user = nullptr;

    void operator()(const char* text) const {
        if (line != nullptr)
            line(text, user);
        else
            std::fprintf(stderr, "%s\n", text);
    }
};

}  // namespace catena
