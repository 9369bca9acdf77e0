#include "nvcc.hpp"

#include "files.hpp"

#include <elf.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace catena::generator {

namespace {

template <class T>
T at(const std::string& bytes, std::uint64_t offset) {
    T out;
    if (offset + sizeof(T) > bytes.size())
        throw std::runtime_error("the cubin ends within a header");
    std::memcpy(&out, bytes.data() + offset, sizeof(T));
    return out;
}

/// A cubin is an ELF file; machine code lies in the sections called .text.<function>.
std::int64_t sass_bytes(const std::string& cubin) {
    const auto header = at<Elf64_Ehdr>(cubin, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        throw std::runtime_error("nvcc wrote no ELF file");
    const auto section = [&](int i) {
        return at<Elf64_Shdr>(cubin, header.e_shoff + static_cast<std::uint64_t>(i) * header.e_shentsize);
    };
    const Elf64_Shdr names = section(header.e_shstrndx);
    std::int64_t bytes = 0;
    for (int i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr s = section(i);
        const std::string name = cubin.c_str() + names.sh_offset + s.sh_name;
        if (name.compare(0, 6, ".text.") == 0) bytes += static_cast<std::int64_t>(s.sh_size);
    }
    return bytes;
}

}  // namespace

compiled_file compile(const std::string& nvcc, const arch& target,
                      const std::filesystem::path& root, const std::string& source,
                      const std::string& scratch) {
    const std::string number = std::string(target.name).substr(3);
    const std::string cubin = scratch + ".cubin", log = scratch + ".part";
    const std::string command = "'" + nvcc + "' -std=c++20 -O3 -DNDEBUG -Xptxas -v -arch=sm_" +
                                number + " -I'" + (root / "include").string() + "' -cubin '" +
                                (root / source).string() + "' -o '" + cubin + "' > '" + log +
                                "' 2>&1";
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

}  // namespace catena::generator
