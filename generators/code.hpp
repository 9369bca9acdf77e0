// Plain data as C++ source: designated initializers, fields at their defaults left out.
#pragma once

#include "catena/pick/row.hpp"

#include <string>

namespace catena::generator {

std::string code(format_set formats);
std::string code(const computation& c);
std::string code(const policy& p);
std::string code(const provenance& p);
std::string code(const row& r);
std::string code(const lowered_chain& c);

}  // namespace catena::generator
