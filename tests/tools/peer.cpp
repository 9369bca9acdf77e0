// The model of ggml-cuda's fusions, on graphs of a few nodes: each rule fuses where it may and not
// where its condition fails.
#include "peer.hpp"

#include "catena/engine/json.hpp"
#include "catena/match/ggml_cuda.hpp"

#include "catena_test/catch.hpp"

#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

/// Builds a graph of f32 tensors, each in memory of its own.
class graph_builder {
  public:
    std::int32_t leaf(std::vector<std::int64_t> ne, format type = format::f32,
                      bool weight = false) {
        tensor t;
        t.weight = weight;
        t.type = type;
        t.op_name = "NONE";
        return add(t, ne);
    }
    std::int32_t node(op kind, const char* name, std::vector<std::int64_t> ne,
                      std::vector<std::int32_t> sources, sub_op sub = sub_op::none) {
        tensor t;
        t.kind = kind;
        t.sub = sub;
        t.type = format::f32;
        t.flags = flag_compute;
        t.op_name = name;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            t.src[i] = sources[i];
            ++tensors_[static_cast<std::size_t>(sources[i])].uses;
        }
        nodes_.push_back(add(t, ne));
        return nodes_.back();
    }
    tensor& operator[](std::int32_t id) { return tensors_[static_cast<std::size_t>(id)]; }

    graph_view view() const {
        return {tensors_.data(), static_cast<std::int32_t>(tensors_.size()), nodes_.data(),
                static_cast<std::int32_t>(nodes_.size())};
    }

    peer_launches count(const std::vector<bool>& mine = {}) const {
        return count_peer(view(), mine);
    }

  private:
    std::int32_t add(tensor t, const std::vector<std::int64_t>& ne) {
        std::copy(ne.begin(), ne.end(), t.ne);
        const format_info& f = info(t.type);
        t.nb[0] = f.block_bytes;
        t.nb[1] = row_bytes(t.type, t.ne[0]);
        t.nb[2] = t.nb[1] * t.ne[1];
        t.nb[3] = t.nb[2] * t.ne[2];
        t.uses = 0;
        t.buffer = 0;
        t.offset = std::uint64_t{1 << 20} * tensors_.size();
        tensors_.push_back(t);
        return static_cast<std::int32_t>(tensors_.size()) - 1;
    }
    std::vector<tensor> tensors_;
    std::vector<std::int32_t> nodes_;
};

using fused = std::map<std::string, int>;

}  // namespace

TEST_CASE("a norm, its MUL and the ADD behind it are one launch of the peer", "[peer]") {
    graph_builder g;
    const auto x = g.leaf({64, 1}), w = g.leaf({64}, format::f32, true), r = g.leaf({64, 1});
    const auto n = g.node(op::rms_norm, "RMS_NORM", {64, 1}, {x});
    const auto m = g.node(op::mul, "MUL", {64, 1}, {n, w});
    CHECK(g.count().launches == 1);
    g.node(op::add, "ADD", {64, 1}, {m, r});
    CHECK(g.count().launches == 1);
    CHECK(g.count().fused == fused{{"RMS_NORM+MUL+ADD", 1}});
    CHECK(g.count().by_op == fused{{"RMS_NORM", 1}});
    CHECK(g.count({false, true, false}).launches == 2);  // the MUL is ours: it separates them
    CHECK(g.count({false, true, false}).by_op == fused{{"ADD", 1}, {"RMS_NORM", 1}});
    g[m].uses = 2;
    CHECK(g.count().fused == fused{{"RMS_NORM+MUL", 1}});
    g[n].flags |= flag_output;
    CHECK(g.count().fused.empty());
}

