// In what order the plug-in gives work to ggml-cuda and to its own stream, on a CUDA runtime of the
// tests' own and with a backend that writes down what it is given.
#include "catena/instances/for_device.hpp"
#include "catena/pick/join.hpp"

#include "../../launch/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <ggml-alloc.h>
#include <ggml-cpu.h>
#include <plugin/backend.hpp>
#include <plugin/kernels.hpp>
#include <plugin/version.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace catena_test;

catena::table catena::instances::sm_90() {
    static const char code[toy_row_count] = {};
    static const void* kernels[toy_row_count];
    for (int i = 0; i < toy_row_count; ++i) kernels[i] = code + i;
    table t = toy_table();
    t.target = arch_named("sm_90");
    t.kernels = kernels;
    t.launch = launch_cuda;
    return t;
}

namespace {

using words = std::vector<std::string>;

/// A device such as ggml-cuda's, with the CPU's memory.
struct engine {
    bool events = true;
    std::string bus_id = "0000:01:00.0";
} the_engine;

void say(const std::string& what) { runtime.order.push_back("ggml-cuda " + what); }

ggml_backend_t new_engine(ggml_backend_dev_t device, const char*) {
    static ggml_guid id{1};
    ggml_backend_i f{};
    f.get_name = [](ggml_backend_t) { return "CUDA0"; };
    f.free = [](ggml_backend_t b) { delete b; };
    f.synchronize = [](ggml_backend_t) { say("is done"); };
    f.graph_compute = [](ggml_backend_t, ggml_cgraph* g) {
        say("computes " + std::to_string(g->n_nodes));
        return GGML_STATUS_SUCCESS;
    };
    f.graph_optimize = [](ggml_backend_t, ggml_cgraph*, ggml_backend_graph_optimize_params*) {
        say("optimizes");
    };
    f.event_record = [](ggml_backend_t, ggml_backend_event_t) { say("records"); };
    f.event_wait = [](ggml_backend_t, ggml_backend_event_t) { say("waits"); };
    f.cpy_tensor_async = [](ggml_backend_t from, ggml_backend_t to, const ggml_tensor*,
                            ggml_tensor*) {
        return from->iface.free == to->iface.free;  // as ggml-cuda knows its own backends
    };
    return new ggml_backend{&id, f, device, nullptr};
}

ggml_backend_device& engine_device() {
    static ggml_backend_device one = [] {
        ggml_backend_device_i f{};
        f.get_name = [](ggml_backend_dev_t) { return "CUDA0"; };
        f.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; };
        f.get_props = [](ggml_backend_dev_t, ggml_backend_dev_props* p) {
            *p = {};
            p->device_id = the_engine.bus_id.c_str();
        };
        f.init_backend = new_engine;
        f.get_buffer_type = [](ggml_backend_dev_t) { return ggml_backend_cpu_buffer_type(); };
        f.event_new = [](ggml_backend_dev_t d) -> ggml_backend_event_t {
            return the_engine.events ? new ggml_backend_event{d, nullptr} : nullptr;
        };
        f.event_free = [](ggml_backend_dev_t, ggml_backend_event_t e) { delete e; };
        return ggml_backend_device{f, nullptr, nullptr};
    }();
    return one;
}

/// The plug-in's device around it, on a GPU that Catena serves.
struct machine : fresh_runtime {
    catena_plugin::served_device served;
    ggml_backend_device outer;

    machine() {
        the_engine = {};
        runtime.attributes[cudaDevAttrComputeCapabilityMajor] = 9;
        runtime.attributes[cudaDevAttrComputeCapabilityMinor] = 0;
        served = {&engine_device(), catena_plugin::table_for(&engine_device()), {}};
        outer = {catena_plugin::device_functions(engine_device().iface), nullptr, &served};
    }

    using backend = std::unique_ptr<ggml_backend, void (*)(ggml_backend_t)>;
    backend start() { return {ggml_backend_dev_init(&outer, nullptr), ggml_backend_free}; }
};

/// SQR, then two matmuls of a norm with SIN between them. By the invented table Catena quantizes
/// and multiplies, and the engine has the norms.
struct graph {
    ggml_context* c = ggml_init({1 << 20, nullptr, true});
    ggml_cgraph* g = ggml_new_graph(c);
    ggml_backend_buffer_t memory;

    graph() {
        constexpr int k = 512;
        ggml_tensor* weight = ggml_new_tensor_1d(c, GGML_TYPE_F32, k);
        ggml_tensor* matrix = ggml_new_tensor_2d(c, GGML_TYPE_Q4_K, k, k);
        ggml_tensor* x = ggml_sqr(c, ggml_new_tensor_1d(c, GGML_TYPE_F32, k));
        for (int i = 0; i < 2; ++i) {
            ggml_tensor* norm = ggml_mul(c, ggml_rms_norm(c, x, 1e-6f), weight);
            x = ggml_mul_mat(c, matrix, norm);
            if (i == 0) x = ggml_sin(c, ggml_reshape_2d(c, x, k, 1));
        }
        ggml_set_output(x);
        ggml_build_forward_expand(g, x);
        memory = ggml_backend_alloc_ctx_tensors_from_buft(c, ggml_backend_cpu_buffer_type());
        ggml_backend_buffer_set_usage(memory, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        for (int i = 0; i < g->n_nodes; ++i) g->nodes[i]->flags |= GGML_TENSOR_FLAG_COMPUTE;
    }
    ~graph() {
        ggml_backend_buffer_free(memory);
        ggml_free(c);
    }
};

}  // namespace

