// The registry of formats: how numbers lie in memory. One row per format; everything that needs to
// know a block's size or its name reads it here. Sizes are those of ggml 0.25 (ggml-common.h).
#pragma once

#include "catena/bits.hpp"
#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {
/// The use of a format's values.
enum class format_role : std::uint8_t {
    plain,       ///< one number per element
    activation,  ///< quantized on the fly, read by a matmul as its second operand
    weight,      ///< quantized ahead of time, read by a matmul as its first operand
    index        ///< integers: ids, positions
};

// name, elements per block, bytes per block, role.
#define CATENA_FORMATS(X)                                                                          \
    X(f32, 1, 4, plain)                                                                            \
    X(f16, 1, 2, plain)                                                                            \
    X(bf16, 1, 2, plain)                                                                           \
    X(q8_1, 32, 36, activation)                                                                    \
    X(q8_1_mmq_d4, 128, 144, activation)                                                           \
    X(q8_1_mmq_ds4, 128, 144, activation)                                                          \
    X(bf16_mma, 64, 128, activation)                                                               \
    X(f16_mma, 64, 128, activation)                                                                \
    X(int8_token, 1, 1, activation)                                                                \
    X(fp8_tensor, 1, 1, activation)                                                                \
    X(fp8_token, 1, 1, activation)                                                                 \
    X(fp8_group, 128, 128, activation)                                                             \
    X(mxfp8_rows, 32, 32, activation)                                                              \
    X(mxfp4_rows, 32, 16, activation)                                                              \
    X(nvfp4_rows, 16, 8, activation)                                                               \
    X(q8_0, 32, 34, weight)                                                                        \
    X(q4_0, 32, 18, weight)                                                                        \
    X(q4_K, 256, 144, weight)                                                                      \
    X(q6_K, 256, 210, weight)                                                                      \
    X(q1_0, 128, 18, weight)                                                                       \
    X(q2_0, 64, 18, weight)                                                                        \
    X(q4_1, 32, 20, weight)                                                                        \
    X(q5_0, 32, 22, weight)                                                                        \
    X(q5_1, 32, 24, weight)                                                                        \
    X(mxfp4, 32, 17, weight)                                                                       \
    X(nvfp4, 64, 36, weight)                                                                       \
    X(iq4_nl, 32, 18, weight)                                                                      \
    X(q2_K, 256, 84, weight)                                                                       \
    X(q3_K, 256, 110, weight)                                                                      \
    X(q5_K, 256, 176, weight)                                                                      \
    X(iq4_xs, 256, 136, weight)                                                                    \
    X(iq2_xxs, 256, 66, weight)                                                                    \
    X(iq2_xs, 256, 74, weight)                                                                     \
    X(iq2_s, 256, 82, weight)                                                                      \
    X(iq3_xxs, 256, 98, weight)                                                                    \
    X(iq3_s, 256, 110, weight)                                                                     \
    X(iq1_s, 256, 50, weight)                                                                      \
    X(iq1_m, 256, 56, weight)                                                                      \
    X(tq1_0, 256, 54, weight)                                                                      \
    X(tq2_0, 256, 66, weight)                                                                      \
    X(fp8_e4m3, 1, 1, weight)                                                                      \
    X(i8, 1, 1, index)                                                                             \
    X(i16, 1, 2, index)                                                                            \
    X(i32, 1, 4, index)                                                                            \
    X(i64, 1, 8, index)                                                                            \
    X(f64, 1, 8, plain)
/// How numbers lie in memory, by ggml's names and those of other engines.
enum class format : std::uint8_t {
    unknown,  ///< a type this library has never heard of: left to the engine
#define CATENA_ENUMERATOR(name, elements, bytes, role) name,
    CATENA_FORMATS(CATENA_ENUMERATOR)
#undef CATENA_ENUMERATOR
};
/// What the registry says of a format.
struct format_info {
    const char* name;
    int block_elements;  ///< elements per block; 0 for format::unknown
    int block_bytes;     ///< bytes per block; 0 for format::unknown
    format_role role;
};

// clang-format off
CATENA_OWN_TABLE inline constexpr format_info format_registry[] = {
    {"unknown", 0, 0, format_role::plain},
#define CATENA_ROW(name, elements, bytes, role) {#name, elements, bytes, format_role::role},
    CATENA_FORMATS(CATENA_ROW)
#undef CATENA_ROW
};
// clang-format on

