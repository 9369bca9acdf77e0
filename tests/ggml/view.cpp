// What the view of a ggml graph shows, field by field.
#include "model.hpp"

#include "catena/engine/ggml.hpp"
#include "catena/engine/ggml/pointer_index.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/counted_memory.hpp"

#include <ggml-alloc.h>

#include <string>
#include <vector>

namespace {

using namespace catena_test;
using catena::format;
using catena::op;
using catena::tensor;
using catena::ggml::knowledge;
using catena::ggml::view_builder;

/// A few nodes of every kind that matters here, not allocated.
struct small_graph {
    ggml_context_ptr context{
        ggml_init({64 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true})};
    ggml_cgraph* g = ggml_new_graph(c());
    ggml_tensor* x = leaf(GGML_TYPE_F32, 64, "x");
    ggml_backend_buffer_ptr buffer;

    ggml_context* c() const { return context.get(); }
    ggml_tensor* leaf(ggml_type type, std::int64_t ne, const char* name) const {
        return ggml_set_name(ggml_new_tensor_1d(c(), type, ne), name);
    }
    void finish(ggml_tensor* result) const { ggml_build_forward_expand(g, result); }
    void allocate(ggml_backend_buffer_usage usage) {
        buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(c(), ggml_backend_cpu_buffer_type()));
        ggml_backend_buffer_set_usage(buffer.get(), usage);
    }
};

const tensor& named(const view_builder& b, const std::string& name) {
    for (std::int32_t i = 0; i < b.view().tensor_count; ++i)
        if (b.view().at(i).name == name) return b.view().at(i);
    FAIL("no tensor " << name);
    std::abort();
}

TEST_CASE("Every format of the registry is a type of ggml with the same blocks", "[ggml]") {
    for (int f = 1; f < catena::format_count; ++f) {
        const catena::format_info& row = catena::info(static_cast<format>(f));
        CAPTURE(row.name);
        const auto id = static_cast<format>(f);
        if (row.role == catena::format_role::activation && id != format::q8_1) continue;
        if (id == format::fp8_e4m3) continue;  // of other engines
        int types = 0;
        for (int t = 0; t < GGML_TYPE_COUNT; ++t)
            types += catena::ggml::vocabulary::of_ggml().type(static_cast<ggml_type>(t)) == id;
        CHECK(types == 1);
    }
    CHECK(catena::ggml::vocabulary::of_ggml().type(GGML_TYPE_Q8_K) == format::unknown);
}

TEST_CASE("Every op that Catena tells apart is an op of ggml", "[ggml]") {
    for (const catena::op_spelling& s : catena::op_spellings) {
        if (s.kind == catena::op::moe_ffn) continue;  // of a ggml to come
        CAPTURE(s.name);
        int ops = 0;
        for (int o = 0; o < GGML_OP_COUNT; ++o)
            ops += catena::ggml::vocabulary::of_ggml().kind(static_cast<ggml_op>(o)) == s.kind;
        CHECK(ops == 1);
    }
}

TEST_CASE("A node shows its op, shape, parameters, sources and flags", "[ggml]") {
    small_graph s;
    ggml_tensor* gate = ggml_silu(s.c(), s.x);
    ggml_tensor* glu = ggml_swiglu_split(s.c(), gate, s.x);
    ggml_tensor* norm =
        ggml_set_name(ggml_rms_norm(s.c(), ggml_reshape_2d(s.c(), glu, 16, 4), 0.25f), "norm");
    ggml_set_output(norm);
    s.finish(norm);
    view_builder b;
    REQUIRE(b.build(s.g).ok());
    const catena::graph_view v = b.view();
    REQUIRE(v.size() == 4);
    CHECK(v.tensor_count == 5);
    CHECK(v.node(0).kind == op::unary);
    CHECK(v.node(0).sub == catena::sub_op::silu);
    CHECK(v.node(1).kind == op::glu);
    CHECK(v.node(1).sub == catena::sub_op::swiglu);
    CHECK(v.node(2).kind == op::reshape);
    CHECK(v.node(2).view_src == v.nodes[1]);
    const tensor& t = v.node(3);
    CHECK(t.kind == op::rms_norm);
    CHECK(t.op_name == std::string("RMS_NORM"));
    CHECK(t.type == format::f32);
    CHECK(t.flags == (catena::flag_output | catena::flag_compute));
    CHECK((t.ne[0] == 16 && t.ne[1] == 4 && t.ne[2] == 1));
    CHECK((t.nb[0] == 4 && t.nb[1] == 64));
    CHECK(t.src[0] == v.nodes[2]);
    CHECK(t.src[1] == catena::no_tensor);
    CHECK(t.params[0] == 0x3e800000);
    CHECK(t.buffer == catena::no_buffer);
    CHECK(t.data == nullptr);
    CHECK(b.source(v.nodes[3]) == norm);
}

