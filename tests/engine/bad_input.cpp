// One test per kind of fault: the message names file, tensor, field and what was expected.
#include "catena/engine/json.hpp"
#include "catena/match/detail/index.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"

#include <cstdio>
#include <limits>
#include <string>

using namespace catena;
using catena_test::small_graph;

namespace {

/// What the reader says of the small graph with one value replaced; `pointer` is a JSON pointer.
std::string said(const std::string& pointer, const nlohmann::json& v) {
    auto text = small_graph();
    text[nlohmann::json::json_pointer(pointer)] = v;
    try {
        json::parse(text.dump(), "g.json");
    } catch (const json::error& e) {
        return e.what();
    }
    return "nothing";
}

std::string said_without(const std::string& parent, const char* key) {
    auto text = small_graph();
    text[nlohmann::json::json_pointer(parent)].erase(key);
    try {
        json::parse(text.dump(), "g.json");
    } catch (const json::error& e) {
        return e.what();
    }
    return "nothing";
}

std::string said_of(const std::string& text) {
    try {
        json::parse(text, "g.json");
    } catch (const json::error& e) {
        return e.what();
    }
    return "nothing";
}

std::string said_of_file(const std::string& path) {
    try {
        json::read(path);
    } catch (const json::error& e) {
        return e.what();
    }
    return "nothing";
}

}  // namespace

TEST_CASE("a norm's eps is a number from 0 on", "[json]") {
    const int nan = 0x7fc00000, infinity = 0x7f800000, minus_one = -0x40800000;
    CHECK(said("/tensors/3/params", {nan}) ==
          "g.json: tensor 3: field 'params': expected the bits of an eps from 0 on, found those of "
          "nan");
    CHECK_THAT(said("/tensors/3/params", {infinity}), Catch::Contains("found those of inf"));
    CHECK_THAT(said("/tensors/3/params", {minus_one}), Catch::Contains("found those of -1"));
    CHECK(said("/tensors/3/params", {0}) == "nothing");
}

TEST_CASE("an absent file and a directory are refused by name", "[json]") {
    CHECK(said_of_file("/nonexistent.json") ==
          "/nonexistent.json: cannot be opened: No such file or directory");
    CHECK(said_of_file("/") == "/: cannot be read: Is a directory");
}

TEST_CASE("a truncated gzip file is refused, and where it ends is said", "[json]") {
    const std::string path = catena_test::scratch("cut.json.gz");
    const std::string whole = catena_test::gzipped(small_graph().dump());
    catena_test::write_file(path, whole.substr(0, whole.size() / 2));
    CHECK_THAT(said_of_file(path),
               Catch::Contains(path + ": expected a whole gzip file, but it ends "
                                      "early, after "));
    std::remove(path.c_str());
}

TEST_CASE("a gzip file with a damaged byte is refused in zlib's words", "[json]") {
    const std::string path = catena_test::scratch("damaged.json.gz");
    std::string bytes = catena_test::gzipped(small_graph().dump());
    bytes[bytes.size() - 6] ^= 1;  // in the checksum
    catena_test::write_file(path, bytes);
    CHECK_THAT(said_of_file(path), Catch::Contains("expected a sound gzip file, but zlib says: ") &&
                                       Catch::Contains("data check"));
    std::remove(path.c_str());
}

TEST_CASE("a file of more text than the limit is refused, plain or packed", "[json]") {
    const std::string path = catena_test::scratch("bomb.json.gz");
    const std::string text((std::size_t{64} << 20) + 1, ' ');
    const std::string too_long = path +
                                 ": has more than 64 MB of text, the most that is read: write a "
                                 "file of fewer layers";
    for (const std::string& bytes : {catena_test::gzipped(text), text}) {
        catena_test::write_file(path, bytes);
        CHECK(said_of_file(path) == too_long);
    }
    // As many bytes as the limit are read, and looked at.
    catena_test::write_file(path, catena_test::gzipped(text.substr(1)));
    CHECK_THAT(said_of_file(path), Catch::Contains("expected JSON, found a parse error"));
    // Members count together.
    const std::string half = catena_test::gzipped(text.substr(text.size() / 2));
    catena_test::write_file(path, half + half);
    CHECK(said_of_file(path) == too_long);
    std::remove(path.c_str());
}

