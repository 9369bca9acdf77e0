// A directory with a small graph in it, and the command run there as a process.
#pragma once

#include "catena_test/catch.hpp"
#include "small_graph.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace catena_test {

struct outcome {
    int code;
    std::string out, err;
};

inline std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A directory with a small graph in it, and the command run there.
struct workplace {
    std::string path = catena_test::scratch("command");
    workplace() {
        std::filesystem::create_directories(path);
        catena_test::write_file(path + "/small.json", catena_test::small_graph().dump());
    }
    ~workplace() { std::filesystem::remove_all(path); }

    outcome run(const std::string& arguments, const std::string& by = "") const {
        const std::string line = "cd '" + path + "' && " + by + " '" CATENA_COMMAND "' " +
                                 arguments + " >out 2>err </dev/null";
        const int status = std::system(line.c_str());
        outcome o{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(path + "/out"),
                  content(path + "/err")};
        std::filesystem::remove(path + "/out");
        std::filesystem::remove(path + "/err");
        return o;
    }
    int files() const {
        return static_cast<int>(std::distance(std::filesystem::directory_iterator(path),
                                              std::filesystem::directory_iterator{}));
    }
};

}  // namespace catena_test
