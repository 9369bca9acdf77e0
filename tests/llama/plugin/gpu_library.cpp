// A library such as libggml-cuda.so, of two devices without a GPU. Their memory is hidden. What a
// stream is given waits in a queue until somebody waits for it, so whoever forgets to wait reads
// what is not there yet.
#include "cpu_backend.hpp"

#include <ggml-backend-impl.h>
#include <ggml-impl.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr std::size_t page = 4096, device_count = 2, device_memory = std::size_t{8} << 30;
constexpr int nan_byte = 0xff;

struct stream;
std::set<stream*>& streams() {
    static std::set<stream*> all;
    return all;
}

struct stream {
    std::deque<std::function<void()>> waiting;
    std::size_t given = 0, done = 0;

    stream() { streams().insert(this); }
    ~stream() { streams().erase(this); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    void give(std::function<void()> work) {
        waiting.push_back(std::move(work));
        ++given;
    }
    void finish(std::size_t until) {
        while (done < until) {
            const auto work = std::move(waiting.front());
            waiting.pop_front();
            ++done;
            work();
        }
    }
    void finish() { finish(given); }
};
stream& of(ggml_backend_t b) { return *static_cast<stream*>(b->context); }

/// Where an event was recorded last.
struct mark {
    stream* on = nullptr;
    std::size_t until = 0;

    void reach() const {
        if (streams().count(on) != 0) on->finish(until);
    }
};
mark& of(ggml_backend_event_t e) { return *static_cast<mark*>(e->context); }

char* bytes_of(const ggml_tensor* t) { return static_cast<char*>(t->data); }

const ggml_backend_buffer_i buffer_functions = [] {
    ggml_backend_buffer_i f{};
    f.free_buffer = [](ggml_backend_buffer_t b) {
        for (stream* s : streams()) s->finish();
        std::free(b->context);
    };
    f.get_base = [](ggml_backend_buffer_t b) { return b->context; };
    f.memset_tensor = [](ggml_backend_buffer_t, ggml_tensor* t, std::uint8_t value,
                         std::size_t offset,
                         std::size_t size) { std::memset(bytes_of(t) + offset, value, size); };
    f.set_tensor = [](ggml_backend_buffer_t, ggml_tensor* t, const void* from, std::size_t offset,
                      std::size_t size) { std::memcpy(bytes_of(t) + offset, from, size); };
    f.get_tensor = [](ggml_backend_buffer_t, const ggml_tensor* t, void* to, std::size_t offset,
                      std::size_t size) { std::memcpy(to, bytes_of(t) + offset, size); };
    f.clear = [](ggml_backend_buffer_t b, std::uint8_t value) {
        std::memset(b->context, value, b->size);
    };
    return f;
}();

ggml_backend_buffer_type_i memory_functions() {
    ggml_backend_buffer_type_i f{};
    f.get_name = [](ggml_backend_buffer_type_t t) { return ggml_backend_dev_name(t->device); };
    f.get_alignment = [](ggml_backend_buffer_type_t) { return std::size_t{128}; };
    f.alloc_buffer = [](ggml_backend_buffer_type_t t, std::size_t size) {
        void* memory = std::aligned_alloc(page, (size / page + 1) * page);
        std::memset(memory, nan_byte, size);
        return ggml_backend_buffer_init(t, buffer_functions, memory, size);
    };
    return f;
}

/// A node and what it reads as they are now: the engine may describe another graph in their place
/// before they are computed.
struct launch {
    ggml_tensor node;
    std::vector<ggml_tensor> sources;

