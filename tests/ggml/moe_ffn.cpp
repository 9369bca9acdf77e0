// MOE_FFN in ggml's graphs. No ggml has that op yet, so here GGML_OP_CUSTOM has its name: the
// linker puts this file's answer in place of ggml's (--wrap).
#include "catena/match/moe_ffn.hpp"
#include "catena/engine/ggml/backend_planner.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/step.hpp"
#include "catena/plan/verify.hpp"

#include "catena_test/catch.hpp"

#include <ggml-alloc.h>
#include <ggml-cpp.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

extern "C" {
const char* __real_ggml_op_name(ggml_op o);
const char* __wrap_ggml_op_name(ggml_op o) {
    return o == GGML_OP_CUSTOM ? "MOE_FFN" : __real_ggml_op_name(o);
}
}

namespace {

using catena::role;

/// A norm, a MOE_FFN and its sum with what was normed.
struct layer {
    ggml_context_ptr weights{ggml_init({8 * ggml_tensor_overhead(), nullptr, true})};
    ggml_context_ptr nodes{
        ggml_init({8 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true})};
    ggml_cgraph* graph = ggml_new_graph(nodes.get());
    ggml_backend_buffer_ptr weight_buffer;
    ggml_gallocr_ptr allocator{ggml_gallocr_new(ggml_backend_cpu_buffer_type())};
    ggml_tensor* moe = nullptr;

    layer() {
        ggml_context* const w = weights.get();
        ggml_context* const c = nodes.get();
        ggml_tensor* const scale = ggml_new_tensor_1d(w, GGML_TYPE_F32, 512);
        ggml_tensor* const router = ggml_new_tensor_2d(w, GGML_TYPE_F32, 512, 16);
        ggml_tensor* const ups = ggml_new_tensor_3d(w, GGML_TYPE_Q4_K, 512, 256, 16);
        ggml_tensor* const gates = ggml_new_tensor_3d(w, GGML_TYPE_Q4_K, 512, 256, 16);
        ggml_tensor* const downs = ggml_new_tensor_3d(w, GGML_TYPE_Q6_K, 256, 512, 16);
        weight_buffer.reset(
            ggml_backend_alloc_ctx_tensors_from_buft(w, ggml_backend_cpu_buffer_type()));
        ggml_backend_buffer_set_usage(weight_buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        ggml_tensor* const x = ggml_new_tensor_2d(c, GGML_TYPE_F32, 512, 1);
        ggml_set_input(x);
        ggml_tensor* sources[] = {ggml_mul(c, ggml_rms_norm(c, x, 1e-6f), scale), router, ups,
                                  gates, downs};
        moe = ggml_custom_4d(c, GGML_TYPE_F32, 512, 1, 1, 1, sources, 5, nullptr, 1, nullptr);
        std::fill(std::begin(moe->op_params), std::end(moe->op_params), 0);
        moe->op_params[0] = 4;
        ggml_tensor* const sum = ggml_add(c, moe, x);
        ggml_set_output(sum);
        ggml_build_forward_expand(graph, sum);
        REQUIRE(ggml_gallocr_alloc_graph(allocator.get(), graph));
    }
    int position() const {
        int i = 0;
        while (ggml_graph_node(graph, i) != moe) ++i;
        return i;
    }
};

/// A backend that gives memory for values inside nodes.
struct backend {
    catena::ggml::backend_planner plans{catena::instances::sm_90()};
    alignas(256) char memory[1 << 18];
    std::int64_t asked = 0;

    const catena::plan& walked(layer& of, bool gives) {
        catena::ggml::submission s{of.graph, 0, {}};
        s.known.whole_graph = true;
        s.known.user = this;
        if (gives)
            s.known.scratch = [](std::int64_t bytes, void* user) -> void* {
                auto& self = *static_cast<backend*>(user);
                self.asked = bytes;
                return self.memory;
            };
        catena::status state;
        const catena::plan* const p = plans.before_walk(s, state);
        REQUIRE(p != nullptr);
        CHECK(p->state().message == std::string());
        return *p;
    }
};

TEST_CASE("A backend that gives memory for what is inside a MOE_FFN gets it served", "[ggml]") {
    layer of;
    backend with;
    const catena::plan& p = with.walked(of, true);
    CHECK(with.asked == catena::scratch_bytes(with.plans.view().view()));
    REQUIRE(with.asked > 0);
    REQUIRE(with.asked <= std::int64_t{sizeof with.memory});
    CHECK(p.size() == ggml_graph_n_nodes(of.graph));
    CHECK(p.at(of.position()).role == role::launch);
    CHECK(p.steps().size() == 3);
    for (int i = 0; i < p.size(); ++i) CHECK(p.at(i).role != role::engine);
    CHECK(catena::verify(with.plans.view().view(), p).proved);
    CHECK(&with.walked(of, true) == &p);
}

TEST_CASE("A backend that gives none keeps a MOE_FFN", "[ggml]") {
    layer of;
    backend with;
    const catena::plan& p = with.walked(of, false);
    CHECK(p.at(of.position()).role == role::engine);
    const auto left = p.left();
    CHECK(std::any_of(left.begin(), left.end(), [&of](const catena::left_over& l) {
        return l.what.node == of.position() && l.what.why == catena::reason::moe_ffn_scratch;
    }));
}

}  // namespace
