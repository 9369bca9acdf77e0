#include "printable.hpp"

#include <cstddef>

namespace catena::tool {
namespace {

unsigned char at(std::string_view text, std::size_t i) {
    return static_cast<unsigned char>(text[i]);
}

/// The bytes of the UTF-8 character that `text` begins with, if it is one and no control
/// character; else 0. The second byte rules out long spellings, surrogates and what is too large.
std::size_t character(std::string_view text) {
    const unsigned char first = at(text, 0);
    if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
    const std::size_t size = first < 0xc2 || first > 0xf4 ? 0
                             : first < 0xe0               ? 2
                             : first < 0xf0               ? 3
                                                          : 4;
    if (size == 0 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((at(text, i) & 0xc0) != 0x80) return 0;
    const unsigned char second = at(text, 1);
    const unsigned char least = first == 0xe0   ? 0xa0
                                : first == 0xf0 ? 0x90
                                : first == 0xc2 ? 0xa0  // below it are the controls of Latin-1
                                                : 0x80;
    const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second < least || second > most ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t size = character(text.substr(i));
        if (size == 0) {
            out += {'\\', 'x', digits[at(text, i) >> 4], digits[at(text, i) & 15]};
            ++i;
        }
        out += text.substr(i, size);
        i += size;
    }
    return out;
}

}  // namespace catena::tool
