// Graphs that overwrite a value which they still read: the proof blames the graph, not the plan.
#include "cases.hpp"

#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/detail/verify/memory.hpp"
#include "catena/plan/verify.hpp"

#include <map>
#include <string>

using namespace catena;
using namespace catena_test;

namespace {

plan unproved_plan(const graph_view& view) {
    options asked;
    asked.verify = false;
    return planner(instances::sm_90(), asked).plan(view);
}

verification proof_of(graph_builder& g) {
    const graph_view view = g.view();
    return verify(view, unproved_plan(view));
}

/// A value that is read twice, and what a node between its readers makes.
struct read_twice {
    graph_builder g;
    id value = g.other({g.input(format::f32, {512, 2})});
    id norm = g.scaled_norm(value);
    id made = g.matmul(format::q4_K, 512, norm);
    id sum = g.add(made, value);
};

/// Tensors of the engine whose rows lie between each other's; one is written in place.
struct between_rows {
    graph_builder g;
    id first = g.input(format::f32, {64, 4}), second = g.input(format::f32, {64, 4});
    id made = g.scale(first, 2), sum = g.add(made, second);
    between_rows() {
        g.share(second, first, 256);
        for (const id t : {first, second, made}) {
            g[t].nb[1] = 512;
            g[t].nb[2] = g[t].nb[3] = 4 * 512;
        }
        g.share(made, first);
    }
};

}  // namespace

TEST_CASE("rows that lie at equal distances are apart if they fit between each other") {
    const auto rows = [](std::uint64_t at, std::int64_t length) {
        return proof::rows_at(at, length, 4, 64);
    };
    CHECK(apart(rows(4096, 4), rows(4096 + 16, 12)));
    CHECK_FALSE(apart(rows(4096, 4), rows(4096 + 32, 12)));  // it ends in the next row
    CHECK_FALSE(apart(rows(4096 + 32, 12), rows(4096, 4)));
}

TEST_CASE("what a CPY writes over it does not read") {
    graph_builder g;
    const id old = g.other({g.input(format::f32, {512})});
    const id norm = g.scaled_norm(g.other({old}));
    const id over = g.other({g.matmul(format::q4_K, 512, norm)});
    g.share(over, old);
    g.other({over});
    g.rename(g.node(op::cpy, format::f32, {512}, {g.input(format::f32, {512}), old}), old);
    const verification v = proof_of(g);
    INFO(v.state.message);
    CHECK(v.state.ok());
}

TEST_CASE("a graph file that overwrites a part of a value is wrong, at a place in the file") {
    const json::graph file = json::read(CATENA_TEST_DATA "/small/overwrites_a_value.json");
    const std::vector<tensor> tensors = with_addresses(file.view());
    graph_view view = file.view();
    view.tensors = tensors.data();
    const verification v = verify(view, unproved_plan(view));
    CHECK(v.state.code == status_code::wrong_graph);
    CHECK_FALSE(v.proved);
    CHECK(v.state.message ==
          std::string("the graph is wrong: node 2 writes over tensor 2, which node 5 still reads "
                      "(64 bytes from byte 8192 of buffer 1 on); give the node other memory, or "
                      "let it name the tensor as its view_src"));
    CHECK(v.overwritten.writer == 2);
    CHECK(v.overwritten.reader == 5);
    CHECK(v.overwritten.tensor == 2);
    CHECK(v.overwritten.buffer == 1);
    CHECK(v.overwritten.offset == 8192);
    CHECK(v.overwritten.bytes == 64);
    CHECK(v.node == 2);
    CHECK(v.step == -1);
}

TEST_CASE("a value that is overwritten whole or in part, before its last reader, is found") {
    for (const std::int64_t bytes : {-64, 0, 64, 4000}) {
        CAPTURE(bytes);
        read_twice c;
        c.g.share(c.made, c.value, bytes);
        const verification v = proof_of(c.g);
        CHECK(v.state.code == status_code::wrong_graph);
        CHECK(v.overwritten.writer == c.g.position(c.made));
        CHECK(v.overwritten.reader == c.g.position(c.sum));
        CHECK(v.overwritten.tensor == c.value);
        CHECK(v.overwritten.offset ==
              c.g[c.value].offset + static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
        CHECK(v.overwritten.bytes == 4096 - static_cast<std::uint64_t>(std::abs(bytes)));
    }
    read_twice c;
    c.g.share(c.sum, c.value);  // in place: nobody reads the value behind its sum
    CHECK(proof_of(c.g).proved);
    c.g.share(c.norm, c.made);
    CHECK(proof_of(c.g).proved);
}

TEST_CASE("a byte of a tensor without a buffer is counted from its first") {
    read_twice c;
    c.g.share(c.made, c.value, 64);
    for (tensor& t : c.g.tensors) t.buffer = no_buffer;
    const verification v = proof_of(c.g);
    CHECK(v.overwritten.offset == 64);
    CHECK(std::string(v.state.message).find("4032 bytes from byte 64 of the tensor on") !=
          std::string::npos);
}

TEST_CASE("what a node leaves behind its result may spoil a value, too") {
    read_twice c;
    c.g[c.made].allocated = 4096 + 256;
    c.g.share(c.made, c.value, -4096);
    const verification v = proof_of(c.g);
    CHECK(v.state.code == status_code::wrong_graph);
    CHECK(v.overwritten.bytes == 256);
}

TEST_CASE("whoever names a value's memory may change it") {
    read_twice c;
    const id changed = c.g.scale(c.made, 2);
    c.g.rename(changed, c.made);
    c.g.other({c.made});
    CHECK(proof_of(c.g).state.ok());
    graph_builder g;
    const id cache = g.input(format::f32, {512, 4});
    const id copied = g.node(op::cpy, format::f32, {512}, {g.input(format::f32, {512}), cache});
    g.rename(copied, cache);
    g.other({g.view(cache, {512, 2})});
    CHECK(proof_of(g).proved);
}

TEST_CASE("rows between the rows of a value are none of its bytes") {
    between_rows c;
    CHECK(proof_of(c.g).proved);
    c.g.share(c.second, c.first, 252);
    CHECK(proof_of(c.g).state.code == status_code::wrong_graph);
}

TEST_CASE("a weight that a node writes is no weight") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, 1}));
    const id w = g.weight(format::q8_0, {512, 64});
    const id y = g.mul_mat(w, x), late = g.other({y});
    g.share(late, w, 4 * 544);
    const verification v = proof_of(g);
    CHECK(v.state.code == status_code::wrong_graph);
    CHECK(v.overwritten.writer == g.position(late));
    CHECK(v.overwritten.reader == -1);
    CHECK(v.overwritten.tensor == w);
    CHECK(v.overwritten.offset == g[w].offset + 4 * 544);
    CHECK(std::string(v.state.message).find("which is a weight (256 bytes") != std::string::npos);
}