TEST_CASE("gate, up and their GLU are one launch and one quantize, for one column only", "[peer]") {
    for (const std::int64_t columns : {1, 4}) {
        graph_builder g;
        const auto x = g.node(op::scale, "SCALE", {64, columns}, {g.leaf({64, columns})});
        const auto gate = g.leaf({64, 32}, format::q8_0, true),
                   up = g.leaf({64, 32}, format::q8_0, true);
        const auto a = g.node(op::mul_mat, "MUL_MAT", {32, columns}, {gate, x});
        const auto b = g.node(op::mul_mat, "MUL_MAT", {32, columns}, {up, x});
        const auto glu = g.node(op::glu, "GLU", {32, columns}, {a, b}, sub_op::swiglu);
        CHECK(g.count().launches == (columns == 1 ? 3 : 6));
        CHECK(g.count().quantizes == (columns == 1 ? 1 : 2));
        g[glu].offset = g[x].offset;  // its result would lie over what gate and up read
        CHECK(g.count().launches == 6);
    }
}

TEST_CASE("a matmul and the residual added to it are one launch, for one column only", "[peer]") {
    for (const std::int64_t columns : {1, 2}) {
        graph_builder g;
        const auto x = g.leaf({64, columns}), r = g.leaf({32, columns});
        const auto w = g.leaf({64, 32}, format::q4_0, true);
        const auto m = g.node(op::mul_mat, "MUL_MAT", {32, columns}, {w, x});
        g.node(op::add, "ADD", {32, columns}, {m, r});
        CHECK(g.count().launches == (columns == 1 ? 2 : 3));
    }
}

TEST_CASE("a run of ADDs is one launch of up to eight", "[peer]") {
    graph_builder g;
    const auto x = g.leaf({64, 1}), y = g.leaf({64, 1});
    auto sum = x;
    for (int i = 0; i < 9; ++i) sum = g.node(op::add, "ADD", {64, 1}, {sum, y});
    CHECK(g.count().launches == 2);
    CHECK(g.count().fused == fused{{"ADD...", 1}});
}

TEST_CASE("a gate's activation and its MUL are one launch", "[peer]") {
    graph_builder g;
    const auto x = g.leaf({64, 1}), y = g.leaf({64, 1});
    const auto u = g.node(op::unary, "UNARY", {64, 1}, {x}, sub_op::silu);
    g.node(op::mul, "MUL", {64, 1}, {y, u});
    CHECK(g.count().launches == 1);
    g[u].sub = sub_op::relu;
    CHECK(g.count().launches == 2);
}

TEST_CASE("a rope that is stored through a view is one launch", "[peer]") {
    graph_builder g;
    const auto x = g.leaf({64, 2, 1}), ids = g.leaf({1}, format::i64), cache = g.leaf({128, 16});
    const auto rope = g.node(op::rope, "ROPE", {64, 2, 1}, {x});
    const auto view = g.node(op::view, "VIEW", {128, 1}, {rope});
    g[view].view_src = rope;
    g[view].offset = g[rope].offset;
    const auto set = g.node(op::set_rows, "SET_ROWS", {128, 16}, {view, ids, cache});
    g[set].view_src = cache;
    g[set].offset = g[cache].offset;
    CHECK(g.count().launches == 1);
    CHECK(g.count().fused == fused{{"ROPE+SET_ROWS", 1}});
    g[rope].uses = 2;
    CHECK(g.count().launches == 2);
}

