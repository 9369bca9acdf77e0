#include "catena/format/random.hpp"
#include "catena_test/catch.hpp"

#include <cmath>

using namespace catena;

namespace {

const std::vector<format> formats = [] {
    std::vector<format> all;
    for (int i = 1; i < format_count; ++i)
        if (has_codec(static_cast<format>(i))) all.push_back(static_cast<format>(i));
    return all;
}();

std::vector<std::byte> blocks(format f, std::uint64_t seed, std::uint64_t first,
                              std::size_t count) {
    std::vector<std::byte> out(count * static_cast<std::size_t>(info(f).block_bytes));
    fill_random_blocks(f, seed, first, out);
    return out;
}

}  // namespace

TEST_CASE("any part of a random matrix can be made alone") {
    for (const format f : formats) {
        INFO(name(f));
        const auto size = static_cast<std::size_t>(info(f).block_bytes);
        const std::vector<std::byte> all = blocks(f, 5, 0, 64);
        const std::vector<std::byte> part = blocks(f, 5, 40, 10);
        CHECK(std::equal(part.begin(), part.end(), all.begin() + std::ptrdiff_t(40 * size)));
    }
    std::vector<float> all(100), part(10);
    fill_random_values(5, 0, all);
    fill_random_values(5, 70, part);
    CHECK(std::equal(part.begin(), part.end(), all.begin() + 70));
}

TEST_CASE("another seed gives other blocks, and so does another place") {
    for (const format f : formats) {
        INFO(name(f));
        CHECK(blocks(f, 1, 0, 8) != blocks(f, 2, 0, 8));
        CHECK(blocks(f, 1, 0, 8) != blocks(f, 1, 8, 8));
    }
}

TEST_CASE("random values are a bell curve of deviation one, the same on every machine") {
    std::vector<float> values(1 << 16);
    fill_random_values(9, 0, values);
    double sum = 0, squares = 0, beyond_two = 0;
    for (const float x : values) {
        sum += x;
        squares += static_cast<double>(x) * x;
        beyond_two += std::fabs(x) > 2;
        REQUIRE(std::fabs(x) < 3.47f);
    }
    const auto n = static_cast<double>(values.size());
    CHECK(std::fabs(sum / n) < 0.02);
    CHECK(std::sqrt(squares / n) == Approx(1).epsilon(0.02));
    CHECK(beyond_two / n == Approx(0.04).epsilon(0.2));
    static_assert(random_bits(0, 0) == 0xe220a8397b1dcdafu, "splitmix64's first output");
    CHECK(f32_bits(random_value(0, 0)) == 0x3fb6dd01);
}

TEST_CASE("random blocks decode to finite values of a deviation near one in fifty") {
    for (const format f : formats) {
        INFO(name(f));
        const std::size_t count = (1 << 16) / static_cast<std::size_t>(info(f).block_elements);
        const std::vector<std::byte> row = blocks(f, 11, 0, count);
        const std::vector<double> values = decode_row<double>(f, row, 1 << 16);
        double sum = 0, squares = 0;
        for (const double x : values) {
            REQUIRE(std::fabs(x) < 0.125);
            sum += x;
            squares += x * x;
        }
        const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
        CHECK(deviation > 0.015);
        CHECK(deviation < 0.03);
        CHECK(std::fabs(sum / static_cast<double>(values.size())) < 0.03 * deviation);
    }
}

TEST_CASE("a part of a block is refused") {
    std::vector<std::byte> out(35);
    CHECK_THROWS_WITH(fill_random_blocks(format::q8_0, 0, 0, out),
                      "35 bytes are no whole number of q8_0 blocks of 34.");
    CHECK_THROWS_AS(fill_random_blocks(format::i32, 0, 0, out), std::invalid_argument);
}
