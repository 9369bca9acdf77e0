#include "catena/format/format.hpp"
#include "catena_test/catch.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

using namespace catena;

TEST_CASE("every format's name is its own and finds it again") {
    std::set<std::string> names;
    for (int i = 0; i < format_count; ++i) {
        const auto f = static_cast<format>(i);
        INFO(name(f));
        CHECK(names.insert(name(f)).second);
        CHECK(format_named(name(f)) == f);
    }
    CHECK(format_named("q4_k") == format::unknown);
    CHECK(format_named("q4_K ") == format::unknown);
    CHECK(format_named("") == format::unknown);
}

TEST_CASE("block sizes are those of ggml") {
    CHECK(row_bytes(format::f32, 3) == 12);
    CHECK(row_bytes(format::bf16, 3) == 6);
    CHECK(row_bytes(format::q8_1, 64) == 72);
    CHECK(row_bytes(format::q8_1_mmq_d4, 256) == 288);
    CHECK(row_bytes(format::q8_1_mmq_ds4, 256) == 288);
    CHECK(row_bytes(format::q8_0, 4096) == 4352);
    CHECK(row_bytes(format::q4_0, 4096) == 2304);
    CHECK(row_bytes(format::q4_K, 4096) == 2304);
    CHECK(row_bytes(format::q6_K, 4096) == 3360);
    CHECK(row_bytes(format::mxfp4, 2880) == 1530);
}

TEST_CASE("every format but unknown has a block, and plain ones have one element in it") {
    CHECK(info(format::unknown).block_elements == 0);
    for (int i = 1; i < format_count; ++i) {
        const format_info& f = format_registry[i];
        INFO(f.name);
        CHECK(f.block_elements > 0);
        CHECK(f.block_bytes > 0);
        const bool quantized = f.role == format_role::weight || f.role == format_role::activation;
        if (!scales_apart(static_cast<format>(i))) CHECK((f.block_elements > 1) == quantized);
        if (quantized) CHECK(f.block_bytes <= 2 * f.block_elements);  // no larger than f16
    }
}

TEST_CASE("the tables of the documentation have every quantized format with its block") {
    std::ifstream file(CATENA_SOURCE_DIR "/docs/formats.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    for (const format_info& f : format_registry)
        if (f.role == format_role::weight || f.role == format_role::activation)
            CHECK_THAT(page, Catch::Matchers::Contains("\n| " + std::string(f.name) + " | " +
                                                       std::to_string(f.block_elements) + " | " +
                                                       std::to_string(f.block_bytes) + " |"));
}

TEST_CASE("only activation rows are stored with padding, to whole groups of 512") {
    CHECK(stored_elements(format::q8_1, 0) == 0);
    CHECK(stored_elements(format::q8_1, 32) == 512);
    CHECK(stored_elements(format::q8_1, 512) == 512);
    CHECK(stored_elements(format::q8_1, 2880) == 3072);
    CHECK(stored_elements(format::q8_1_mmq_d4, 128) == 512);
    CHECK(stored_elements(format::q8_1_mmq_ds4, 640) == 1024);
    CHECK(stored_elements(format::q8_0, 32) == 32);
    CHECK(stored_elements(format::f32, 7) == 7);
}

TEST_CASE("a set of formats has exactly its members") {
    const format_set both = format_set::of(format::q4_K) | format::q6_K;
    CHECK(both.size() == 2);
    CHECK(both.has(format::q4_K));
    CHECK(both.has(format::q6_K));
    CHECK_FALSE(both.has(format::q8_0));
    CHECK(both.contains(format_set::of(format::q6_K)));
    CHECK_FALSE(format_set::of(format::q6_K).contains(both));
    CHECK(format_set{}.empty());
    std::vector<format> in_order;
    for (const format f : both | static_cast<format>(1) | static_cast<format>(format_count - 1))
        in_order.push_back(f);
    CHECK(in_order == std::vector<format>{static_cast<format>(1), format::q4_K, format::q6_K,
                                          static_cast<format>(format_count - 1)});
    CHECK(static_cast<format_set>(both | format::q4_K) == both);
    static_assert(format_count <= 64, "format_set is one word of 64 bits");
}
