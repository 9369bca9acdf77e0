#include "nvcc.hpp"

#include "files.hpp"
#include "sass.hpp"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace catena::generator {

namespace {

/// nvcc with `arguments`, for an arch, as far as machine code; `source` is named where it fails.
compiled_file run(const std::string& nvcc, const arch& target, const std::string& arguments,
                  const std::string& source, const std::string& scratch) {
    // wgmma is of sm_90a, which is what every GPU of compute capability 9.0 is.
    const std::string number = std::string(target.name).substr(3) + (target.wgmma ? "a" : "");
    const std::string cubin = scratch + ".cubin", log = scratch + ".part";
    const std::string command = "'" + nvcc + "' " + arguments + " -Xptxas -v -arch=sm_" + number +
                                " -cubin '" + source + "' -o '" + cubin + "' > '" + log + "' 2>&1";
    compiled_file out;
    const auto start = std::chrono::steady_clock::now();
    const int code = std::system(command.c_str());
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    out.said = read_text(log);
    std::filesystem::remove(log);
    if ((WIFSIGNALED(code) && WTERMSIG(code) == SIGINT) ||
        (WIFEXITED(code) && WEXITSTATUS(code) == 128 + SIGINT))
        throw interrupted("nvcc was interrupted at " + source);
    if (code != 0) throw std::runtime_error("nvcc refuses " + source + ":\n" + out.said);
    out.cubin = read_text(cubin);
    out.sass_bytes = sass_bytes(out.cubin);
    std::filesystem::remove(cubin);
    return out;
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
                      const std::filesystem::path& root, const std::string& source,
                      const std::string& scratch) {
    return run(nvcc, target, "-std=c++20 -O3 -DNDEBUG -I'" + (root / "include").string() + "'",
               source, scratch);
}

compiled_file assemble(const std::string& nvcc, const arch& target,
                       const std::filesystem::path& ptx, const std::string& scratch) {
    return run(nvcc, target, "-O3", ptx.string(), scratch);
}

}  // namespace catena::generator
