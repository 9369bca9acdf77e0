#include "output.hpp"

#include "command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace catena::tool {
namespace {

void write_to(std::FILE* file, const std::string& path, const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
        throw failure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

/// A file beside its final place; it disappears unless it is put there.
class draft {
public:
    explicit draft(const std::string& path)
        : path_(path), draft_(fmt::format("{}.part-{}", path, getpid())) {
        file_ = std::fopen(draft_.c_str(), "wb");
        if (!file_) throw failure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    }
    draft(const draft&) = delete;
    draft& operator=(const draft&) = delete;
    ~draft() {
        if (file_) std::fclose(file_);
        if (!placed_) std::remove(draft_.c_str());
    }

    void place(const std::string& text) {
        write_to(file_, path_, text);
        std::FILE* const file = file_;
        file_ = nullptr;
        if (std::fclose(file) != 0 || std::rename(draft_.c_str(), path_.c_str()) != 0)
            throw failure(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
        placed_ = true;
    }

private:
    std::string path_, draft_;
    std::FILE* file_ = nullptr;
    bool placed_ = false;
};

}  // namespace

void write_whole(const std::string& path, const std::string& text) {
    if (path.empty())
        write_to(stdout, "standard output", text);
    else
        draft(path).place(text);
}

void refuse_unwritable(const std::string& path) {
    if (!path.empty()) draft{path};
}

void add_output_options(CLI::App& command, output_options& to) {
    command.add_flag("--json", to.json, "Print JSON instead of text");
    command.add_option("--output", to.file, "Write to FILE, whole or not at all, instead of standard output")
        ->type_name("FILE");
}

}  // namespace catena::tool