TEST_CASE("An op or a type that Catena has not heard of is other or unknown, with ggml's name",
          "[ggml]") {
    small_graph s;
    s.finish(ggml_set_name(ggml_log(s.c(), s.x), "logarithms"));
    s.finish(ggml_set_name(ggml_step(s.c(), s.x), "steps"));
    s.finish(ggml_set_name(
        ggml_cpy(s.c(), s.leaf(GGML_TYPE_F32, 256, "from"), s.leaf(GGML_TYPE_Q8_K, 256, "to")),
        "copied"));
    view_builder b;
    REQUIRE(b.build(s.g).ok());
    CHECK(named(b, "logarithms").kind == op::other);
    CHECK(named(b, "logarithms").op_name == std::string("LOG"));
    CHECK(named(b, "steps").sub == catena::sub_op::other);
    CHECK(named(b, "copied").type == format::unknown);
}

TEST_CASE("Places in memory are buffers and offsets, a view's those of what it shows", "[ggml]") {
    small_graph s;
    ggml_tensor* part = ggml_set_name(ggml_view_1d(s.c(), s.x, 8, 32), "part");
    s.finish(ggml_set_name(ggml_scale(s.c(), part, 2.0f), "twice"));
    s.allocate(GGML_BACKEND_BUFFER_USAGE_ANY);
    view_builder b;
    REQUIRE(b.build(s.g).ok());
    const tensor& x = named(b, "x");
    const tensor& view = named(b, "part");
    CHECK(x.buffer == 0);
    CHECK(x.data == s.x->data);
    CHECK(view.buffer == x.buffer);
    CHECK(view.offset == x.offset + 32);
    CHECK(view.data == static_cast<char*>(s.x->data) + 32);
    const tensor& twice = named(b, "twice");
    CHECK(twice.buffer == 0);
    CHECK(twice.offset != x.offset);
}

