// What a program of this folder finds wrong, it prints; its exit code is the number of such
// findings.
#pragma once

#include <cstdio>
#include <string>

namespace catena_test {

inline int wrong = 0;

inline void expect(bool right, const std::string& what) {
    if (right) return;
    std::printf("%s\n", what.c_str());
    ++wrong;
}

}  // namespace catena_test
