// Which ggml the drop-in may meet: ggml's interface for backends changes between commits.
#pragma once

#include <algorithm>
#include <string>

namespace catena_drop_in {

struct ggml_build {
    std::string version;
    std::string commit;  ///< as git shortens it, with -dirty if files were changed; or "unknown"
};

inline bool is_same(const ggml_build& a, const ggml_build& b) {
    if (a.version != b.version) return false;
    if (a.commit == "unknown" || b.commit == "unknown") return true;  // built outside of git
    const auto digits = [](const std::string& c) { return std::min(c.find('-'), c.size()); };
    const std::size_t both = std::min(digits(a.commit), digits(b.commit));
    return a.commit.compare(0, both, b.commit, 0, both) == 0;
}

}  // namespace catena_drop_in