TEST_CASE("A leaf in a buffer of weights is a weight, unless a node writes it", "[ggml]") {
    small_graph s;
    ggml_tensor* cache = s.leaf(GGML_TYPE_F32, 64, "cache");
    ggml_tensor* trained = s.leaf(GGML_TYPE_F32, 64, "trained");
    ggml_set_param(trained);
    s.finish(ggml_add(s.c(), s.x, trained));
    s.finish(ggml_set_name(ggml_cpy(s.c(), s.x, ggml_view_1d(s.c(), cache, 64, 0)), "write"));
    SECTION("by the buffer's usage") {
        s.allocate(GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        view_builder b;
        REQUIRE(b.build(s.g).ok());
        CHECK(named(b, "x").weight);
        CHECK_FALSE(named(b, "cache").weight);
        CHECK_FALSE(named(b, "trained").weight);
        CHECK_FALSE(named(b, "write").weight);
    }
    SECTION("not in any other buffer") {
        s.allocate(GGML_BACKEND_BUFFER_USAGE_COMPUTE);
        view_builder b;
        REQUIRE(b.build(s.g).ok());
        CHECK_FALSE(named(b, "x").weight);
    }
    SECTION("or by what the engine says") {
        view_builder b;
        knowledge engine;
        engine.weight = [](const ggml_tensor* t, void*) { return ggml_get_name(t)[0] != 't'; };
        REQUIRE(b.build(s.g, engine).ok());
        CHECK(named(b, "x").weight);
        CHECK_FALSE(named(b, "cache").weight);
        CHECK_FALSE(named(b, "trained").weight);
    }
}

TEST_CASE("Readers are unknown, or those that the engine counts, or the edges of a whole graph",
          "[ggml]") {
    small_graph s;
    s.finish(ggml_mul(s.c(), s.x, s.x));
    view_builder b;
    REQUIRE(b.build(s.g).ok());
    CHECK(named(b, "x").uses == catena::unknown_uses);

    knowledge engine;
    engine.whole_graph = true;
    REQUIRE(b.build(s.g, engine).ok());
    CHECK(named(b, "x").uses == 2);
    CHECK(b.view().node(0).uses == 0);

    int answer = 7;
    engine.user = &answer;
    engine.uses = [](const ggml_tensor*, void* user) { return *static_cast<int*>(user); };
    REQUIRE(b.build(s.g, engine).ok());
    CHECK(named(b, "x").uses == 7);
    answer = -20;
    REQUIRE(b.build(s.g, engine).ok());
    CHECK(named(b, "x").uses == catena::unknown_uses);
}

TEST_CASE("What a kernel cannot reach is said to be so, and is what it is otherwise", "[ggml]") {
    small_graph s;
    s.finish(ggml_set_name(ggml_scale(s.c(), s.x, 2.0f), "twice"));
    knowledge engine;
    engine.reachable = [](const ggml_tensor* t, void*) { return ggml_get_name(t)[0] != 'x'; };
    view_builder b;
    REQUIRE(b.build(s.g, engine).ok());
    CHECK_FALSE(named(b, "x").reachable);
    CHECK(named(b, "x").type == format::f32);
    CHECK(named(b, "twice").reachable);
}

TEST_CASE("A node is on the stream that the engine says, a leaf on none but the first", "[ggml]") {
    small_graph s;
    s.finish(ggml_set_name(ggml_scale(s.c(), s.x, 2.0f), "twice"));
    view_builder b;
    REQUIRE(b.build(s.g).ok());
    CHECK(named(b, "twice").stream == 0);
    knowledge engine;
    engine.stream = [](const ggml_tensor*, void*) { return 3; };
    REQUIRE(b.build(s.g, engine).ok());
    CHECK(named(b, "twice").stream == 3);
    CHECK(named(b, "x").stream == 0);
}

TEST_CASE("To a slice, what other slices compute is a leaf, and a name of memory stays one",
          "[ggml]") {
    small_graph s;
    ggml_tensor* norm = ggml_set_name(ggml_rms_norm(s.c(), s.x, 1e-6f), "norm");
    ggml_tensor* shaped = ggml_set_name(ggml_reshape_2d(s.c(), norm, 8, 8), "shaped");
    ggml_tensor* sum = ggml_add(s.c(), shaped, shaped);
    s.finish(sum);
    view_builder b;
    REQUIRE(b.build(&sum, 1).ok());
    const catena::graph_view v = b.view();
    CHECK(v.size() == 1);
    CHECK(v.tensor_count == 3);
    CHECK(named(b, "norm").kind == op::none);
    CHECK(named(b, "norm").src[0] == catena::no_tensor);
    CHECK_FALSE(named(b, "norm").weight);
    CHECK(named(b, "shaped").kind == op::reshape);
    CHECK(&v.at(named(b, "shaped").src[0]) == &named(b, "norm"));
    CHECK(&v.at(named(b, "shaped").view_src) == &named(b, "norm"));
}

TEST_CASE("Building again allocates nothing, and shows the new graph only", "[ggml]") {
    const model m{architecture{}};
    const graph large(m, 2);
    const graph other(m, 4);
    small_graph s;
    s.finish(ggml_scale(s.c(), s.x, 2.0f));
    view_builder b;
    REQUIRE(b.build(large.cgraph()).ok());
    const std::size_t before = allocated.calls;
    const bool built = b.build(other.cgraph()).ok() && b.build(s.g).ok();
    const std::size_t during = allocated.calls - before;
    CHECK(built);
    CHECK(during == 0);
    CHECK(b.view().size() == 1);
    CHECK(b.view().tensor_count == 2);
}

TEST_CASE("A pointer keeps its number while others come, and has none once all are forgotten",
          "[ggml]") {
    const std::vector<int> keys(5000);
    catena::ggml::pointer_index index;
    std::int32_t next = 0;
    for (const int& key : keys) {
        CHECK(index.find_or_add(&key, next) == next);
        ++next;
    }
    for (const int& key : keys) CHECK(index.find_or_add(&key, -1) == &key - keys.data());
    index.clear();
    for (const int& key : keys) CHECK(index.find_or_add(&key, 7) == 7);
}

TEST_CASE("A graph that is not there is refused with a sentence", "[ggml]") {
    view_builder b;
    CHECK(b.build(nullptr).message == std::string("view_builder: the graph is null"));
    CHECK_FALSE(b.build(nullptr, 3).ok());
    ggml_tensor* nothing = nullptr;
    CHECK(b.build(&nothing, 1).message == std::string("view_builder: node 0 is null"));
}

}  // namespace