inline constexpr int format_count = static_cast<int>(sizeof(format_registry) / sizeof(format_info));
/// The registry's entry of a format; name(f) is its name.
constexpr const format_info& info(format f) { return format_registry[static_cast<int>(f)]; }
constexpr const char* name(format f) { return info(f).name; }

/// a / b, as 32-bit numbers where they are: most sizes are, and a host divides those in a third of
/// the time.
constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) {
    if (((a | b) >> 32) != 0) return a / b;
    return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

/// n / block, and whether it is a whole number: the elements of every block are a power of two.
constexpr std::int64_t blocks_in(std::int64_t n, int block) {
    return n >> lowest_bit(static_cast<std::uint64_t>(block));
}
constexpr bool is_multiple(std::int64_t n, int block) { return (n & (block - 1)) == 0; }
#define CATENA_ROW(name, elements, bytes, role)                                                    \
    static_assert((elements & (elements - 1)) == 0, "the elements of a block are a power of two");
CATENA_FORMATS(CATENA_ROW)
#undef CATENA_ROW

/// Bytes of a contiguous run of `elements`, which must be a multiple of the block.
constexpr std::int64_t row_bytes(format f, std::int64_t elements) {
    return blocks_in(elements, info(f).block_elements) * info(f).block_bytes;
}

/// The format called `text` (case-sensitive, as ggml spells it), or format::unknown.
constexpr format format_named(const char* text) {
    for (int i = 1; i < format_count; ++i) {
        const char* a = format_registry[i].name;
        const char* b = text;
        while (*a != '\0' && *a == *b) ++a, ++b;
        if (*a == *b) return static_cast<format>(i);
    }
    return format::unknown;
}

/// How host code writes and reads a format. Specialized in format/NAME.hpp with, at least,
///   using block = ...;                                     as many bytes as the registry says
///   static void encode(const float* in, block* out);       one block
///   `template <class Real> static void decode(const block* in, Real* out)`  float or double
/// (without encode, where levels come from a codebook: static void bound(block* b), see random.hpp)
/// and included from format/codec.hpp, which turns it into functions of rows.
template <format F>
struct codec {};

/// Activations of 16-bit numbers, in blocks that are rows of a tensor core's operand.
CATENA_FN constexpr bool in_mma_blocks(format f) {
    return f == format::bf16_mma || f == format::f16_mma;
}

/// Elements of a stored row of k: rows of activations are padded with zeros to a multiple of 512,
/// as ggml-cuda does.
CATENA_FN constexpr std::int64_t stored_elements(format f, std::int64_t k) {
    const bool padded = f == format::q8_1 || f == format::q8_1_mmq_d4 ||
                        f == format::q8_1_mmq_ds4 || in_mma_blocks(f);
    return padded ? (k + 511) & ~std::int64_t{511} : k;
}

/// Formats whose rows hold data alone: the scales lie in an array or a tensor of their own.
constexpr bool scales_apart(format f) {
    return f == format::fp8_e4m3 || (f >= format::int8_token && f <= format::nvfp4_rows);
}

/// The number of values of a row that share a scale, for an activation whose scales lie apart: a
/// block of the data, or the whole row. (fp8_tensor has one scale for all rows.)
constexpr std::int64_t scale_group(format f, std::int64_t k) {
    const int block = info(f).block_elements;
    return block > 1 ? block : k;
}

/// Bytes of the scales of a row of k, 0 if they lie with the data. Scales that may be f32, f16 or
/// bf16 count as f32.
constexpr std::int64_t scale_bytes(format f, std::int64_t k) {
    if (!scales_apart(f) || f == format::fp8_tensor || f == format::fp8_e4m3) return 0;
    const bool small =
        f == format::mxfp8_rows || f == format::mxfp4_rows || f == format::nvfp4_rows;
    return k / scale_group(f, k) * (small ? 1 : 4);
}

static_assert(format_count <= 64, "one bit for each format");
/// A set of formats, in their order.
using format_set = enum_set<format, std::uint64_t>;

}  // namespace CATENA_NAMESPACE
