#include "wrap.hpp"

#include <algorithm>

namespace catena::tool {
namespace {

constexpr std::size_t latest_column = 40;  // text that begins later leaves too little room

/// Characters of UTF-8 text.
std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

/// Where the rest of a broken line begins.
std::size_t hanging(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t gap = line.find("  ", indent);
    const std::size_t second = line.find_first_not_of(' ', gap);
    if (gap != line.npos && second != line.npos && columns(line.substr(0, second)) <= latest_column)
        return columns(line.substr(0, second));
    return indent >= latest_column / 2 ? indent : indent + 2;
}

void put_line(std::string& out, std::string_view line, std::size_t width) {
    if (columns(line) <= width || line.find_first_not_of(' ') == line.npos) {
        out += line;
        return;
    }
    const std::size_t hang = hanging(line);
    std::size_t at = 0, taken = 0;
    while (at < line.size()) {
        const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
        const std::size_t end = std::min(line.find(' ', word), line.size());
        const std::string_view piece = line.substr(at, end - at);  // with the spaces before it
        if (taken > hang && taken + columns(piece) > width) {
            out += '\n' + std::string(hang, ' ');
            taken = hang;
            at = word;
            continue;
        }
        out += piece;
        taken += columns(piece);
        at = end;
    }
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width) {
    if (width == 0) return std::string(text);
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        put_line(out, text.substr(0, end), width);
        if (end < text.size()) out += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

}  // namespace catena::tool
