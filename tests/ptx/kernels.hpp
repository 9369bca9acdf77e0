// The PTX that the build keeps of an arch's instances.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace catena_test {

/// The PTX files of an arch whose names begin with `family`.
inline std::vector<std::string> made_for(const std::string& arch, const std::string& family) {
    std::vector<std::string> files;
    std::ifstream made(CATENA_PTX "/" + arch + "/made.txt");
    for (std::string file; std::getline(made, file);)
        if (std::filesystem::path(file).filename().string().starts_with(family))
            files.push_back(file);
    return files;
}

}  // namespace catena_test
