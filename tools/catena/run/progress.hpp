// A line about a long run on standard error: rewritten in place on a terminal, else one every few
// seconds.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace catena::tool {

class progress_line {
  public:
    ~progress_line() {
        if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
    }

    void show(int done, int all, const std::string& what) {
        const auto now = clock::now();
        const auto pause = std::chrono::milliseconds(terminal_ ? 200 : 5000);
        if (shown_ ? now - last_ < pause : !terminal_ && now - start_ < pause) return;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
        fmt::print(stderr, "{}step {} of {}, {} s: {}{}", terminal_ ? "\r\033[K" : "", done + 1,
                   all, seconds, what, terminal_ ? "" : "\n");
        std::fflush(stderr);
        last_ = now;
        shown_ = true;
    }

  private:
    using clock = std::chrono::steady_clock;
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    bool shown_ = false;
    clock::time_point start_ = clock::now(), last_ = start_;
};

}  // namespace catena::tool
