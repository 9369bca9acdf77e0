// Names of instances: a policy that is read is spelled the same again.
#include "catena/pick/name.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto read = catena::row_named(text);
    if (!read) return 0;
    const std::string policy = "." + catena::policy_part(read->policy) + ".";
    if (text.find(policy) != text.npos) return 0;
    std::fprintf(stderr, "%.*s has a policy that is spelled %s\n", static_cast<int>(size),
                 text.data(), policy.c_str());
    std::abort();
}