TEST_CASE("a planner that verifies leaves a wrong graph to the engine, and says so") {
    read_twice c;
    c.g.share(c.made, c.value);
    const graph_view view = c.g.view();
    setenv("CATENA_VERIFY", "1", 1);
    const options asked = options::from_environment();
    unsetenv("CATENA_VERIFY");
    const plan p = planner(instances::sm_90(), asked).plan(view);
    CHECK(p.state().code == status_code::wrong_graph);
    CHECK(std::string(p.state().message).find("the graph is wrong: node") == 0);
    CHECK(p.counters().dropped);
    CHECK_FALSE(p.counters().proved);
    CHECK(p.steps().size() == 0);
    for (int i = 0; i < view.size(); ++i) CHECK(p.at(i).role == role::engine);

    const plan unproved = unproved_plan(view);  // it believes the graph
    CHECK(unproved.state().ok());
    CHECK(unproved.steps().size() > 0);
}

namespace {

/// The same question, asked byte by byte.
class byte_by_byte {
  public:
    explicit byte_by_byte(const graph_view& view) : view_(view) {}

    bool overwritten() {
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            const tensor& t = view_.node(i);
            if (launches_nothing(t.kind)) continue;
            for (const std::int32_t s : t.src)
                if (s != no_tensor && spoiled(s)) return true;
            each_byte(t, [&](std::uintptr_t b) { writer_[b] = root(view_.nodes[i]); });
        }
        for (std::int32_t t = 0; t < view_.tensor_count; ++t)
            if (view_.at(t).weight && spoiled(t)) return true;
        return false;
    }

  private:
    const graph_view& view_;
    std::map<std::uintptr_t, std::int32_t> writer_;

    std::int32_t root(std::int32_t t) const {
        while (named_by(view_.at(t)) != no_tensor) t = named_by(view_.at(t));
        return t;
    }
    template <class F>
    static void each_byte(const tensor& t, F&& f) {
        const auto first = reinterpret_cast<std::uintptr_t>(t.data);
        const auto bytes = static_cast<std::uintptr_t>(extent_bytes(t));
        for (std::uintptr_t b = first; b < first + bytes; ++b) f(b);
    }
    bool spoiled(std::int32_t t) const {
        bool out = false;
        each_byte(view_.at(t), [&](std::uintptr_t b) {
            const auto w = writer_.find(b);
            out = out || (w != writer_.end() && w->second != root(t));
        });
        return out;
    }
};

}  // namespace

TEST_CASE(
    "of a graph whose results lie anywhere the proof finds the plan right or the graph wrong") {
    int wrong = 0, right = 0;
    for (std::size_t t = 0; t < 16; ++t)
        for (std::size_t at = 0; at < 16; ++at)
            for (const std::int64_t bytes : {-48, 0, 16, 256}) {
                graph_builder g;
                const id x = g.input(format::f32, {64, 2}), past = g.other({x});
                const id norm = g.scaled_norm(g.add(x, past));
                const id gate = g.matmul(format::q8_0, 64, norm);
                const id up = g.matmul(format::q8_0, 64, norm);
                const id down = g.matmul(format::q8_0, 64, g.glu(gate, up));
                g.other({g.add(down, past), g.view(up, {64, 1}, 256)});
                if (g.tensors[t].kind == op::none || t == at || at >= g.tensors.size()) continue;
                if (bytes < 0 && g[static_cast<id>(at)].offset == 0) continue;  // no place
                CAPTURE(t, at, bytes);
                g.share(static_cast<id>(t), static_cast<id>(at), bytes);
                const verification v = proof_of(g);
                const bool expected = byte_by_byte(g.view()).overwritten();
                CHECK(v.proved == !expected);
                CHECK(v.state.code == (expected ? status_code::wrong_graph : status_code::ok));
                ++(expected ? wrong : right);
            }
    CHECK(wrong > 50);
    CHECK(right > 50);
}
