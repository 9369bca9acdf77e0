// A report as one self-contained page: the graph layer by layer, what runs where, and why. It loads
// nothing.
#pragma once

#include "report.hpp"

#include <string>

namespace catena::tool {

/// What the page shows beside the report's JSON: nodes, layers, problems, rejected rows, costs. As
/// JSON.
std::string page_data(const report& r);

/// The whole page. It holds as_json(r, false) and page_data(r), each in a script element of its own
/// (ids "explain" and "page"), without a '<'.
std::string as_html(const report& r);

}  // namespace catena::tool
