// Rows of any format that has a codec, by its run-time name: for tools, tests and references on the
// host. To add a format: write format/<name>.hpp with its codec and include it here.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/fp8.hpp"
#include "catena/format/half_mma.hpp"
#include "catena/format/iq1.hpp"
#include "catena/format/iq2.hpp"
#include "catena/format/iq3.hpp"
#include "catena/format/iq4.hpp"
#include "catena/format/mxfp4.hpp"
#include "catena/format/plain.hpp"
#include "catena/format/q1_0.hpp"
#include "catena/format/q2_K.hpp"
#include "catena/format/q3_K.hpp"
#include "catena/format/q4_K.hpp"
#include "catena/format/q4_q5.hpp"
#include "catena/format/q6_K.hpp"
#include "catena/format/q8_0.hpp"
#include "catena/format/q8_1.hpp"
#include "catena/format/q8_1_mmq.hpp"
#include "catena/format/tq.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

template <format F>
concept has_block = requires {
    typename codec<F>::block;
};

/// Formats whose levels come from a codebook have no encoder: random blocks stand in for one.
template <format F>
concept encodes = requires(const float* in, typename codec<F>::block* out) {
    codec<F>::encode(in, out);
};
template <format F>
concept bounds = requires(typename codec<F>::block* b) {
    codec<F>::bound(b);
};

/// True when codec<F> is there; an error that names what is missing when it is there in part.
template <format F>
consteval bool complete_codec() {
    if constexpr (has_block<F>) {
        using block = typename codec<F>::block;
        static_assert(sizeof(block) == static_cast<std::size_t>(info(F).block_bytes),
                      "codec<F>::block must have the block_bytes of F's row in format_registry");
        static_assert(std::is_trivially_copyable_v<block>, "codec<F>::block must be plain data");
        static_assert(encodes<F> || bounds<F>,
                      "codec<F> lacks: static void encode(const float* in, block* out); a format "
                      "without an encoder has static void bound(block* b), for random blocks");
        static_assert(
            requires(const block* in, float* out) { codec<F>::decode(in, out); } &&
                requires(const block* in, double* out) { codec<F>::decode(in, out); },
            "codec<F> lacks: template <class Real> static void decode(const block* in, Real* out)");
    }
    return has_block<F>;
}

namespace detail {

/// Calls visit(std::integral_constant<format, F>) for the format that f is, if it has a codec.
template <class Visit>
constexpr bool with_codec(format f, Visit visit) {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
        const auto one = [&]<format F>(std::integral_constant<format, F> id) {
            if constexpr (complete_codec<F>()) {
                if (f != F) return false;
                visit(id);
                return true;
            } else {
                return false;
            }
        };
        return (one(std::integral_constant<format, static_cast<format>(I)>{}) || ...);
    }
    (std::make_integer_sequence<int, format_count>{});
}

}  // namespace detail

/// Can host code read rows of the format?
constexpr bool has_codec(format f) {
    return detail::with_codec(f, [](auto) {});
}

/// Bytes of a stored row of `elements`: of an activation with its padding.
constexpr std::int64_t stored_bytes(format f, std::int64_t elements) {
    return row_bytes(f, stored_elements(f, elements));
}

namespace detail {

inline void check_row(format f, std::int64_t elements, std::size_t bytes) {
    const std::string format_name = name(f);
    if (!has_codec(f))
        throw std::invalid_argument("There is no codec for format " + format_name +
                                    ": add include/catena/format/" + format_name +
                                    ".hpp and include it from codec.hpp.");
    if (elements % info(f).block_elements != 0)
        throw std::invalid_argument("A row of " + std::to_string(elements) +
                                    " elements is no whole number of " + format_name +
                                    " blocks of " + std::to_string(info(f).block_elements) + ".");
    if (bytes != static_cast<std::size_t>(stored_bytes(f, elements)))
        throw std::invalid_argument("A row of " + std::to_string(elements) + " elements of " +
                                    format_name + " takes " +
                                    std::to_string(stored_bytes(f, elements)) +
                                    " bytes; the buffer has " + std::to_string(bytes) + ".");
}

/// Beyond it no scale of the format reaches: those of most are f16.
constexpr float largest_weight(format f) {
    if (f == format::fp8_e4m3) return e4m3_largest;
    if (f == format::nvfp4) return e4m3_largest * e2m1_largest;
    return 65504;
}

inline void check_weights(format f, std::span<const float> values) {
    const float largest = largest_weight(f);
    const auto bad =
        std::ranges::find_if(values, [=](float x) { return !(std::fabs(x) <= largest); });
    if (bad == values.end()) return;
    throw std::invalid_argument("A row of " + std::string(name(f)) + " holds " +
                                std::to_string(*bad) + " at element " +
                                std::to_string(bad - values.begin()) + ": its weights go to " +
                                std::to_string(static_cast<int>(largest)) + ".");
}

}  // namespace detail

/// Writes stored_bytes(f, values.size()) bytes. Throws std::invalid_argument when f has no encoder,
/// the row is no whole number of blocks, `out` has another size, or a weight is not finite or
/// beyond what the format's scales reach.
inline void encode_row(format f, std::span<const float> values, std::span<std::byte> out) {
    detail::check_row(f, std::ssize(values), out.size());
    if (info(f).role == format_role::weight) detail::check_weights(f, values);
    detail::with_codec(f, [&]<format F>(std::integral_constant<format, F>) {
        if constexpr (encodes<F>) {
            auto* block = reinterpret_cast<typename codec<F>::block*>(out.data());
            const float* end = values.data() + values.size();
            for (const float* in = values.data(); in != end; in += info(F).block_elements)
                codec<F>::encode(in, block++);
            std::fill(reinterpret_cast<std::byte*>(block), out.data() + out.size(), std::byte{});
        } else {
            throw std::invalid_argument("Format " + std::string(name(F)) +
                                        " has no encoder, only a decoder: fill_random_blocks makes "
                                        "blocks of it, ggml encodes to it.");
        }
    });
}

/// The same into memory of its own: stored_bytes(f, values.size()).
inline std::vector<std::byte> encode_row(format f, std::span<const float> values) {
    std::vector<std::byte> out(
        static_cast<std::size_t>(has_codec(f) ? stored_bytes(f, std::ssize(values)) : 0));
    encode_row(f, values, out);
    return out;
}

/// Reads values.size() elements from the stored_bytes of `row`; Real is float or double, and double
/// rounds nothing. Throws std::invalid_argument as encode_row does.
template <std::floating_point Real>
void decode_row(format f, std::span<const std::byte> row, std::span<Real> values) {
    detail::check_row(f, std::ssize(values), row.size());
    detail::with_codec(f, [&]<format F>(std::integral_constant<format, F>) {
        const auto* block = reinterpret_cast<const typename codec<F>::block*>(row.data());
        Real* end = values.data() + values.size();
        for (Real* out = values.data(); out != end; out += info(F).block_elements)
            codec<F>::decode(block++, out);
    });
}

/// The same into memory of its own: `elements` values.
template <std::floating_point Real = float>
std::vector<Real> decode_row(format f, std::span<const std::byte> row, std::int64_t elements) {
    std::vector<Real> values(static_cast<std::size_t>(elements));
    decode_row<Real>(f, row, values);
    return values;
}

}  // namespace CATENA_NAMESPACE
