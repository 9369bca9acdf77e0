// What `catena bench` found, as text, as a table for other programs and as JSON.
#pragma once

#include "candidates.hpp"

#include <string>
#include <vector>

namespace catena::tool {

struct bench_report {
    const bench_request& asked;
    std::string machine;
    std::vector<candidate> all;  ///< those that serve first

    /// Exit code: 1 a result is wrong, 3 none is and this build lacks a kernel, 0 all agree.
    int exit_code() const;
    bool measured() const;
};

std::string as_text(const bench_report& r);
std::string as_markdown(const bench_report& r);
std::string as_csv(const bench_report& r);
std::string as_json(const bench_report& r);

}  // namespace catena::tool
