#include "nearest.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace catena::tool {
namespace {

constexpr std::size_t letter = 2;  // so that a letter in the wrong case is half as far

std::size_t between(char a, char b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return a == b ? 0 : lower(a) == lower(b) ? letter / 2 : letter;
}

/// Letters to insert, remove or replace, and neighbors to swap, between two words.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last, now(b.size() + 1);
    for (std::size_t j = 0; j < now.size(); ++j) now[j] = letter * j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before = std::move(last);
        last = now;
        now[0] = letter * i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min(
                {last[j] + letter, now[j - 1] + letter, last[j - 1] + between(a[i - 1], b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + letter);
        }
    }
    return now.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
    std::size_t least = letter * std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string found;
    for (const std::string& k : known)
        if (const std::size_t d = distance(word, k); d < least) {
            least = d;
            found = k;
        }
    return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const std::string meant = nearest(word, known);
    return meant.empty() ? meant : "; did you mean '" + meant + "'?";
}

}  // namespace catena::tool