TEST_CASE("from a router's logits to ids and weights is one launch", "[peer]") {
    const bool bias = GENERATE(false, true), normed = GENERATE(false, true);
    graph_builder g;
    const auto logits = g.node(op::scale, "SCALE", {64, 1}, {g.leaf({64, 1})});
    const auto values = g.node(op::unary, "UNARY", {64, 1}, {logits}, sub_op::sigmoid);
    const auto rows = g.node(op::reshape, "RESHAPE", {1, 64}, {values});
    g[rows].view_src = values;
    const auto sorted = bias ? g.node(op::add, "ADD", {64, 1}, {values, g.leaf({64})}) : values;
    const auto order = g.node(op::argsort, "ARGSORT", {64, 1}, {sorted});
    const auto ids = g.node(op::view, "VIEW", {8, 1}, {order});
    g[ids].view_src = order;
    auto weights = g.node(op::get_rows, "GET_ROWS", {1, 8}, {rows, ids});
    if (normed) {
        const auto flat = g.node(op::reshape, "RESHAPE", {8, 1}, {weights});
        g[flat].view_src = weights;
        const auto sum = g.node(op::sum_rows, "SUM_ROWS", {1, 1}, {flat});
        const auto least = g.node(op::clamp, "CLAMP", {1, 1}, {sum});
        const auto share = g.node(op::div, "DIV", {8, 1}, {flat, least});
        weights = g.node(op::reshape, "RESHAPE", {1, 8}, {share});
        g[weights].view_src = share;
    }
    g.node(op::scale, "SCALE", {1, 8}, {weights});
    g.node(op::other, "OTHER", {8, 1}, {ids});
    CHECK(g.count().launches == 3);
    CHECK(g.count().fused == fused{{"topk-moe", 1}});
    std::vector<bool> mine(16, false);
    mine[1] = true;  // the function
    CHECK(g.count(mine).launches > 3);
    for (const auto t : {values, sorted, order}) g[t].ne[0] = 60;  // no kernel for 60 experts
    CHECK(g.count().fused.count("topk-moe") == 0);
}

TEST_CASE("weights over logits that another name reads are made by three launches", "[peer]") {
    const std::int64_t tokens = GENERATE(1, 9);
    const bool over = GENERATE(false, true);
    graph_builder g;
    const auto logits = g.node(op::scale, "SCALE", {32, tokens}, {g.leaf({32, tokens})});
    const auto rows = g.node(op::reshape, "RESHAPE", {1, 32, tokens}, {logits});
    g[rows].view_src = logits;
    const auto order = g.node(op::argsort, "ARGSORT", {32, tokens}, {logits});
    const auto ids = g.node(op::view, "VIEW", {4, tokens}, {order});
    g[ids].view_src = order;
    const auto chosen = g.node(op::get_rows, "GET_ROWS", {1, 4, tokens}, {rows, ids});
    const auto flat = g.node(op::reshape, "RESHAPE", {4, tokens}, {chosen});
    g[flat].view_src = chosen;
    const auto soft = g.node(op::soft_max, "SOFT_MAX", {4, tokens}, {flat});
    const auto weights = g.node(op::reshape, "RESHAPE", {1, 4, tokens}, {soft});
    g[weights].view_src = soft;
    g.node(op::other, "OTHER", {4, tokens}, {ids, weights});
    if (over)
        for (const auto t : {rows, soft, weights})
            g[t].buffer = g[logits].buffer, g[t].offset = g[logits].offset;
    CHECK(g.count().launches == (over ? 5 : 3));
}

TEST_CASE("what experts made times their weights, summed, is one launch", "[peer]") {
    const bool scaled = GENERATE(false, true);
    graph_builder g;
    auto all = g.leaf({64, 3, 2});
    if (scaled) all = g.node(op::mul, "MUL", {64, 3, 2}, {all, g.leaf({1, 3, 2})});
    all = g.node(op::mul, "MUL", {64, 3, 2}, {all, g.leaf({1, 3, 2})});
    std::vector<std::int32_t> views;
    for (int slot = 0; slot < 3; ++slot) {
        views.push_back(g.node(op::view, "VIEW", {64, 2}, {all}));
        g[views.back()].view_src = all;
    }
    auto sum = views[0];
    for (int slot = 1; slot < 3; ++slot) sum = g.node(op::add, "ADD", {64, 2}, {sum, views[slot]});
    CHECK(g.count().launches == 1);
    g[all].uses = 4;  // somebody reads the weighted results
    CHECK(g.count().launches > 1);
}

