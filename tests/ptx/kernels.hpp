// The PTX that the build keeps of an arch's instances, by the names of their rows.
#pragma once

#include "tables.hpp"
#include "text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace catena_test {

/// The entry of a row: its name, as a name of C.
inline std::string entry_of(const catena::table& t, int row) {
    std::string name = "catena_" + row_name(t, row);
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

inline ptx::module read_ptx(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return ptx::parse(text.str());
}

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
