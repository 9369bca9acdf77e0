// What ggml's loader makes of a folder with backends.
#pragma once

#include "conversation.hpp"

#include <ggml-backend-impl.h>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace catena_test {

namespace fs = std::filesystem;

/// A folder with copies of these files under other names.
inline fs::path folder(const std::string& name,
                       const std::vector<std::pair<const char*, const char*>>& files) {
    const fs::path f = fs::path(CATENA_TEST_FOLDER) / name;
    fs::remove_all(f);
    fs::create_directories(f);
    for (const auto& [from, to] : files) fs::copy_file(from, f / to);
    return f;
}

/// What ggml's loader made of a folder.
struct found {
    ggml_backend_reg_t registry = nullptr;  ///< the first that is new
    std::string log;                        ///< Catena's lines

    ggml_backend_dev_t device(std::size_t i = 0) const {
        return ggml_backend_reg_dev_get(registry, i);
    }
    /// The file that it comes from.
    std::string file() const {
        Dl_info info{};
        dladdr(reinterpret_cast<void*>(registry->iface.get_name), &info);
        return fs::path(info.dli_fname).filename();
    }
};

inline found load(const fs::path& folder) {
    found f;
    const auto keep = [](ggml_log_level, const char* text, void* log) {
        if (std::string(text).rfind("catena:", 0) == 0) *static_cast<std::string*>(log) += text;
    };
    ggml_log_set(keep, &f.log);
    const std::size_t before = ggml_backend_reg_count();
    ggml_backend_load_all_from_path(folder.c_str());
    ggml_log_set(log_errors, nullptr);
    if (ggml_backend_reg_count() > before) f.registry = ggml_backend_reg_get(before);
    return f;
}

/// A variable of the environment as long as it lives.
struct variable {
    const char* name;
    variable(const char* n, const char* value) : name(n) { setenv(name, value, 1); }
    ~variable() { unsetenv(name); }
};

}  // namespace catena_test