TEST_CASE("a rope of another mode than the plain ones is not fused", "[peer]") {
    graph_builder g;
    const auto n = g.node(op::rms_norm, "RMS_NORM", {64, 2}, {g.leaf({64, 2})});
    const auto m = g.node(op::mul, "MUL", {64, 2}, {n, g.leaf({64}, format::f32, true)});
    const auto rope = g.node(op::rope, "ROPE", {64, 2}, {m});
    CHECK(g.count().launches == 1);
    g[rope].params[2] = 40;
    CHECK(g.count().launches == 2);
}

TEST_CASE("a RELU and its SQR, a norm and its SCALE are one launch each", "[peer]") {
    graph_builder g;
    const auto relu = g.node(op::unary, "UNARY", {64, 1}, {g.leaf({64, 1})}, sub_op::relu);
    g.node(op::sqr, "SQR", {64, 1}, {relu});
    const auto n = g.node(op::rms_norm, "RMS_NORM", {64, 1}, {g.leaf({64, 1})});
    const auto s = g.node(op::scale, "SCALE", {64, 1}, {n});
    CHECK(g.count().fused == fused{{"RELU+SQR", 1}, {"RMS_NORM+SCALE", 1}});
    g[s].params[1] = 1;  // plus something
    CHECK(g.count().launches == 3);
}

TEST_CASE("the number that an nvfp4 matrix comes with is multiplied in its launch", "[peer]") {
    graph_builder g;
    const auto x = g.leaf({64, 1}), by = g.leaf({1}, format::f32, true);
    const format type = GENERATE(format::nvfp4, format::q4_0);
    std::int32_t scaled[2];
    for (auto& s : scaled) {
        const auto m = g.node(op::mul_mat, "MUL_MAT", {32, 1}, {g.leaf({64, 32}, type, true), x});
        s = g.node(op::mul, "MUL", {32, 1}, {m, by});
    }
    const bool gated = GENERATE(false, true);
    if (gated) g.node(op::glu, "GLU", {32, 1}, {scaled[0], scaled[1]}, sub_op::swiglu);
    const int apart = gated ? 7 : 6;
    CHECK(g.count().launches == (type == format::q4_0 ? apart : gated ? 2 : 4));
}

TEST_CASE("the planner's model of ggml-cuda finds a soft cap where the peer's rule does",
          "[peer]") {
    graph_builder g;
    const auto first = g.node(op::scale, "SCALE", {64, 1}, {g.leaf({64, 1})});
    const auto curve = g.node(op::unary, "UNARY", {64, 1}, {first}, sub_op::tanh);
    const auto last = g.node(op::scale, "SCALE", {64, 1}, {curve});
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    CHECK(ggml_cuda.fuses(index, 0));
    CHECK(g.count().fused == fused{{"SCALE+TANH+SCALE", 1}});
    g[last].kind = op::sqr;
    g[last].op_name = "SQR";
    REQUIRE(index.build(g.view()).ok());
    CHECK(!ggml_cuda.fuses(index, 0));
    CHECK(g.count().fused.empty());
}

// The planner's model asks who reads what, in any order; the peer's rules ask for neighbors. The
// given graphs stand in the engine's order, in which both must find the same launches.
TEST_CASE("the planner's model and the peer's rules find the same convolutions", "[peer]") {
    int convolutions = 0;
    for (const auto& file : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs")) {
        if (file.path().extension() != ".gz") continue;
        INFO(file.path().filename().string());
        const json::graph read = json::read(file.path().string());
        graph_index g;
        REQUIRE(g.build(read.view()).ok());
        int found = 0;
        for (std::int32_t i = 0; i < g.view.size(); ++i)
            found += g.kind(i) == op::unary && ggml_cuda.fuses(g, i) && ends_convolution(g, i);
        fused of_peer = count_peer(g.view).fused;
        CHECK(found == of_peer["SSM_CONV+SILU"] + of_peer["SSM_CONV+ADD+SILU"]);
        convolutions += found;
    }
    CHECK(convolutions > 0);
}
