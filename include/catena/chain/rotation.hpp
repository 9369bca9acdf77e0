// How the elements of a head are turned: pairs of them, each pair by the angle position *
// frequency, as ggml's ROPE says. C++17, so that an engine can read it.
#pragma once

#include "catena/config.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

/// The elements that make a pair, and the position of the token that turns the pair.
enum class pairing : std::uint8_t {
    none,        ///< nothing is turned
    neighbors,   ///< 2i and 2i + 1
    halves,      ///< i and i + dims / 2
    sections,    ///< halves; a token has four positions, and its pairs are cut into four sections
    interleaved  ///< sections, but neighboring pairs belong to different ones
};

/// The numbers of a ROPE, as a graph gives them.
struct rope_numbers {
    pairing pairs = pairing::none;
    std::int32_t dims = 0;     ///< elements of a head that are turned
    std::int32_t first = 0;    ///< first element of a head that is turned
    std::int32_t context = 0;  ///< positions that the model was trained with (YaRN)
    float base = 0;            ///< pair i has the frequency base^(-2i / dims)
    float scale = 1;           ///< factor of all angles, 1 unless they are interpolated
    float mix = 0;        ///< share of the angle without scale, for pairs that turn fast (YaRN)
    float magnitude = 1;  ///< factor of the turned pairs
    float fast = 0, slow = 0;      ///< turns within the context, between which angles are mixed
    std::int32_t section[4] = {};  ///< pairs of each section

    /// Positions of a token.
    CATENA_FN constexpr int positions() const {
        return pairs == pairing::sections || pairs == pairing::interleaved ? 4 : 1;
    }
};

/// Reads the words of a ROPE's op_params; pairing::none: nobody but the engine turns so.
inline rope_numbers rope_of(const std::int32_t (&words)[16]) {
    rope_numbers n;
    const auto number = [&words](int i) {
        float f = 0;
        std::memcpy(&f, &words[i], sizeof f);
        return f;
    };
    n.dims = words[1];
    switch (words[2]) {
        case 0:
            n.pairs = pairing::neighbors;
            break;
        case 2:
            n.pairs = pairing::halves;
            break;
        case 8:
            n.pairs = pairing::sections;
            break;
        case 40:
            n.pairs = pairing::interleaved;
            break;
        default:
            break;
    }
    n.context = words[4];
    n.base = number(5), n.scale = number(6), n.mix = number(7), n.magnitude = number(8);
    n.fast = number(9), n.slow = number(10);
    for (int i = 0; i < 4; ++i) n.section[i] = n.positions() == 4 ? words[11 + i] : 0;
    n.first = words[15];
    return n;
}

/// What a launch needs of these numbers.
struct rotation {
    pairing pairs = pairing::none;
    std::int32_t dims = 0, first = 0;
    std::int32_t section[4] = {};
    std::int32_t sections = 1;         ///< pairs of all sections
    float log2_ratio = 0, rest = 0;    ///< log2 of the ratio of two frequencies, in two parts
    float scale = 1, mix = 0;          ///< scale and mix of rope_numbers
    float ramp_from = 0, ramp_by = 0;  ///< pair i is mixed by 1 - (i - ramp_from) * ramp_by, 0 to 1
    float magnitude = 1;               ///< factor of the turned pairs, with YaRN's factor
};

constexpr bool operator==(const rotation& a, const rotation& b) {
    for (int i = 0; i < 4; ++i)
        if (a.section[i] != b.section[i]) return false;
    return a.pairs == b.pairs && a.dims == b.dims && a.first == b.first &&
           a.sections == b.sections && a.log2_ratio == b.log2_ratio && a.rest == b.rest &&
           a.scale == b.scale && a.mix == b.mix && a.ramp_from == b.ramp_from &&
           a.ramp_by == b.ramp_by && a.magnitude == b.magnitude;
}

/// The ratio of the frequencies of neighboring pairs: an f32, as ggml takes powers of it.
inline float ratio_of(const rope_numbers& n) {
    return std::pow(n.base, -2.0f / static_cast<float>(n.dims));
}

/// The pair that makes so many turns within the context.
inline float pair_of_turns(const rope_numbers& n, float turns) {
    constexpr float two_pi = 6.28318530717958647692f;
    return static_cast<float>(n.dims) * std::log(static_cast<float>(n.context) / (turns * two_pi)) /
           (2 * std::log(n.base));
}

inline rotation rotation_of(const rope_numbers& n) {
    rotation r;
    r.pairs = n.pairs;
    r.dims = n.dims, r.first = n.first;
    int sections = 0;
    for (int i = 0; i < 4; ++i) sections += r.section[i] = n.section[i];
    r.sections = sections > 1 ? sections : 1;
    const double ratio = std::log2(static_cast<double>(ratio_of(n)));
    r.log2_ratio = static_cast<float>(ratio);
    r.rest = static_cast<float>(ratio - static_cast<double>(r.log2_ratio));
    r.scale = n.scale, r.mix = n.mix, r.magnitude = n.magnitude;
    if (n.mix == 0) return r;
    const float from = std::fmax(0.0f, std::floor(pair_of_turns(n, n.fast)));
    const float to = std::fmin(static_cast<float>(n.dims - 1), std::ceil(pair_of_turns(n, n.slow)));
    r.ramp_from = from, r.ramp_by = 1 / std::fmax(0.001f, to - from);
    r.magnitude *= 1 + 0.1f * std::log(1 / n.scale);
    return r;
}

/// Which of a token's positions turns a pair.
CATENA_FN constexpr int section_of(pairing pairs, const std::int32_t (&section)[4],
                                   std::int32_t sections, int pair) {
    const int at = pair % sections;
    if (pairs == pairing::interleaved) {
        const int turn = at % 3;
        return at < 3 * section[turn] ? turn : 3;
    }
    int which = 0;
    for (int end = section[0]; which < 3 && at >= end; end += section[++which]) {
    }
    return which;
}

}  // namespace CATENA_NAMESPACE
