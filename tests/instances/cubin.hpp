// A cubin of functions whose instructions a test gives as words: an ELF file, as nvcc writes it.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace catena::evidence {

struct sass_words {
    std::uint64_t low, high;
};

struct function_words {
    std::string name;
    std::vector<sass_words> code;
};

inline std::string cubin_of(const std::vector<function_words>& functions) {
    std::string code, names(1, '\0');
    std::vector<Elf64_Shdr> sections;
    const auto add = [&](const std::string& name, std::uint64_t size) {
        Elf64_Shdr s{};
        s.sh_name = static_cast<Elf64_Word>(names.size());
        s.sh_offset = sizeof(Elf64_Ehdr) + code.size();
        s.sh_size = size;
        sections.push_back(s);
        names += name + '\0';
    };
    for (const function_words& f : functions) {
        const std::size_t size = f.code.size() * sizeof(sass_words);
        add(".text." + f.name, size);
        code.append(reinterpret_cast<const char*>(f.code.data()), size);
    }
    add(".shstrtab", 0);

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_shoff = sizeof header + code.size() + names.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + code + names +
           std::string(reinterpret_cast<const char*>(sections.data()),
                       sections.size() * sizeof(Elf64_Shdr));
}

}  // namespace catena::evidence
