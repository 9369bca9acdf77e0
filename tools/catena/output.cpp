#include "output.hpp"

#include "tables.hpp"

#include "command.hpp"
#include "wrap.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace catena::tool {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path) {
    throw failure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

void write_to(std::FILE* file, const std::string& path, const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
        refuse(path);
}

/// A device or a pipe is written to; a file is replaced.
bool is_stream(const std::string& path) {
    std::error_code ignored;
    const fs::file_status is = fs::status(path, ignored);
    return fs::exists(is) && !fs::is_regular_file(is) && !fs::is_directory(is);
}

/// Where a link leads, so that the link stays.
std::string behind_links(const std::string& path) {
    std::error_code ignored;
    const fs::path file = fs::canonical(path, ignored);
    return file.empty() ? path : file.string();
}

struct open_file {
    std::FILE* handle;
    explicit open_file(const std::string& path) : handle(std::fopen(path.c_str(), "wb")) {}
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;
    ~open_file() {
        if (handle) std::fclose(handle);
    }
    bool close() { return std::fclose(std::exchange(handle, nullptr)) == 0; }
};

/// A file beside its final place; it disappears unless it is put there.
class part_file {
  public:
    explicit part_file(const std::string& path)
        : path_(behind_links(path)),
          draft_(fmt::format("{}.part-{}", path_, getpid())),
          file_(draft_) {
        if (!file_.handle) refuse(path_);
    }
    ~part_file() {
        if (!placed_) std::remove(draft_.c_str());
    }

    void place(const std::string& text) {
        write_to(file_.handle, path_, text);
        placed_ = file_.close() && std::rename(draft_.c_str(), path_.c_str()) == 0;
        if (!placed_) refuse(path_);
    }

  private:
    std::string path_, draft_;
    open_file file_;
    bool placed_ = false;
};

}  // namespace

std::size_t text_width() {
    constexpr std::size_t least = 80;
    const char* const set = std::getenv("COLUMNS");
    const std::string_view text = set == nullptr ? "" : set;
    std::size_t columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc() && end == text.data() + text.size() && columns > 0)
        return std::max(columns, least);
    winsize screen{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) != 0) return 0;
    return std::max<std::size_t>(screen.ws_col, least);
}

void write_result(const output_options& to, const std::string& text) {
    const bool shown = to.file.empty() && !to.json;
    write_whole(to.file, shown ? wrapped(text, text_width()) : text);
}

void write_whole(const std::string& path, const std::string& text) {
    if (path.empty()) return write_to(stdout, "standard output", text);
    if (!is_stream(path)) return part_file(path).place(text);
    open_file stream(path);
    if (!stream.handle) refuse(path);
    write_to(stream.handle, path, text);
    if (!stream.close()) refuse(path);
}

void refuse_unwritable(const std::string& path) {
    if (!path.empty() && !is_stream(path)) part_file{path};
}

CLI::Option* add_output_file(CLI::App& command, const char* name, std::string& to,
                             const char* help) {
    const auto named = [](const std::string& file) {
        return file.empty() ? "no file is named" : std::string();
    };
    return command.add_option(name, to, help)->type_name("FILE")->check(named);
}

CLI::Option* add_arch(CLI::App& command, std::string& to, const char* help) {
    return command.add_option("--arch", to, help)->type_name("ARCH");
}

CLI::Option* add_target(CLI::App& command, target_options& to, const char* help) {
    CLI::Option* const arch = add_arch(command, to.arch, help);
    command
        .add_option("--gpu", to.gpu,
                    "Plan for this GPU, such as \"H200 SXM\"; catena instances --gpus lists them")
        ->type_name("NAME")
        ->excludes(arch);
    return arch;
}

void add_output_options(CLI::App& command, output_options& to) {
    command.add_flag("--json", to.json, "Print JSON instead of text");
    add_output_file(command, "--output", to.file,
                    "Write to FILE, whole or not at all, instead of standard output");
}

}  // namespace catena::tool
