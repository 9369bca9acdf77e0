// Files of a generator: written only when they change, whole or not at all.
#pragma once

#include "render.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace catena::generator {

/// What differs between rendered files and those on disk.
struct difference {
    enum class kind { missing, changed, stale } what;
    std::string path;  ///< below the root
};

/// Stale: a stamped file in a folder of the instance sets that is not among `files`.
std::vector<difference> compare(const std::vector<rendered_file>& files,
                                const std::filesystem::path& root);

/// Writes what is missing or changed, removes what is stale, and returns what it did. Throws with
/// the path and the reason where the file system refuses; a file is never left half-written.
std::vector<difference> update(const std::vector<rendered_file>& files,
                               const std::filesystem::path& root);

std::string sentence(const difference& d);

}  // namespace catena::generator