TEST_CASE("what stands behind gzip data must be another member", "[json]") {
    const std::string path = catena_test::scratch("behind.json.gz");
    const std::string text = small_graph().dump(), packed = catena_test::gzipped(text);
    const std::string behind = path + ": expected the end of the file behind " +
                               std::to_string(text.size()) +
                               " bytes of gzip text, found other bytes: remove them";
    for (const std::string& junk : {std::string("\n"), std::string("\0", 1), std::string("\x1f"),
                                    std::string("{}"), std::string("\x1f\x8c garbage")}) {
        catena_test::write_file(path, packed + junk);
        CHECK(said_of_file(path) == behind);
    }
    catena_test::write_file(path, packed + packed.substr(0, 12));
    CHECK_THAT(said_of_file(path), Catch::Contains("expected a whole gzip file"));
    std::remove(path.c_str());
}

TEST_CASE("text that is no JSON object is refused with line and column", "[json]") {
    CHECK(said_of("") == "g.json: expected a JSON object, found nothing");
    CHECK(said_of("[1, 2]") == "g.json: expected a JSON object, found [1,2]");
    CHECK_THAT(said_of("{\"model\": \"m\",\n \"case\"}"),
               Catch::Contains("g.json: expected JSON, found a parse error at line 2, column 8"));
    CHECK_THAT(said_of("{\"model\": \"\xff\"}"), Catch::Contains("invalid"));
}

TEST_CASE("values that nest too deep are refused, wherever they stand", "[json]") {
    const auto nested = [](std::size_t deep) {
        return std::string(deep, '[') + std::string(deep, ']');
    };
    const std::string refused = "g.json: values nest deeper than 64, the most that is read";
    for (const std::size_t deep : {std::size_t{100}, std::size_t{3000000}}) {
        CHECK(said_of(nested(deep)) == refused);
        CHECK(said_of("{\"model\": " + nested(deep) + "}") == refused);
        CHECK(said_of(std::string(deep, '[')) == refused);
    }
    CHECK(said_of("{\"model\": " + nested(60) + "}") ==
          "g.json: field 'model': expected a string, found " + nested(60).substr(0, 57) + "...");
}

TEST_CASE("products of sizes are in range, of tensors without elements too", "[json]") {
    const std::int64_t large = std::int64_t{1} << 40;
    for (const nlohmann::json& ne :
         {nlohmann::json{large, large, 1, 1}, nlohmann::json{0, large, large, 1},
          nlohmann::json{large, large, 0, 1}})
        CHECK_THAT(said("/tensors/8/ne", ne),
                   Catch::Contains("expected a tensor whose elements fit 63 bits"));
}

TEST_CASE("missing fields are named", "[json]") {
    CHECK(said_without("", "model") == "g.json: field 'model': is missing");
    CHECK(said_without("", "tensors") == "g.json: field 'tensors': is missing");
    CHECK(said_without("", "nodes") == "g.json: field 'nodes': is missing");
    for (const char* name : {"op", "sub", "type", "name", "ne", "nb", "src", "view_src",
                             "view_offs", "params", "flags", "weight", "buf", "off"})
        CHECK(said_without("/tensors/4", name) ==
              std::string("g.json: tensor 4: field '") + name + "': is missing");
    CHECK(said_without("/tensors/4", "id") == "g.json: tensor 4: field 'id': is missing");
}

