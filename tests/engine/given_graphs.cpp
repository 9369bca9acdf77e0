#include "catena/engine/json.hpp"

#include "catena_test/catch.hpp"

#include <filesystem>
#include <string>

using namespace catena;

TEST_CASE("every given graph is read, and nothing in it reads what runs later", "[json][graphs]") {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs")) {
        if (entry.path().extension() != ".gz") continue;
        ++files;
        const json::graph g = json::read(entry.path().string());
        INFO(g.file);
        CHECK(g.tensors.size() > 1000);
        std::int64_t edges = 0, uses = 0;
        for (const tensor& t : g.tensors) {
            uses += t.uses;
            for (const std::int32_t s : t.src) edges += s != no_tensor;
        }
        CHECK(edges == uses);
        for (const tensor& t : g.tensors) CHECK(t.type != format::unknown);
    }
    CHECK(files == 27);
}
