// libggml-NAME-catena.so: ggml loads it in place of libggml-NAME.so, which must lie beside it. It
// loads that library itself and stands for its devices. If it cannot serve it says so in one line
// and scores nothing, and ggml loads libggml-NAME.so as before.
#include "backend.hpp"
#include "forward.hpp"
#include "kernels.hpp"
#include "version.hpp"

#include <dlfcn.h>

#include <cstring>
#include <list>
#include <string>
#include <vector>

using namespace catena_plugin;

namespace {

/// The wrapped library; without devices the plug-in steps aside.
struct library {
    ggml_backend_reg_t registry = nullptr;
    int score = 0;
    std::list<served_device> served;
    std::list<ggml_backend_device> outer;  // of the devices that are served
    std::vector<ggml_backend_dev_t> devices;
};
const library& loaded();

library aside(const std::string& why) {
    GGML_LOG_WARN("catena: the plug-in steps aside: %s\n", why.c_str());
    return {};
}

/// The path of the library that this one stands for.
std::string wrapped_path() {
    const std::string end = "-catena.so";
    Dl_info self{};
    dladdr(reinterpret_cast<const void*>(&loaded), &self);
    const std::string path = self.dli_fname == nullptr ? "" : self.dli_fname;
    const std::size_t at = path.rfind(end);
    return at == std::string::npos || at + end.size() != path.size() ? ""
                                                                     : path.substr(0, at) + ".so";
}

ggml_backend_reg_t plugin_registry();

library load() {
    const catena::options asked = catena::ggml::options_of_user();
    if (!catena::ggml::is_wanted(asked)) return {};
    const ggml_build mine{CATENA_GGML_VERSION, CATENA_GGML_COMMIT};
    const ggml_build here{ggml_version(), ggml_commit()};
    if (!is_same(mine, here))
        return aside("it was built for ggml " + mine.version + " (" + mine.commit +
                     "), and this is " + here.version + " (" + here.commit + ")");
    const std::string path = wrapped_path();
    if (path.empty()) return aside("its file is not called libggml-NAME-catena.so");
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return aside(dlerror());
    const auto init = reinterpret_cast<ggml_backend_init_t>(dlsym(handle, "ggml_backend_init"));
    const auto score = reinterpret_cast<ggml_backend_score_t>(dlsym(handle, "ggml_backend_score"));
    library out;
    out.score = score == nullptr ? 1 : score();
    out.registry = init == nullptr || out.score == 0 ? nullptr : init();
    if (out.registry == nullptr || out.registry->api_version != GGML_BACKEND_API_VERSION)
        return aside(path + " is no backend that runs here");
    std::string left;  // devices that Catena does not serve
    for (std::size_t i = 0; i < ggml_backend_reg_dev_count(out.registry); ++i) {
        ggml_backend_dev_t device = ggml_backend_reg_dev_get(out.registry, i);
        out.devices.push_back(device);
        const catena::table rows = table_for(device);
        const catena::status served = catena::ggml::can_serve(rows, asked);
        if (!served.ok()) {
            left += std::string(left.empty() ? "" : "; ") + ggml_backend_dev_name(device) + ": " +
                    served.message;
            continue;
        }
        out.served.push_back({device, rows, asked});
        out.outer.push_back(
            {device_functions(device->iface), plugin_registry(), &out.served.back()});
        out.devices.back() = &out.outer.back();
    }
    if (out.devices.empty()) return aside(path + " has no device");
    if (out.served.empty()) return aside(left);
    if (!left.empty()) GGML_LOG_WARN("catena: not served: %s\n", left.c_str());
    return out;
}

const library& loaded() {
    // It is never destroyed: at exit ggml may still ask for the devices.
    static const library& one = *new library(load());
    return one;
}

// Functions of the wrapped library that are given a backend or a device: they get the wrapped one.

template <class Function>
Function wrapped_function(const char* name) {
    return reinterpret_cast<Function>(ggml_backend_reg_get_proc_address(loaded().registry, name));
}
void set_n_threads(ggml_backend_t b, int count) {
    wrapped_function<ggml_backend_set_n_threads_t>("ggml_backend_set_n_threads")(wrapped_by(b),
                                                                                 count);
}
void set_abort_callback(ggml_backend_t b, ggml_abort_callback callback, void* data) {
    wrapped_function<ggml_backend_set_abort_callback_t>("ggml_backend_set_abort_callback")(
        wrapped_by(b), callback, data);
}
void set_threadpool(ggml_backend_t b, ggml_threadpool_t pool) {
    using function = void (*)(ggml_backend_t, ggml_threadpool_t);
    wrapped_function<function>("ggml_backend_cpu_set_threadpool")(wrapped_by(b), pool);
}
ggml_backend_buffer_type_t* extra_buffer_types(ggml_backend_dev_t d) {
    return wrapped_function<ggml_backend_dev_get_extra_bufts_t>("ggml_backend_dev_get_extra_bufts")(
        wrapped_by(d));
}
ggml_backend_feature* features(ggml_backend_reg_t) {
    return wrapped_function<ggml_backend_get_features_t>("ggml_backend_get_features")(
        loaded().registry);
}
void* comm_init(ggml_backend_t* backends, std::size_t count) {
    std::vector<ggml_backend_t> wrapped;
    for (std::size_t i = 0; i < count; ++i) wrapped.push_back(wrapped_by(backends[i]));
    return wrapped_function<ggml_backend_comm_init_t>("ggml_backend_comm_init")(wrapped.data(),
                                                                                count);
}

void* function_named(ggml_backend_reg_t, const char* name) {
    static const struct {
        const char* name;
        void* function;
    } unwrapping[] = {
        {"ggml_backend_set_n_threads", reinterpret_cast<void*>(set_n_threads)},
        {"ggml_backend_set_abort_callback", reinterpret_cast<void*>(set_abort_callback)},
        {"ggml_backend_cpu_set_threadpool", reinterpret_cast<void*>(set_threadpool)},
        {"ggml_backend_dev_get_extra_bufts", reinterpret_cast<void*>(extra_buffer_types)},
        {"ggml_backend_get_features", reinterpret_cast<void*>(features)},
        {"ggml_backend_comm_init", reinterpret_cast<void*>(comm_init)},
    };
    void* wrapped = ggml_backend_reg_get_proc_address(loaded().registry, name);
    if (wrapped == nullptr) return nullptr;
    for (const auto& u : unwrapping)
        if (std::strcmp(u.name, name) == 0) return u.function;
    return wrapped;
}

ggml_backend_reg_t plugin_registry() {
    static ggml_backend_reg one{
        GGML_BACKEND_API_VERSION,
        {[](ggml_backend_reg_t) { return ggml_backend_reg_name(loaded().registry); },
         [](ggml_backend_reg_t) { return loaded().devices.size(); },
         [](ggml_backend_reg_t, std::size_t i) { return loaded().devices.at(i); }, function_named},
        nullptr};
    return &one;
}

ggml_backend_reg_t registry_if_it_serves() {
    return loaded().devices.empty() ? nullptr : plugin_registry();
}

/// More than the wrapped library's, if it serves.
int score() { return loaded().devices.empty() ? 0 : loaded().score + 1; }

}  // namespace

GGML_BACKEND_DL_IMPL(registry_if_it_serves)
GGML_BACKEND_DL_SCORE_IMPL(score)
