#include "engine.hpp"

#include "catena/pick/measured_file.hpp"

#include <stdexcept>

namespace catena::generator {

std::string engine_path(const arch& target) {
    return "instances/" + std::string(target.name) + "/engine.txt";
}

engine_records read_engine(const std::filesystem::path& root) {
    engine_records out;
    for (const arch& target : arch_registry) {
        const std::filesystem::path path = root / engine_path(target);
        if (!std::filesystem::exists(path)) continue;
        measured_file& file = out[target.name];
        const status read = file.read(path.string().c_str(), {});
        if (!read.ok()) throw std::runtime_error(read.message);
        if (file.passed_over() > 0)
            throw std::runtime_error(engine_path(target) +
                                     " has medians of rows: those belong into tuning.json");
    }
    return out;
}

}  // namespace catena::generator
