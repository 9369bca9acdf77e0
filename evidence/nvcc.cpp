#include "nvcc.hpp"

#include "sass.hpp"
#include "text_file.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace catena::evidence {

namespace {

const std::filesystem::path build = std::filesystem::path(CATENA_KERNEL_SOURCES).parent_path();

/// User and system time of a shell's children, from what its builtin `times` prints: theirs are in
/// the second line.
double children_seconds(const std::string& times) {
    double user_minutes = 0, user = 0, system_minutes = 0, system = 0;
    std::sscanf(times.c_str(), "%*s %*s %lfm%lfs %lfm%lfs", &user_minutes, &user, &system_minutes,
                &system);
    return 60 * (user_minutes + system_minutes) + user + system;
}

/// Was a kept file written after all that its family is compiled from?
bool is_current(const std::filesystem::path& kept, const std::string& source,
                const std::vector<std::filesystem::path>& includes) {
    if (!std::filesystem::exists(kept)) return false;
    const auto written = std::filesystem::last_write_time(kept);
    if (written < std::filesystem::last_write_time(source)) return false;
    for (const std::filesystem::path& folder : includes)
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.is_regular_file() && written < entry.last_write_time()) return false;
    return true;
}

}  // namespace

std::string kernel_source(const arch& target, const std::string& family) {
    const std::string source =
        CATENA_KERNEL_SOURCES "/" + std::string(target.name) + "/" + family + ".cu";
    if (!std::filesystem::exists(source))
        throw std::runtime_error("the build has no " + source +
                                 ": configure it with CATENA_WEIGHTS=all");
    return source;
}

compiled_file compile(const std::string& nvcc, const arch& target,
                      const std::vector<std::filesystem::path>& includes, const std::string& source,
                      const std::string& scratch) {
    std::string arguments = "-std=c++20 -O3 -DNDEBUG";
    for (const std::filesystem::path& folder : includes)
        arguments += " -I'" + folder.string() + "'";
    // wgmma is of sm_90a, which is what every GPU of compute capability 9.0 is.
    const std::string number = std::string(target.name).substr(3) + (target.wgmma ? "a" : "");
    const std::string cubin = scratch + ".cubin", log = scratch + ".part",
                      times = scratch + ".times";
    const std::string command = "'" + nvcc + "' " + arguments + " -Xptxas -v -arch=sm_" + number +
                                " -cubin '" + source + "' -o '" + cubin + "' > '" + log +
                                "' 2>&1; code=$?; times > '" + times + "'; exit $code";
    compiled_file out;
    const int code = std::system(command.c_str());
    out.said = tool::read_text(log);
    out.seconds = children_seconds(tool::read_text(times));
    std::filesystem::remove(log);
    std::filesystem::remove(times);
    if ((WIFSIGNALED(code) && WTERMSIG(code) == SIGINT) ||
        (WIFEXITED(code) && WEXITSTATUS(code) == 128 + SIGINT))
        throw interrupted("nvcc was interrupted at " + source);
    if (code != 0) throw std::runtime_error("nvcc refuses " + source + ":\n" + out.said);
    out.cubin = tool::read_text(cubin);
    out.sass_bytes = sass_bytes(out.cubin);
    std::filesystem::remove(cubin);
    return out;
}

compiled_file kept_or_compiled(const std::string& nvcc, const arch& target,
                               const std::vector<std::filesystem::path>& includes,
                               const std::string& family, const std::string& scratch) {
    const std::string source = kernel_source(target, family);
    const auto kept = build / "compiled" / target.name / family;
    if (const std::string words = kept.string() + ".cu"; is_current(words, source, includes)) {
        compiled_file out;
        out.said = tool::read_text(words);
        out.cubin = tool::read_text(kept.string() + ".cubin");
        out.sass_bytes = sass_bytes(out.cubin);
        return out;
    }
    return compile(nvcc, target, includes, source, scratch);
}

}  // namespace catena::evidence
