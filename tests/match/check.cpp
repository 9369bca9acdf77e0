#include "catena/match/detail/index.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include <limits>
#include <string>

using namespace catena;
using namespace catena_test;
using Catch::Contains;

namespace {

struct broken_case {
    graph_builder g;
    id x = g.input(format::f32, {512});
    id mul = g.scaled_norm(x);
    id w = g.weight(format::q4_K, {512, 64});
    id out = g.mul_mat(w, mul);

    std::string message(const graph_view& view) {
        graph_index index;
        const status s = index.build(view);
        CHECK(s.code == (s.message[0] == '\0' ? status_code::ok : status_code::invalid_argument));
        return s.message;
    }
    std::string message() { return message(g.view()); }
    std::string at(id t, const char* field) { return "tensor " + std::to_string(t) + ": " + field; }
};

}  // namespace

TEST_CASE("a well-formed view passes", "[check]") {
    CHECK(broken_case{}.message().empty());
    CHECK(broken_case{}.message(graph_view{}).empty());
}

TEST_CASE("a malformed tensor is named with its field", "[check]") {
    broken_case c;
    SECTION("negative size") {
        c.g[c.x].ne[1] = -1;
        CHECK_THAT(c.message(), Contains(c.at(c.x, "ne[1] is -1; expected")));
    }
    SECTION("negative stride") {
        c.g[c.x].nb[2] = -4;
        CHECK_THAT(c.message(), Contains(c.at(c.x, "nb[2] is -4; expected")));
    }
    SECTION("more elements than can be counted") {
        c.g[c.x].ne[2] = c.g[c.x].ne[3] = std::numeric_limits<std::int64_t>::max();
        CHECK_THAT(c.message(), Contains(c.at(c.x, "ne[2]")));
    }
    SECTION("more bytes than can be addressed") {
        c.g[c.x].nb[3] = std::numeric_limits<std::int64_t>::max();
        CHECK_THAT(c.message(), Contains(c.at(c.x, "nb[3]")));
    }
    SECTION("an offset past every address") {
        c.g[c.x].offset = std::numeric_limits<std::uint64_t>::max();
        CHECK_THAT(c.message(), Contains(c.at(c.x, "offset")));
    }
    SECTION("less memory than its elements take, or more than can be addressed") {
        c.g[c.x].allocated = 2047;
        CHECK_THAT(c.message(), Contains(c.at(c.x, "allocated is 2047; expected 0, or as many")));
        c.g[c.x].allocated = -1;
        CHECK_THAT(c.message(), Contains(c.at(c.x, "allocated is -1; expected 0, or as many")));
        c.g[c.x].allocated = std::numeric_limits<std::int64_t>::max();
        CHECK_THAT(c.message(), Contains(c.at(c.x, "allocated is 9223372036854775807; expected")));
        c.g[c.x].allocated = 2048;
        CHECK(c.message().empty());
    }
    SECTION("K that is not a multiple of the block") {
        c.g[c.w].ne[0] = 500;
        CHECK_THAT(c.message(),
                   Contains(c.at(c.w, "ne[0] is 500; expected a multiple of its format's block")));
    }
    SECTION("a format from nowhere") {
        c.g[c.x].type = static_cast<format>(200);
        CHECK_THAT(c.message(), Contains(c.at(c.x, "type is 200; expected a format")));
    }
    SECTION("a source outside the view") {
        c.g[c.out].src[5] = 1000;
        graph_view v{c.g.tensors.data(), static_cast<id>(c.g.tensors.size()), c.g.nodes.data(), 3};
        CHECK_THAT(c.message(v),
                   Contains(c.at(c.out, "src is 1000; expected a tensor of the view")));
    }
    SECTION("a view of a tensor outside the view") {
        c.g[c.out].view_src = -7;
        CHECK_THAT(c.message(), Contains(c.at(c.out, "view_src is -7")));
    }
    SECTION("a view that leaves what it views") {
        const id part = c.g.view(c.mul, {256}, 1024);
        CHECK(c.message().empty());
        const std::string outside =
            "it is a view of tensor " + std::to_string(c.mul) + " and has bytes outside of that";
        c.g.share(part, c.mul, 1028);
        CHECK_THAT(c.message(), Contains(c.at(part, outside.c_str())));
        c.g.share(part, c.mul, -4);
        CHECK_THAT(c.message(), Contains(c.at(part, outside.c_str())));
        for (const id t : {c.mul, part}) c.g[t].data = nullptr;  // by buffer and offset
        CHECK_THAT(c.message(), Contains(c.at(part, outside.c_str())));
        c.g[c.mul].buffer = no_buffer;
        CHECK(c.message().empty());
    }
    SECTION("a count below unknown") {
        const graph_view v = c.g.view();
        c.g[c.x].uses = -2;
        CHECK_THAT(c.message(v), Contains(c.at(c.x, "uses is -2")));
    }
}

TEST_CASE("a CPY may name itself as its destination, as that of ggml_cast does", "[check]") {
    broken_case c;
    c.g[c.out].kind = op::cpy;
    c.g[c.out].src[1] = c.out;
    CHECK(c.message() == "");
    c.g[c.out].src[0] = c.out;  // what it copies is another matter
    CHECK_THAT(c.message(), Contains("node 2: a source is node 2"));
}

TEST_CASE("an order that cannot be executed is named with its node", "[check]") {
    broken_case c;
    SECTION("a source that runs later") {
        std::swap(c.g.nodes[0], c.g.nodes[2]);
        CHECK_THAT(c.message(),
                   Contains("node 0: a source is node 1; expected sources to run before"));
    }
    SECTION("a cycle") {
        c.g[c.g.nodes[0]].src[0] = c.out;
        CHECK_THAT(c.message(), Contains("node 0: a source is node 2"));
    }
    SECTION("a node that reads itself") {
        c.g[c.out].src[2] = c.out;
        CHECK_THAT(c.message(), Contains("node 2: a source is node 2"));
    }
    SECTION("a source that runs later, behind empty slots") {
        c.g[c.mul].src[max_src - 1] = c.out;
        CHECK_THAT(c.message(), Contains("node 1: a source is node 2"));
    }
    SECTION("a tensor that is two nodes") {
        c.g.nodes.push_back(c.mul);
        CHECK_THAT(c.message(), Contains("node 3: its tensor is node 1 already"));
    }
    SECTION("a node that is no tensor") {
        const graph_view v = c.g.view();
        c.g.nodes[1] = 99;
        CHECK_THAT(c.message(v), Contains("node 1: its tensor index is 99"));
    }
    SECTION("a memory that is its own view") {
        c.g[c.x].view_src = c.mul;
        c.g[c.mul].view_src = c.x;
        c.g.share(c.x, c.mul);
        CHECK_THAT(c.message(), Contains("its view_src leads back to itself"));
    }
}

TEST_CASE("a view without tensors but with counts is refused", "[check]") {
    broken_case c;
    CHECK_THAT(c.message(graph_view{nullptr, 3, nullptr, 0}),
               Contains("tensors or nodes are null"));
    CHECK_THAT(c.message(graph_view{nullptr, -1, nullptr, 0}),
               Contains("expected counts of 0 or more"));
}
