// Typed access to the fields of a graph file. Each function checks one field and throws
// json::error.
#pragma once

#include "catena/engine/json.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace CATENA_NAMESPACE::json {

using value = nlohmann::json;

/// An object of the file, and how to speak of it when one of its fields is wrong.
struct location {
    const value& object;
    const std::string& file;
    std::int32_t tensor = no_tensor;

    [[noreturn]] void fail(const std::string& field, const std::string& sentence) const {
        throw error(file, tensor, field, sentence);
    }
};

/// A value as it stands in the file, cut to a length that fits a message.
std::string shown(const value& v);

const value& field(const location& at, const char* name);
std::string text(const location& at, const char* name);
bool truth(const location& at, const char* name);
const value& array(const location& at, const char* name, std::size_t min, std::size_t max);

/// The integer `v`, found in the field `name`, if it is one from min to max.
std::int64_t whole(const location& at, const std::string& name, const value& v,
                   std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                   std::int64_t max = std::numeric_limits<std::int64_t>::max());

}  // namespace CATENA_NAMESPACE::json