TEST_CASE("fields of the wrong kind are named with what was found", "[json]") {
    CHECK(said("/tensors", 7) == "g.json: field 'tensors': expected an array, found 7");
    CHECK(said("/tensors/4", 7) == "g.json: tensor 4: expected an object, found 7");
    CHECK(said("/tensors/4/op", 7) == "g.json: tensor 4: field 'op': expected a string, found 7");
    CHECK(said("/tensors/4/weight", 0) ==
          "g.json: tensor 4: field 'weight': expected true or false, found 0");
    CHECK(said("/tensors/4/ne", {512, 2}) ==
          "g.json: tensor 4: field 'ne': expected 4 elements, found 2");
    CHECK(said("/tensors/4/nb/1", 2.5) ==
          "g.json: tensor 4: field 'nb': expected an integer, found 2.5");
    CHECK_THAT(said("/tensors/3/params", std::vector<int>(17, 1)),
               Catch::Contains("tensor 3: field 'params': expected 0 to 16 elements, found 17"));
    CHECK_THAT(said("/tensors/3/params", {3000000000}), Catch::Contains("found 3000000000"));
    CHECK_THAT(said("/tensors/3/flags", 256), Catch::Contains("expected an integer from 0 to 255"));
    CHECK_THAT(said("/tensors/3/buf", -2), Catch::Contains("expected an integer from -1 to "));
}

TEST_CASE("impossible sizes are refused", "[json]") {
    CHECK_THAT(said("/tensors/4/ne/1", -2),
               Catch::Contains("tensor 4: field 'ne': expected an integer from 0 to ") &&
                   Catch::Contains("found -2"));
    CHECK_THAT(said("/tensors/4/nb/1", -4), Catch::Contains("tensor 4: field 'nb'"));
    CHECK_THAT(
        said("/tensors/0/ne", {1L << 40, 1L << 40, 1, 1}),
        Catch::Contains("tensor 0: field 'ne': expected a tensor whose elements fit 63 bits"));
    CHECK_THAT(
        said("/tensors/0/nb/1", 1L << 62),
        Catch::Contains("tensor 0: field 'nb': expected strides whose last byte fits 63 bits"));
    CHECK_THAT(said("/tensors/0/off", std::numeric_limits<std::int64_t>::max()),
               Catch::Contains("tensor 0: field 'off': expected an offset whose last byte fits"));
    CHECK_THAT(said("/tensors/0/ne/0", 18446744073709551615ull),
               Catch::Contains("tensor 0: field 'ne'"));
}

TEST_CASE("less memory than the elements take, or too much, is refused", "[json]") {
    CHECK(said("/tensors/3/alloc", 0) == "nothing");
    CHECK(said("/tensors/3/alloc", 4096) == "nothing");
    CHECK(said("/tensors/3/alloc", std::int64_t{1} << 62) == "nothing");
    CHECK(said("/tensors/3/alloc", 4095) ==
          "g.json: tensor 3: field 'alloc': expected 0 or the 4096 bytes of its elements at least, "
          "found 4095");
    CHECK(said("/tensors/3/alloc", -1) ==
          "g.json: tensor 3: field 'alloc': expected an integer from 0 to 4611686018427387904, "
          "found -1");
    CHECK(said("/tensors/3/alloc", (std::int64_t{1} << 62) + 1) ==
          "g.json: tensor 3: field 'alloc': expected an integer from 0 to 4611686018427387904, "
          "found 4611686018427387905");
    CHECK(said("/tensors/3/alloc", "many") ==
          "g.json: tensor 3: field 'alloc': expected an integer, found \"many\"");
    CHECK(said("/tensors/7/alloc", 4096) ==
          "g.json: tensor 7: field 'alloc': expected 0 for a view, whose memory is that of tensor "
          "6, found 4096");
    auto far = small_graph();
    far["tensors"][3]["alloc"] = std::int64_t{1} << 62;
    far["tensors"][3]["off"] = std::int64_t{1} << 62;
    CHECK_THAT(said_of(far.dump()),
               Catch::Contains("tensor 3: field 'off': expected an offset whose last byte fits"));
}

