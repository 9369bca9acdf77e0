// Cuts of the given graphs: what a chain is, how it grows with the tokens, what it must move.
#include "catena_test/catch.hpp"

#include "chains.hpp"
#include "copies.hpp"
#include "planned.hpp"
#include "sums.hpp"
#include "unfused.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

using namespace catena;
using namespace catena::bench;

namespace {

model given(const char* name) { return model::read(CATENA_TEST_DATA "/graphs", name); }

const chain_case& called(const std::vector<chain_case>& cases, const std::string& begin) {
    const auto at = std::find_if(cases.begin(), cases.end(), [&](const chain_case& c) {
        return c.name.compare(0, begin.size(), begin) == 0;
    });
    REQUIRE(at != cases.end());
    return *at;
}

}  // namespace

TEST_CASE(
    "The chains of a dense model are its two inputs, its two outputs and its feed forward whole") {
    std::vector<std::string> names;
    for (const chain_case& c : chains_of(given("llama-3.1-8b-q8_0"), instances::sm_90()))
        names.push_back(c.name);
    CHECK(names == std::vector<std::string>{"attention input q8_0 4096x4096,1024x4096,1024x4096",
                                            "attention output q8_0 4096x4096",
                                            "ffn input q8_0 14336x4096,14336x4096",
                                            "ffn output q8_0 4096x14336",
                                            "ffn q8_0 14336x4096,14336x4096 then q8_0 4096x14336"});
}

TEST_CASE("A cut for any number of tokens has the shapes that the model has for it") {
    const model m = given("qwen3-30b-a3b-q4km");
    const json::graph prompt =
        json::read(CATENA_TEST_DATA "/graphs/qwen3-30b-a3b-q4km.pp512.json.gz");
    for (const chain_case& c : chains_of(m, instances::sm_90())) {
        CAPTURE(c.name);
        const small_graph g = cut(m, c.nodes, 512);
        std::size_t next = 0;
        for (const std::int32_t node : g.nodes) {
            const tensor& t = g.tensors[static_cast<std::size_t>(node)];
            if (launches_nothing(t.kind)) continue;
            const tensor& is = prompt.view().node(c.nodes[next++]);
            CHECK(std::equal(t.ne, t.ne + 4, is.ne));
            CHECK(std::equal(t.nb, t.nb + 4, is.nb));
        }
        CHECK(next == c.nodes.size());
    }
}

TEST_CASE("What a cut must move is its weights, its inputs and what others read of it") {
    const model m = given("llama-3.1-8b-q8_0");
    const chain_case c = called(chains_of(m, instances::sm_90()), "attention input");
    const double weights = 4096.0 / 32 * 34 * (4096 + 1024 + 1024) + 4096 * 4;
    CHECK(least_bytes(cut(m, c.nodes, 1)) == weights + 4.0 * (4096 + 4096 + 1024 + 1024));
    CHECK(least_bytes(cut(m, c.nodes, 64)) == weights + 64 * 4.0 * (4096 + 4096 + 1024 + 1024));
}

TEST_CASE("The products of a cut are what a library of matrix products is asked for") {
    const table rows = instances::sm_90();
    const model dense = given("llama-3.1-8b-q8_0");
    const chain_case input = called(chains_of(dense, rows), "attention input");
    const products p = products_of(cut(dense, input.nodes, 8));
    CHECK_FALSE(p.others);
    REQUIRE(p.all.size() == 3);
    CHECK(p.all[0] == product{4096, 4096, 8});
    CHECK(p.all[2] == product{1024, 4096, 8});
    const model mixture = given("qwen3-30b-a3b-q4km");
    CHECK(
        products_of(cut(mixture, called(chains_of(mixture, rows), "MoE output").nodes, 8)).others);
}

TEST_CASE("Of experts a cut must move those that tokens can pick") {
    const model m = given("qwen3-30b-a3b-q4km");
    const chain_case c = called(chains_of(m, instances::sm_90()), "MoE output q4_K");
    const double expert = 2048.0 * 768 / 256 * 144;
    const auto weights = [&](int tokens) {
        const small_graph g = cut(m, c.nodes, tokens);
        double others = 0;
        for (std::size_t i = 0; i < g.tensors.size(); ++i)
            if (!g.tensors[i].weight &&
                !(launches_nothing(g.tensors[i].kind) && g.tensors[i].kind != op::none))
                others += static_cast<double>(extent_bytes(g.tensors[i]));
        return least_bytes(g) - others;
    };
    CHECK(std::abs(weights(1) - 8 * expert) < 1);
    CHECK(std::abs(weights(4) - 32 * expert) < 1);
    CHECK(std::abs(weights(512) - 128 * expert) < 1);
}

