#include "html.hpp"

#include "json_text.hpp"
#include "page_files.hpp"
#include "printable.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace catena::tool {
namespace {

/// JSON that may stand in a script element: nothing in it can end the element.
std::string for_script(const std::string& json) {
    std::string out;
    for (const char c : json)
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    return out;
}

std::string for_text(const std::string& text) {
    std::string out;
    for (const char c : text)
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else
            out += c;
    return out;
}

std::string without_spaces(const std::string& json) {
    return json_text(nlohmann::ordered_json::parse(json), -1);
}

}  // namespace

std::string as_html(const report& r) {
    const std::pair<std::string_view, std::string> places[] = {
        {"@title@", for_text(printable(r.graph.model + ", " + r.graph.case_name))},
        {"@style@", page::style},
        {"@explain@", for_script(without_spaces(as_json(r, false)))},
        {"@page@", for_script(page_data(r))},
        {"@script@", page::script},
    };
    std::string out;
    std::string_view rest = page::skeleton;
    for (const auto& [mark, text] : places) {
        const std::size_t at = rest.find(mark);
        out += rest.substr(0, at);
        out += text;
        rest.remove_prefix(at + mark.size());
    }
    out += rest;
    return out;
}

}  // namespace catena::tool
