// Damage at seeded random places: whatever the bytes, the reader answers with a graph or with its
// error.
#include "catena/engine/json.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"

#include <cstdio>
#include <random>
#include <string>

using namespace catena;

namespace {

/// A graph that is read must also be safe to walk.
void walk(const json::graph& g) {
    const graph_view view = g.view();
    std::int64_t sum = 0;
    for (int n = 0; n < view.size(); ++n) {
        const tensor& t = view.node(n);
        for (const std::int32_t s : t.src)
            if (s != no_tensor) sum += extent_bytes(view.at(s)) + view.at(s).name[0];
        sum += elements(t) + t.uses;
    }
    CHECK(sum != -1);
}

enum class verdict { read, refused };

template <class F>
verdict tried(F&& make) {
    try {
        walk(make());
        return verdict::read;
    } catch (const json::error& e) {
        CHECK(std::string(e.what()).size() > 10);
        return verdict::refused;
    }
}

}  // namespace

TEST_CASE("text that ends anywhere early is refused", "[json][damage]") {
    const std::string text = catena_test::small_graph().dump();
    for (std::size_t end = 0; end < text.size(); ++end)
        REQUIRE(tried([&] { return json::parse(std::string_view(text).substr(0, end), "cut"); }) ==
                verdict::refused);
}

TEST_CASE("text with replaced bytes is read or refused, never more", "[json][damage]") {
    const std::string text = catena_test::small_graph().dump();
    std::mt19937 random{20261121};
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string damaged = text;
        for (auto n = 1 + random() % 3; n > 0; --n) {
            const std::size_t at = random() % damaged.size();
            // Digits and punctuation keep the text parsable more often, so that later checks are
            // reached.
            damaged[at] = round % 2 == 0 ? "0123456789-,[]n"[random() % 15]
                                         : static_cast<char>(random() % 256);
        }
        refused += tried([&] { return json::parse(damaged, "damaged"); }) == verdict::refused;
    }
    CHECK(refused > 1000);
    CHECK(refused < 4000);
}

TEST_CASE("numbers replaced by extreme ones are read or refused, never more", "[json][damage]") {
    std::mt19937 random{7};
    const nlohmann::json extremes = {0,
                                     -1,
                                     1,
                                     2147483647,
                                     4294967296,
                                     nullptr,
                                     1e300,
                                     INT64_MAX,
                                     INT64_MIN,
                                     UINT64_MAX,
                                     "x",
                                     true,
                                     nlohmann::json::array()};
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        auto damaged = catena_test::small_graph();
        auto& t = damaged["tensors"][random() % 9];
        auto field = t.begin();
        std::advance(field, static_cast<std::ptrdiff_t>(random() % t.size()));
        const auto& v = extremes[random() % extremes.size()];
        if (field->is_array() && !field->empty())
            (*field)[random() % field->size()] = v;
        else
            *field = v;
        refused +=
            tried([&] { return json::parse(damaged.dump(), "damaged"); }) == verdict::refused;
    }
    CHECK(refused > 1000);
    CHECK(refused < 4000);
}

TEST_CASE("a gzip file that is cut or has a replaced byte is refused or read", "[json][damage]") {
    const std::string bytes = catena_test::gzipped(catena_test::small_graph().dump());
    const std::string path = catena_test::scratch("damage.json.gz");
    std::mt19937 random{11};
    for (int round = 0; round < 300; ++round) {
        std::string damaged = bytes;
        if (round % 2 == 0)
            damaged.resize(random() % bytes.size());
        else
            damaged[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
        catena_test::write_file(path, damaged);
        const verdict v = tried([&] { return json::read(path); });
        if (round % 2 == 0) CHECK(v == verdict::refused);
    }
    std::remove(path.c_str());
}