TEST_CASE("what a node writes may not lie over itself, what is only read may", "[json]") {
    CHECK(said_of_file(CATENA_TEST_DATA "/small/overlaps_itself.json") == CATENA_TEST_DATA
          "/small/overlaps_itself.json: tensor 4: field 'nb': expected strides that "
          "keep the elements apart, since ADD writes them, found ne [96, 2, 1, 1] "
          "with nb [4, 2, 768, 768]");
    CHECK_THAT(said("/tensors/3/nb/1", 0),
               Catch::Contains("tensor 3: field 'nb': expected strides"));
    CHECK_THAT(said("/tensors/3/nb/1", 2044),
               Catch::Contains("tensor 3: field 'nb': expected strides"));
    CHECK_THAT(said("/tensors/3/nb/0", 8),  // elements of one row between those of the other
               Catch::Contains("tensor 3: field 'nb': expected strides"));
    CHECK(said("/tensors/3/nb", {8, 4, 4096, 4096}) == "nothing");  // transposed
    CHECK(said("/tensors/3/nb/2", 0) == "nothing");                 // there is one
    CHECK(said("/tensors/0/nb/1", 0) == "nothing");
    CHECK(said("/tensors/0/nb/1", 4) == "nothing");
    CHECK(said("/tensors/7/nb/1", 4) == "nothing");  // windows of the view that ADD reads
    CHECK(
        said("/tensors/0/nb/1", 2) ==
        "g.json: tensor 0: field 'nb': expected strides of 0 or of 4 bytes at least, an element or "
        "block of f32, found ne [512, 2, 1, 1] with nb [4, 2, 4096, 4096]");
    CHECK_THAT(said("/tensors/2/nb/1", 143),
               Catch::Contains("expected strides of 0 or of 144 bytes at least"));
}

TEST_CASE("a file of a later version is refused, with what to do", "[json]") {
    CHECK(said("/version", 1) == "nothing");
    CHECK(said("/version", 2) == "nothing");
    CHECK(said("/version", 3) ==
          "g.json: field 'version': expected 2 at most, found 3: read it with a newer Catena");
    CHECK_THAT(said("/version", 0), Catch::Contains("field 'version': expected an integer from 1"));
}

TEST_CASE("a row that is not whole blocks is refused with the block's size", "[json]") {
    CHECK(
        said("/tensors/2/ne/0", 500) ==
        "g.json: tensor 2: field 'ne': expected ne[0] to be a multiple of 256, the block of q4_K, "
        "found 500");
}

TEST_CASE("ids are dense, unique and known", "[json]") {
    CHECK(said("/tensors/4/id", 3) ==
          "g.json: tensor 3: field 'id': expected every id once, found it twice");
    CHECK(said("/tensors/4/id", 40) ==
          "g.json: tensor 4: field 'id': expected an integer from 0 to 8, found 40");
    CHECK(said("/tensors/4/src/0", 99) ==
          "g.json: tensor 4: field 'src': expected an integer from 0 to 8, found 99");
    CHECK(said("/tensors/5/view_src", -1) ==
          "g.json: tensor 5: field 'view_src': expected an integer from 0 to 8, found -1");
    CHECK(said("/nodes/2", 9) == "g.json: field 'nodes': expected an integer from 0 to 8, found 9");
    CHECK(
        said("/nodes", {3, 4, 4}) ==
        "g.json: tensor 4: field 'nodes': expected every tensor once, but it is node 1 and node 2");
}

TEST_CASE("a source that runs after its reader is refused with both positions", "[json]") {
    CHECK(
        said("/nodes", {4, 3, 5, 6, 7, 8}) ==
        "g.json: tensor 4: field 'nodes': expected its source 3 to run before it, but it is node 0 "
        "and the source is node 1");
}

TEST_CASE("a cycle is refused and printed", "[json]") {
    CHECK(said("/tensors/3/src/0", 5) ==
          "g.json: tensor 3: field 'src': expected a graph without cycles, but tensor 3 depends on "
          "itself: 3 <- 5 <- 4 <- 3");
    CHECK_THAT(said("/tensors/3/src/0", 3), Catch::Contains("tensor 3 depends on itself: 3 <- 3"));
}