TEST_CASE_METHOD(machine, "ggml-cuda and the plug-in's stream wait for each other", "[plugin]") {
    graph g;
    const auto b = start();
    runtime.order.clear();
    REQUIRE(ggml_backend_graph_compute_async(b.get(), g.g) == GGML_STATUS_SUCCESS);
    const words joined = {"ggml-cuda records", "own waits"},
                back = {"own records", "ggml-cuda waits"};
    words expected = {"ggml-cuda computes 3"};
    for (int i = 0; i < 2; ++i) {
        expected.insert(expected.end(), joined.begin(), joined.end());
        expected.insert(expected.end(), 2, "own launches");
        expected.insert(expected.end(), back.begin(), back.end());
        if (i == 0) expected.push_back("ggml-cuda computes 4");
    }
    CHECK(runtime.order == expected);
}

TEST_CASE_METHOD(machine, "without events the host waits", "[plugin]") {
    the_engine.events = false;
    graph g;
    const auto b = start();
    runtime.order.clear();
    REQUIRE(ggml_backend_graph_compute_async(b.get(), g.g) == GGML_STATUS_SUCCESS);
    CHECK(runtime.order == words{"ggml-cuda computes 3", "ggml-cuda is done", "own launches",
                                 "own launches", "own is done", "ggml-cuda computes 4",
                                 "ggml-cuda is done", "own launches", "own launches",
                                 "own is done"});
}

TEST_CASE_METHOD(machine, "ggml-cuda waits for what was launched before a launch fails",
                 "[plugin]") {
    graph g;
    const auto b = start();
    runtime.broken = cudaErrorLaunchFailure;
    CHECK(ggml_backend_graph_compute_async(b.get(), g.g) == GGML_STATUS_FAILED);
    REQUIRE(runtime.order.size() > 2);
    CHECK(words(runtime.order.end() - 3, runtime.order.end()) ==
          words{"own launches", "own records", "ggml-cuda waits"});
}

TEST_CASE_METHOD(machine, "the GPU is the one at the device's place on the bus", "[plugin]") {
    runtime.on_bus = 3;
    CHECK(catena_plugin::table_for(&engine_device()).device_number == 3);
    the_engine.bus_id += "-v1";  // one of several devices on a GPU
    CHECK(catena_plugin::table_for(&engine_device()).device_number == 3);
    the_engine.bus_id = "0000:02:00.0";
    CHECK_FALSE(catena_plugin::table_for(&engine_device()).state.ok());
    the_engine.bus_id = "0000:01:00.0";
    runtime.attributes[cudaDevAttrComputeCapabilityMajor] = 8;
    CHECK_FALSE(catena_plugin::table_for(&engine_device()).state.ok());
}

TEST_CASE_METHOD(machine, "a graph of which no plan takes anything goes on as it is", "[plugin]") {
    served.asked.enabled = false;
    graph g;
    const auto b = start();
    runtime.order.clear();
    ggml_backend_graph_compute_async(b.get(), g.g);
    CHECK(runtime.order == words{"ggml-cuda computes " + std::to_string(g.g->n_nodes)});
}

TEST_CASE_METHOD(machine, "copies are between the wrapped backends", "[plugin]") {
    const auto one = start(), other = start();
    CHECK(one->iface.cpy_tensor_async(one.get(), other.get(), nullptr, nullptr));
    const machine::backend bare{new_engine(&engine_device(), nullptr), ggml_backend_free};
    CHECK(one->iface.cpy_tensor_async(bare.get(), one.get(), nullptr, nullptr));
}

TEST_CASE_METHOD(machine, "without room for a stream ggml-cuda serves alone", "[plugin]") {
    runtime.has_stream = false;
    const auto b = start();
    CHECK(b->device == &outer);
}

TEST_CASE("the plug-in is for one commit of ggml", "[plugin]") {
    using catena_plugin::is_same;
    CHECK(is_same({"0.25.3", "8e9fd0d"}, {"0.25.3", "8e9fd0d"}));
    CHECK(is_same({"0.25.3", "8e9fd0d"}, {"0.25.3", "8e9fd0d12-dirty"}));
    CHECK(is_same({"0.25.3", "unknown"}, {"0.25.3", "8e9fd0d"}));
    CHECK_FALSE(is_same({"0.25.3", "8e9fd0d"}, {"0.25.3", "8e9fd1d"}));
    CHECK_FALSE(is_same({"0.25.3", "unknown"}, {"0.25.4", "unknown"}));
}
