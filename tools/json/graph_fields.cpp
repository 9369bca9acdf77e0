#include "graph_fields.hpp"

#include <fmt/format.h>

namespace CATENA_NAMESPACE::json {

std::string shown(const value& v) {
    std::string s = v.dump(-1, ' ', true, value::error_handler_t::replace);
    if (s.size() > 60) s.replace(57, s.size(), "...");
    return s;
}

const value& field(const location& at, const char* name) {
    const auto found = at.object.find(name);
    if (found == at.object.end()) at.fail(name, "is missing");
    return *found;
}

std::string text(const location& at, const char* name) {
    const value& v = field(at, name);
    if (!v.is_string()) at.fail(name, fmt::format("expected a string, found {}", shown(v)));
    return v.get<std::string>();
}

bool truth(const location& at, const char* name) {
    const value& v = field(at, name);
    if (!v.is_boolean()) at.fail(name, fmt::format("expected true or false, found {}", shown(v)));
    return v.get<bool>();
}

const value& array(const location& at, const char* name, std::size_t min, std::size_t max) {
    const value& v = field(at, name);
    if (!v.is_array()) at.fail(name, fmt::format("expected an array, found {}", shown(v)));
    if (v.size() < min || v.size() > max)
        at.fail(name, min == max ? fmt::format("expected {} elements, found {}", min, v.size())
                                 : fmt::format("expected {} to {} elements, found {}", min, max,
                                               v.size()));
    return v;
}

std::int64_t whole(const location& at, const std::string& name, const value& v, std::int64_t min,
                   std::int64_t max) {
    if (!v.is_number_integer())
        at.fail(name, fmt::format("expected an integer, found {}", shown(v)));
    const bool too_large = v.is_number_unsigned() &&
                           v.get<std::uint64_t>() >
                               static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const std::int64_t n = too_large ? 0 : v.get<std::int64_t>();
    if (too_large || n < min || n > max)
        at.fail(name,
                fmt::format("expected an integer from {} to {}, found {}", min, max, shown(v)));
    return n;
}

}  // namespace CATENA_NAMESPACE::json
