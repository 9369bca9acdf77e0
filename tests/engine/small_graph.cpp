#include "small_graph.hpp"

#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace catena_test {
namespace {

nlohmann::json leaf(int id, const char* type, const std::vector<long>& ne,
                    const std::vector<long>& nb, bool weight) {
    return {{"id", id},
            {"name", "leaf"},
            {"op", "NONE"},
            {"sub", ""},
            {"type", type},
            {"ne", ne},
            {"nb", nb},
            {"src", nlohmann::json::array()},
            {"view_src", nullptr},
            {"view_offs", 0},
            {"params", nlohmann::json::array()},
            {"flags", 0},
            {"weight", weight},
            {"buf", weight ? 0 : 1},
            {"off", 65536 * id}};
}

nlohmann::json node(int id, const char* op, const std::vector<long>& ne,
                    const std::vector<long>& nb, const std::vector<int>& src) {
    nlohmann::json t = leaf(id, "f32", ne, nb, false);
    t["op"] = op;
    t["name"] = "node";
    t["src"] = src;
    t["flags"] = 16;
    return t;
}

nlohmann::json view_of(nlohmann::json t, int source, long offset) {
    t["view_src"] = source;
    t["view_offs"] = offset;
    t["off"] = 65536 * source + offset;
    return t;
}

}  // namespace

nlohmann::json small_graph() {
    nlohmann::json tensors = {
        leaf(0, "f32", {512, 2, 1, 1}, {4, 2048, 4096, 4096}, false),
        leaf(1, "f32", {512, 1, 1, 1}, {4, 2048, 2048, 2048}, true),
        leaf(2, "q4_K", {512, 64, 1, 1}, {144, 288, 18432, 18432}, true),
        node(3, "RMS_NORM", {512, 2, 1, 1}, {4, 2048, 4096, 4096}, {0}),
        node(4, "MUL", {512, 2, 1, 1}, {4, 2048, 4096, 4096}, {3, 1}),
        view_of(node(5, "RESHAPE", {512, 2, 1, 1}, {4, 2048, 4096, 4096}, {4}), 4, 0),
        node(6, "MUL_MAT", {64, 2, 1, 1}, {4, 256, 512, 512}, {2, 5}),
        view_of(node(7, "VIEW", {32, 2, 1, 1}, {4, 256, 512, 512}, {6}), 6, 128),
        node(8, "ADD", {32, 2, 1, 1}, {4, 128, 256, 256}, {7, 7})};
    tensors[3]["params"] = {897988541};  // eps = 1e-6
    return {
        {"model", "small"}, {"case", "b2"}, {"tensors", tensors}, {"nodes", {3, 4, 5, 6, 7, 8}}};
}

std::string scratch(const std::string& name) {
    return (std::filesystem::temp_directory_path() /
            ("catena-" + std::to_string(getpid()) + "-" + name))
        .string();
}

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string gzipped(const std::string& text) {
    z_stream z{};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&z, text.size()), '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

}  // namespace catena_test