TEST_CASE("A layer names what is in no side's time, and Catena takes over the rest") {
    const table rows = instances::sm_90();
    const model m = given("llama-3.1-8b-q8_0");
    const layer_case l = layer_of(m, rows);
    CHECK(l.excluded == "FLASH_ATTN_EXT, ROPE x2, SET_ROWS x2");
    const planned_copies planned({cut(m, l.what.nodes, 1)}, rows);
    CHECK(planned.left() == "");
    const auto names = planned.instances();
    const auto inside = std::count_if(names.begin(), names.end(), [](const std::string& instance) {
        const auto row = row_named(instance);  // a launch that makes its norm is two in one
        return row && placement_of(row->policy) != norm_placement::producer;
    });
    CHECK(planned.launches_of_one() + inside == 7);
    CHECK(std::ssize(names) == planned.launches_of_one());
}

TEST_CASE("Unfused, every op has a launch of its own and every matmul quantizes for itself") {
    const table rows = instances::sm_90();
    const table sums = bench::sums(*rows.target, nullptr, nullptr);
    struct wanted {
        const char *model, *name;
        int columns, launches;
        const char* left;
    };
    const wanted w = GENERATE(
        wanted{"llama-3.1-8b-q8_0", "attention input", 1, 5, ""},   // norm, mul, 3 products
        wanted{"llama-3.1-8b-q8_0", "attention output", 1, 2, ""},  // product, sum
        wanted{"llama-3.1-8b-q8_0", "ffn q8_0", 64, 10, ""},        // norm, mul, 3 of two, glu, sum
        wanted{"gpt-oss-20b-mxfp4", "MoE output", 1, 2, "ADD_ID"});
    CAPTURE(w.model, w.name);
    const model m = given(w.model);
    const chain_case c = called(chains_of(m, rows), w.name);
    const unfused_copies apart({cut(m, c.nodes, w.columns)}, rows, sums);
    CHECK(apart.launches_of_one() == w.launches);
    CHECK(apart.left() == w.left);
}

TEST_CASE("Copies have weights of their own, four caches of them, and share the rest") {
    const model m = given("qwen3-8b-q4km");
    const chain_case c = called(chains_of(m, instances::sm_90()), "attention output");
    const small_graph g = cut(m, c.nodes, 1);
    const double cache = 50e6;
    const int copies = copies_for(g, 1, cache, std::int64_t{8} << 30);
    CHECK(copies == 22);
    CHECK(copies * least_bytes(g) > 4 * cache);
    CHECK(copies_for(g, 1, cache, bytes_of_copies(g, 7)) == 7);
    CHECK(copies_for(g, 1, cache, bytes_of_copies(g, 1)) == 0);
    // What outgrows the cache at once is copied for a replay long enough to be timed, and no
    // further.
    CHECK(copies_for(g, 64, 1e6, std::int64_t{8} << 30) == 20);
    CHECK(copies_for(g, 512, 1e6, std::int64_t{8} << 30) == 4);
    CHECK(copies_for(g, 512, cache, std::int64_t{8} << 30) == copies);

    std::vector<std::byte> room(static_cast<std::size_t>(bytes_of_copies(g, 2)));
    memory where{room.data(),
                 static_cast<std::int64_t>(room.size()),
                 [&](std::byte* to, std::span<const std::byte> from) {
                     REQUIRE(to >= room.data());
                     REQUIRE(to + from.size() <= room.data() + room.size());
                     std::copy(from.begin(), from.end(), to);
                 },
                 {}};
    const std::vector<small_graph> placed = place_copies(g, 2, where);
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        REQUIRE(placed[0].tensors[i].data != nullptr);
        CHECK((placed[0].tensors[i].data == placed[1].tensors[i].data) == !g.tensors[i].weight);
    }

    const std::vector<std::byte> written = room;
    std::fill(room.begin(), room.end(), std::byte{});
    where.copy = [](std::byte* to, const std::byte* from, std::size_t bytes) {
        std::copy_n(from, bytes, to);
    };
    place_copies(g, 2, where);
    CHECK(room == written);  // the same bytes, most of which never left the memory
}
