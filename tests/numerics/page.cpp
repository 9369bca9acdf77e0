// The figures of docs/numerics.md: test_numerics "[figures]" writes them into the page.
#include "measure.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace catena;
using namespace catena_test;

namespace {

constexpr char page[] = CATENA_SOURCE_DIR "/docs/numerics.md";

/// The worst of all inputs and orders whose results are finite.
struct worst {
    double nmse = 0, error = 0;
    const char* at = "";

    void take(const distance& d, const char* where) {
        if (!d.finite) return;
        if (d.nmse >= nmse) nmse = d.nmse, at = where;
        error = std::max(error, d.largest_error);
    }
};

std::string figure(double v) {
    char out[16];
    std::snprintf(out, sizeof(out), v == 0 ? "0" : "%.1e", v);
    return out;
}

struct line {
    worst catena, ggml;
    bool known_to_ggml = true;
    int orders = 0;
};

/// What an input comes to, for each kind of kernel: the worst of all formats.
struct by_input {
    std::map<std::string, worst> catena, ggml;
    std::map<std::string, bool> overflows, overflows_ggml;
};

std::string cell(const worst& w, bool overflows) {
    return figure(w.nmse) + (overflows ? " or not finite" : "");
}

std::string tables() {
    std::map<kernel_kind, line> kinds;
    std::map<input, by_input> inputs;
    for (const auto& [kind, orders] : kernels_by_kind())
        for (const instance& on : orders) {
            line& l = kinds[kind];
            ++l.orders;
            for (const input of : all_inputs) {
                const measured m = measure(kind, on, of);
                by_input& in = inputs[of];
                in.catena[kind.what].take(m.catena, "");
                in.overflows[kind.what] |= !m.catena.finite;
                l.known_to_ggml = m.known_to_ggml;
                if (m.known_to_ggml) in.ggml[kind.what].take(m.ggml, "");
                in.overflows_ggml[kind.what] |= m.known_to_ggml && !m.ggml.finite;
                if (of == input::denormal) continue;  // the second table has them
                l.catena.take(m.catena, name(of));
                if (m.known_to_ggml) l.ggml.take(m.ggml, name(of));
            }
        }
    std::string out =
        "| kernel | weights | activation | orders | worst NMSE | its input | largest error | NMSE "
        "of "
        "ggml | largest error of ggml |\n|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& [kind, l] : kinds) {
        const auto format_name = [&](format f) {
            return kind.is_product() ? std::string(name(f)) : std::string("-");
        };
        out += "| " + kind.what + " | " + format_name(kind.weights) + " | " +
               format_name(kind.reads) + " | " + std::to_string(l.orders) + " | " +
               figure(l.catena.nmse) + " | " + l.catena.at + " | " + figure(l.catena.error) +
               " | " + (l.known_to_ggml ? figure(l.ggml.nmse) : "-") + " | " +
               (l.known_to_ggml ? figure(l.ggml.error) : "-") + " |\n";
    }
    out += "\n| input, NMSE |";
    const char* const whats[] = {"norm", "quantize", "matvec", "matmul"};
    for (const char* what : whats) out += std::string(" ") + what + " | of ggml |";
    out += "\n|---|---|---|---|---|---|---|---|---|\n";
    for (const input of : all_inputs) {
        by_input& in = inputs[of];
        out += std::string("| ") + name(of) + " |";
        for (const char* what : whats)
            out += " " + cell(in.catena[what], in.overflows[what]) + " | " +
                   cell(in.ggml[what], in.overflows_ggml[what]) + " |";
        out += "\n";
    }
    return out;
}

}  // namespace

TEST_CASE("the figures of the page are written anew", "[.][figures]") {
    std::stringstream text;
    text << std::ifstream(page).rdbuf();
    std::string all = text.str();
    const std::string first = "<!-- figures -->\n", last = "<!-- end of figures -->";
    const std::size_t begin = all.find(first), end = all.find(last);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    all.replace(begin + first.size(), end - begin - first.size(), "\n" + tables() + "\n");
    std::ofstream(page) << all;
}
