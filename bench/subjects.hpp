// What a run goes through: the chains of the given models, and a layer of three of them.
#pragma once

#include "chains.hpp"

#include <memory>
#include <string>
#include <vector>

namespace catena::bench {

/// A chain or a layer, for any number of columns.
struct subject {
    std::string kind;  ///< "chain", "layer"
    std::shared_ptr<const model> of;
    chain_case what;
    std::string excluded;  ///< ops of a layer that are in nobody's time
};

/// "chains" of the named models in the folder, of all where none is named; "layers" of
/// Llama-3.1-8B, Qwen3-8B and Qwen3-30B-A3B. Throws where a graph cannot be read or planned.
std::vector<subject> subjects_of(const std::string& what, const std::string& graphs,
                                 const std::vector<std::string>& models, const table& rows);

}  // namespace catena::bench