    explicit launch(const ggml_tensor* t) : node(*t) {
        for (const ggml_tensor* s : t->src) sources.push_back(s == nullptr ? ggml_tensor{} : *s);
    }
    void run() {
        static ggml_backend_t cpu = catena_test::new_cpu_backend();
        for (std::size_t i = 0; i < sources.size(); ++i)
            if (node.src[i] != nullptr) node.src[i] = &sources[i];
        ggml_tensor* nodes[] = {&node};
        ggml_cgraph graph{};
        graph.n_nodes = 1;
        graph.nodes = nodes;
        ggml_backend_graph_compute(cpu, &graph);
    }
};

void free_backend(ggml_backend_t b) {
    of(b).finish();
    delete &of(b);
    delete b;
}

bool copy(ggml_backend_t from, ggml_backend_t to, const ggml_tensor* source, ggml_tensor* target) {
    if (from->iface.free != free_backend || to->iface.free != free_backend) return false;
    of(from).give([in = source->data, out = target->data, size = ggml_nbytes(target)] {
        std::memcpy(out, in, size);
    });
    of(to).give([m = mark{&of(from), of(from).given}] { m.reach(); });
    return true;
}

ggml_backend_t new_backend(ggml_backend_dev_t device, const char*) {
    static ggml_guid id{1};
    ggml_backend_i f{};
    f.get_name = [](ggml_backend_t b) { return ggml_backend_dev_name(b->device); };
    f.free = free_backend;
    f.set_tensor_async = [](ggml_backend_t b, ggml_tensor* t, const void* from, std::size_t offset,
                            std::size_t size) {
        const auto* in = static_cast<const char*>(from);
        of(b).give([out = bytes_of(t) + offset, data = std::string(in, size)] {
            std::memcpy(out, data.data(), data.size());
        });
    };
    f.get_tensor_async = [](ggml_backend_t b, const ggml_tensor* t, void* to, std::size_t offset,
                            std::size_t size) {
        of(b).give([to, in = bytes_of(t) + offset, size] { std::memcpy(to, in, size); });
    };
    f.cpy_tensor_async = copy;
    f.synchronize = [](ggml_backend_t b) { of(b).finish(); };
    f.graph_compute = [](ggml_backend_t b, ggml_cgraph* graph) {
        for (int i = 0; i < graph->n_nodes; ++i)
            of(b).give([l = launch(graph->nodes[i])]() mutable { l.run(); });
        return GGML_STATUS_SUCCESS;
    };
    f.event_record = [](ggml_backend_t b, ggml_backend_event_t e) {
        of(e) = {&of(b), of(b).given};
    };
    f.event_wait = [](ggml_backend_t b, ggml_backend_event_t e) {
        of(b).give([m = of(e)] { m.reach(); });
    };
    return new ggml_backend{&id, f, device, new stream};
}

struct gpu {
    std::string name;
    ggml_backend_device device;
    ggml_backend_buffer_type memory;
};
gpu& of(ggml_backend_dev_t d) { return *static_cast<gpu*>(d->context); }

ggml_backend_device_i device_functions() {
    ggml_backend_device_i f{};
    f.get_name = [](ggml_backend_dev_t d) { return of(d).name.c_str(); };
    f.get_description = [](ggml_backend_dev_t) { return "no GPU"; };
    f.get_memory = [](ggml_backend_dev_t, std::size_t* free, std::size_t* total) {
        *free = *total = device_memory;
    };
    f.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; };
    f.get_props = [](ggml_backend_dev_t d, ggml_backend_dev_props* p) {
        *p = {};
        p->name = p->device_id = of(d).name.c_str();
        p->description = d->iface.get_description(d);
        p->type = GGML_BACKEND_DEVICE_TYPE_GPU;
        p->memory_free = p->memory_total = device_memory;
        p->caps.async = p->caps.events = true;
    };
    f.init_backend = new_backend;
    f.get_buffer_type = [](ggml_backend_dev_t d) { return &of(d).memory; };
    f.supports_op = [](ggml_backend_dev_t, const ggml_tensor* t) {
        return ggml_backend_dev_supports_op(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU),
                                            t);
    };
    f.supports_buft = [](ggml_backend_dev_t d, ggml_backend_buffer_type_t t) {
        return t == &of(d).memory;
    };
    f.event_new = [](ggml_backend_dev_t d) { return new ggml_backend_event{d, new mark}; };
    f.event_free = [](ggml_backend_dev_t, ggml_backend_event_t e) {
        delete &of(e);
        delete e;
    };
    f.event_synchronize = [](ggml_backend_dev_t, ggml_backend_event_t e) { of(e).reach(); };
    return f;
}

ggml_backend_dev_t device(ggml_backend_reg_t registry, std::size_t i) {
    static gpu all[device_count];
    gpu& g = all[i];
    if (g.name.empty()) {
        g.name = "CUDA" + std::to_string(i);
        g.device = {device_functions(), registry, &g};
        g.memory = {memory_functions(), &g.device, nullptr};
    }
    return &g.device;
}

ggml_backend_reg_t registry() {
    static ggml_backend_reg one{
        GGML_BACKEND_API_VERSION,
        {[](ggml_backend_reg_t) { return "CUDA"; }, [](ggml_backend_reg_t) { return device_count; },
         device, [](ggml_backend_reg_t, const char*) -> void* { return nullptr; }},
        nullptr};
    return &one;
}

}  // namespace

GGML_BACKEND_DL_IMPL(registry)
