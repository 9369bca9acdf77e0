// Catena's blocks against those of the real ggml: what one encodes the other decodes.
#include "catena/format/random.hpp"

#include "catena_test/catch.hpp"

#include <ggml.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace {

using catena::format;

struct pairing {
    format ours;
    ggml_type theirs;
    bool same_bytes;  ///< the encoding leaves no choice
};

constexpr pairing pairings[] = {
    {format::q1_0, GGML_TYPE_Q1_0, true},      {format::q2_0, GGML_TYPE_Q2_0, false},
    {format::q4_0, GGML_TYPE_Q4_0, true},      {format::q4_1, GGML_TYPE_Q4_1, true},
    {format::q5_0, GGML_TYPE_Q5_0, true},      {format::q5_1, GGML_TYPE_Q5_1, true},
    {format::q8_0, GGML_TYPE_Q8_0, true},      {format::q2_K, GGML_TYPE_Q2_K, false},
    {format::q3_K, GGML_TYPE_Q3_K, false},     {format::q4_K, GGML_TYPE_Q4_K, false},
    {format::q5_K, GGML_TYPE_Q5_K, false},     {format::q6_K, GGML_TYPE_Q6_K, false},
    {format::iq4_nl, GGML_TYPE_IQ4_NL, false}, {format::iq4_xs, GGML_TYPE_IQ4_XS, false},
    {format::mxfp4, GGML_TYPE_MXFP4, false},   {format::nvfp4, GGML_TYPE_NVFP4, false},
    {format::tq1_0, GGML_TYPE_TQ1_0, true},    {format::tq2_0, GGML_TYPE_TQ2_0, true}};

/// Those that only ggml encodes.
constexpr pairing decoded[] = {
    {format::iq2_xxs, GGML_TYPE_IQ2_XXS, false}, {format::iq2_xs, GGML_TYPE_IQ2_XS, false},
    {format::iq2_s, GGML_TYPE_IQ2_S, false},     {format::iq3_xxs, GGML_TYPE_IQ3_XXS, false},
    {format::iq3_s, GGML_TYPE_IQ3_S, false},     {format::iq1_s, GGML_TYPE_IQ1_S, false},
    {format::iq1_m, GGML_TYPE_IQ1_M, false}};

constexpr std::int64_t k = 4096;

/// Evenly spread from even seeds, a bell curve from odd ones.
std::vector<float> values(unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<float> out(k);
    for (float& x : out) x = static_cast<float>(engine() >> 8) / 8388608.0f - 1.0f;
    if (seed % 2 == 1) catena::fill_random_values(seed, 0, out);
    for (std::size_t i = 0; i < 256; ++i) out[i] *= 500.0f;
    for (std::size_t i = 256; i < 512; ++i) out[i] = 0.0f;
    return out;
}

std::vector<std::byte> encoded_by_ggml(ggml_type type, const std::vector<float>& x) {
    std::vector<std::byte> out(ggml_row_size(type, k));
    ggml_quantize_chunk(type, x.data(), out.data(), 0, 1, k, nullptr);
    return out;
}

std::vector<float> decoded_by_ggml(ggml_type type, const std::vector<std::byte>& row) {
    std::vector<float> out(k);
    ggml_get_type_traits(type)->to_float(row.data(), out.data(), k);
    return out;
}

/// The largest difference in units of a block's own magnitude; ggml may be compiled with
/// contraction.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (std::size_t first = 0; first < a.size(); first += 256) {
        double size = 1e-30;
        double apart = 0;
        for (std::size_t i = first; i < first + 256; ++i) {
            size = std::fmax(size, std::fabs(double{a[i]}));
            apart = std::fmax(apart, std::fabs(double{a[i]} - b[i]));
        }
        most = std::fmax(most, apart / size);
    }
    return most;
}

double error(const std::vector<float>& x, const std::vector<float>& decoded) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += (double{x[i]} - decoded[i]) * (double{x[i]} - decoded[i]);
    return sum;
}

TEST_CASE("What ggml encodes, Catena decodes as ggml does", "[ggml]") {
    for (const pairing& p : pairings) {
        CAPTURE(name(p.ours));
        const std::vector<std::byte> row = encoded_by_ggml(p.theirs, values(1));
        CHECK(difference(decoded_by_ggml(p.theirs, row), catena::decode_row(p.ours, row, k)) <=
              0x1p-22);
    }
}

TEST_CASE("Catena decodes blocks of random weights as ggml does", "[ggml]") {
    for (const std::span<const pairing> list :
         {std::span<const pairing>(pairings), std::span<const pairing>(decoded)})
        for (const pairing& p : list) {
            CAPTURE(name(p.ours));
            std::vector<std::byte> row(ggml_row_size(p.theirs, k));
            catena::fill_random_blocks(p.ours, 1, 0, row);
            CHECK(ggml_validate_row_data(p.theirs, row.data(), row.size()));
            CHECK(decoded_by_ggml(p.theirs, row) == catena::decode_row(p.ours, row, k));
        }
}

TEST_CASE("What Catena encodes is valid to ggml, which decodes it as Catena does", "[ggml]") {
    for (const pairing& p : pairings) {
        CAPTURE(name(p.ours));
        const std::vector<std::byte> row = catena::encode_row(p.ours, values(2));
        CHECK(ggml_validate_row_data(p.theirs, row.data(), row.size()));
        CHECK(difference(decoded_by_ggml(p.theirs, row), catena::decode_row(p.ours, row, k)) <=
              0x1p-22);
    }
}

TEST_CASE("Catena encodes to ggml's bytes, or where there is a choice to no larger error",
          "[ggml]") {
    for (const pairing& p : pairings)
        for (unsigned seed = 0; seed < 8; ++seed) {
            CAPTURE(name(p.ours), seed);
            const std::vector<float> x = values(seed);
            const std::vector<std::byte> ours = catena::encode_row(p.ours, x);
            const std::vector<std::byte> theirs = encoded_by_ggml(p.theirs, x);
            if (p.same_bytes) CHECK(ours == theirs);
            CHECK(error(x, decoded_by_ggml(p.theirs, ours)) <=
                  error(x, decoded_by_ggml(p.theirs, theirs)));
        }
}

}  // namespace
