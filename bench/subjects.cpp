#include "subjects.hpp"

#include <filesystem>
#include <set>

namespace catena::bench {
namespace {

const std::vector<std::string> layer_models = {"llama-3.1-8b-q8_0", "qwen3-8b-q4km",
                                               "qwen3-30b-a3b-q4km"};

/// NAME of every NAME.tg1.json.gz.
std::vector<std::string> models_in(const std::string& folder) {
    std::set<std::string> names;
    const std::string end = ".tg1.json.gz";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string file = entry.path().filename();
        if (file.size() > end.size() && file.substr(file.size() - end.size()) == end)
            names.insert(file.substr(0, file.size() - end.size()));
    }
    return {names.begin(), names.end()};
}

}  // namespace

std::vector<subject> subjects_of(const std::string& what, const std::string& graphs,
                                 const std::vector<std::string>& models, const table& rows) {
    std::vector<subject> all;
    const bool layers = what == "layers";
    for (const std::string& name : layers           ? layer_models
                                   : models.empty() ? models_in(graphs)
                                                    : models) {
        const auto m = std::make_shared<const model>(model::read(graphs, name));
        if (layers) {
            const layer_case l = layer_of(*m, rows);
            all.push_back({"layer", m, l.what, l.excluded});
            continue;
        }
        for (const chain_case& c : chains_of(*m, rows)) all.push_back({"chain", m, c, ""});
    }
    return all;
}

}  // namespace catena::bench
