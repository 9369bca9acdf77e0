// The parts of a page that explain --html wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace catena_test {

/// The text of the script element with this id; empty when there is none.
inline std::string script_text(const std::string& html, const std::string& id) {
    const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
    const std::size_t at = html.find(begin);
    if (at == html.npos) return "";
    const std::size_t from = at + begin.size();
    return html.substr(from, html.find("</script>", from) - from);
}

inline nlohmann::json script_json(const std::string& html, const std::string& id) {
    return nlohmann::json::parse(script_text(html, id));
}

}  // namespace catena_test
