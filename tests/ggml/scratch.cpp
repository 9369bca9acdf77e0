// What a backend sets aside behind a result, seen by the adapter. No buffer type of ggml's CPU
// backend asks for more than a tensor's bytes, so the linker puts this file's answer in place of
// ggml's (--wrap): what ggml-cuda answers, whose FLASH_ATTN_EXT copies K and V behind its result.
#include "catena/engine/ggml/dump.hpp"
#include "catena/engine/json.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <ggml-alloc.h>
#include <ggml-cpp.h>

#include <string>

extern "C" {
std::size_t __real_ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t type,
                                                    const ggml_tensor* t);

std::size_t __wrap_ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t type,
                                                    const ggml_tensor* t) {
    std::size_t bytes = __real_ggml_backend_buft_get_alloc_size(type, t);
    if (t->op != GGML_OP_FLASH_ATTN_EXT) return bytes;
    for (const int source : {1, 2})
        bytes += static_cast<std::size_t>(ggml_nelements(t->src[source])) * sizeof(ggml_fp16_t);
    return bytes;
}
}

namespace {

using catena::tensor;
using catena::ggml::view_builder;

/// Attention and a feed-forward part that read one norm, as the graph stands in memory that was
/// dealt by hand: `up` lies where FLASH_ATTN_EXT, which is done then, had its copies of K and V.
struct parallel_block {
    ggml_context_ptr weights{ggml_init({8 * ggml_tensor_overhead(), nullptr, true})};
    ggml_context_ptr nodes{
        ggml_init({64 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true})};
    ggml_cgraph* graph = ggml_new_graph(c());
    ggml_tensor *x, *norm, *q, *fa, *o, *up;
    ggml_tensor *k, *v;
    ggml_backend_buffer_ptr weight_buffer, buffer;

    ggml_context* c() const { return nodes.get(); }

    parallel_block() {
        ggml_context* w = weights.get();
        ggml_tensor* norm_weight = ggml_new_tensor_1d(w, GGML_TYPE_F32, 512);
        ggml_tensor* wq = ggml_new_tensor_2d(w, GGML_TYPE_Q4_K, 512, 512);
        ggml_tensor* wo = ggml_new_tensor_2d(w, GGML_TYPE_Q4_K, 512, 512);
        ggml_tensor* wu = ggml_new_tensor_2d(w, GGML_TYPE_Q4_K, 512, 1024);
        weight_buffer.reset(
            ggml_backend_alloc_ctx_tensors_from_buft(w, ggml_backend_cpu_buffer_type()));
        ggml_backend_buffer_set_usage(weight_buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        x = ggml_new_tensor_1d(c(), GGML_TYPE_F32, 512);
        k = ggml_new_tensor_3d(c(), GGML_TYPE_Q8_0, 64, 256, 8);
        v = ggml_new_tensor_3d(c(), GGML_TYPE_Q8_0, 64, 256, 8);
        for (ggml_tensor* t : {x, k, v}) ggml_set_input(t);
        norm = ggml_mul(c(), ggml_rms_norm(c(), x, 1e-6f), norm_weight);
        q = ggml_mul_mat(c(), wq, norm);
        ggml_tensor* heads = ggml_permute(c(), ggml_reshape_3d(c(), q, 64, 8, 1), 0, 2, 1, 3);
        fa = ggml_flash_attn_ext(c(), heads, k, v, nullptr, 0.125f, 0, 0);
        o = ggml_mul_mat(c(), wo, ggml_reshape_2d(c(), fa, 512, 1));
        up = ggml_mul_mat(c(), wu, norm);
        for (ggml_tensor* t : {o, up}) {
            ggml_set_output(t);
            ggml_build_forward_expand(graph, t);
        }
    }

    void place_by_hand() {
        buffer.reset(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 1 << 20));
        auto* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer.get()));
        const auto put = [&](ggml_tensor* t, int at) {
            ggml_backend_tensor_alloc(buffer.get(), t, base + at);
        };
        put(x, 0), put(norm->src[0], 4096), put(norm, 8192), put(q, 12288), put(o, 16384);
        put(k, 1 << 18), put(v, 1 << 19);
        put(fa, 65536), put(up, 65536 + 4096);
        for (int i = 0; i < ggml_graph_n_nodes(graph); ++i)
            if (ggml_graph_node(graph, i)->buffer == nullptr)
                ggml_backend_view_init(ggml_graph_node(graph, i));
    }

    /// The tensor of the view that stands for `t`.
    static const tensor& shown(const view_builder& b, const ggml_tensor* t) {
        std::int32_t i = 0;
        while (b.source(i) != t) ++i;
        return b.view().at(i);
    }
    int position(const ggml_tensor* t) const {
        int i = 0;
        while (ggml_graph_node(graph, i) != t) ++i;
        return i;
    }
};

constexpr std::int64_t result_bytes = 512 * 4, copied_bytes = 2 * 64 * 256 * 8 * 2;

TEST_CASE("What a backend sets aside behind a result is in the view, of views it is nothing",
          "[ggml]") {
    parallel_block p;
    view_builder b;
    REQUIRE(b.build(p.graph).ok());
    CHECK(p.shown(b, p.fa).allocated == 0);  // nowhere yet
    const ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    REQUIRE(ggml_gallocr_alloc_graph(allocator.get(), p.graph));
    REQUIRE(b.build(p.graph).ok());
    CHECK(p.shown(b, p.fa).allocated == result_bytes + copied_bytes);
    CHECK(p.shown(b, p.o->src[1]).view_src != catena::no_tensor);
    CHECK(p.shown(b, p.o->src[1]).allocated == 0);
    CHECK(p.shown(b, p.q).allocated == 0);  // as much as its elements take
    CHECK(p.shown(b, p.k).allocated == 0);
}

TEST_CASE("A result that lies in the scratch of FLASH_ATTN_EXT is not written before it",
          "[ggml]") {
    parallel_block p;
    p.place_by_hand();
    catena::ggml::knowledge known;
    known.whole_graph = true;
    view_builder b;
    REQUIRE(b.build(p.graph, known).ok());
    const catena::plan plan = catena::planner(catena_test::toy_table()).plan(b.view());
    REQUIRE(plan.state().ok());
    const int step = plan.at(p.position(p.up)).step;
    REQUIRE(step >= 0);
    CHECK(plan.steps()[static_cast<std::size_t>(step)].launch_at > p.position(p.fa));
}

TEST_CASE("A dump says what was set aside", "[ggml]") {
    parallel_block p;
    p.place_by_hand();
    view_builder b;
    REQUIRE(b.build(p.graph).ok());
    REQUIRE(p.shown(b, p.fa).allocated > 0);
    const catena::json::graph read = catena::json::parse(catena::ggml::dump(b, {}), "dumped");
    for (std::int32_t i = 0; i < b.view().tensor_count; ++i)
        CHECK(read.view().at(i).allocated == b.view().at(i).allocated);
    CHECK_THAT(catena::ggml::dump(b, {}), Catch::StartsWith("{\"version\":2,"));
}

}  // namespace