TEST_CASE("a CPY may name itself as its destination, as that of ggml_cast does", "[json]") {
    nlohmann::json cast = small_graph();
    nlohmann::json& t = cast["tensors"][8];
    t["op"] = "CPY";
    t["src"] = {7, 8};
    const catena::json::graph read = catena::json::parse(cast.dump(), "g.json");
    CHECK(read.tensors[8].src[1] == 8);
    catena::graph_index index;
    CHECK(index.build(read.view()).ok());
}

TEST_CASE("a view beyond its source, or elsewhere than it says, is refused", "[json]") {
    CHECK(said("/tensors/7/ne/0", 33) ==
          "g.json: tensor 7: field 'view_offs': expected a view inside the 512 bytes of tensor 6, "
          "found "
          "388 bytes from byte 128");
    CHECK(said("/tensors/7/off", 5) ==
          "g.json: tensor 7: field 'off': expected 393216 + 128, the offset "
          "of tensor 6 and view_offs, found 5");
    CHECK(said("/tensors/7/buf", 0) ==
          "g.json: tensor 7: field 'buf': expected 1, the buffer of the tensor 6 that it views, "
          "found 0");
}

TEST_CASE("a shape that its op cannot give is refused", "[json]") {
    CHECK(said("/tensors/6/ne/0", 63) ==
          "g.json: tensor 6: field 'ne': expected [64, 2, 1, 1] (rows of source 0, columns of "
          "source 1), "
          "found [63, 2, 1, 1]");
    CHECK_THAT(
        said("/tensors/2/ne/0", 256),
        Catch::Contains("tensor 6: field 'src': expected both sources to have the same ne[0]"));
    CHECK_THAT(
        said("/tensors/3/ne/1", 1),
        Catch::Contains("tensor 3: field 'ne': expected [512, 2, 1, 1] (the shape of source 0)"));
    CHECK_THAT(said("/tensors/1/ne/0", 500),
               Catch::Contains("tensor 4: field 'src': expected source 1 to divide the shape"));
    CHECK_THAT(said("/tensors/1/ne/0", 0),
               Catch::Contains("expected source 1 to divide the shape"));
    CHECK(said("/tensors/6/src", {2}) ==
          "g.json: tensor 6: field 'src': expected 2 sources for MUL_MAT, found 1");
    CHECK(said("/tensors/3/src", nlohmann::json::array()) ==
          "g.json: tensor 3: field 'src': expected 1 source for RMS_NORM, found none");
    CHECK_THAT(said("/tensors/2/ne/3", 0),
               Catch::Contains("tensor 6: field 'src': expected ne[2] and"));
}

TEST_CASE("scales that do not fit their fp8 weights are refused with the shapes that would",
          "[json]") {
    nlohmann::json g = small_graph();
    nlohmann::json& w = g["tensors"][2];
    w["type"] = "fp8_e4m3";
    w["nb"] = {1, 512, 32768, 32768};
    nlohmann::json scales = g["tensors"][1];
    scales["id"] = 9;
    g["tensors"].push_back(scales);
    g["tensors"][6]["src"] = {2, 5, 9};
    const auto said_of_scales = [&g](int ne0, int ne1) {
        g["tensors"][9]["ne"] = {ne0, ne1, 1, 1};
        g["tensors"][9]["nb"] = {4, 4 * ne0, 4 * ne0 * ne1, 4 * ne0 * ne1};
        return said_of(g.dump());
    };
    CHECK(said_of_scales(1, 1) == "nothing");
    CHECK(said_of_scales(1, 64) == "nothing");
    CHECK(said_of_scales(4, 1) == "nothing");
    CHECK(said_of_scales(64, 1) ==
          "g.json: tensor 6: field 'src': expected source 2, the scales of its weights [512, 64, "
          "1, 1], to "
          "be one number [1, 1], one a row [1, 64] or one a square of 128 [4, 1], with ne[2] and "
          "ne[3] of "
          "the weights, found [64, 1, 1, 1]");
    g["tensors"][9]["type"] = "i32";
    CHECK(said_of_scales(1, 1) ==
          "g.json: tensor 6: field 'src': expected source 2, the scales of its fp8_e4m3 weights, "
          "to be f32, "
          "found i32");
}
