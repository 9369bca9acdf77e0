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

/// What an input comes to, for each task: the worst of all formats.
struct by_input {
    std::map<kernel_task, worst> catena, ggml;
    std::map<kernel_task, bool> overflows, overflows_ggml;
};

std::string cell(const worst& w, bool overflows) {
    return figure(w.nmse) + (overflows ? " or not finite" : "");
}

/// The formats of one launch.
std::string names(format_set formats) {
    std::string out;
    for (const format f : formats) out += (out.empty() ? "" : " and ") + std::string(name(f));
    return out.empty() ? "-" : out;
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
                in.catena[kind.task].take(m.catena, "");
                in.overflows[kind.task] |= !m.catena.finite;
                l.known_to_ggml = m.known_to_ggml;
                if (m.known_to_ggml) in.ggml[kind.task].take(m.ggml, "");
                in.overflows_ggml[kind.task] |= m.known_to_ggml && !m.ggml.finite;
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
        const std::string reads = kind.is_product() ? name(kind.reads) : "-";
        out += std::string("| ") + name(kind.task) + " | " + names(kind.weights) + " | " + reads +
               " | " + std::to_string(l.orders) + " | " + figure(l.catena.nmse) + " | " +
               l.catena.at + " | " + figure(l.catena.error) + " | " +
               (l.known_to_ggml ? figure(l.ggml.nmse) : "-") + " | " +
               (l.known_to_ggml ? figure(l.ggml.error) : "-") + " |\n";
    }
    out += "\n| input, NMSE |";
    constexpr kernel_task tasks[] = {kernel_task::norm, kernel_task::quantize, kernel_task::matvec,
                                     kernel_task::matmul};
    for (const kernel_task t : tasks) out += std::string(" ") + name(t) + " | of ggml |";
    out += "\n|---|---|---|---|---|---|---|---|---|\n";
    for (const input of : all_inputs) {
        by_input& in = inputs[of];
        out += std::string("| ") + name(of) + " |";
        for (const kernel_task t : tasks)
            out += " " + cell(in.catena[t], in.overflows[t]) + " | " +
                   cell(in.ggml[t], in.overflows_ggml[t]) + " |";
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
