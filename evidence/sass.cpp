#include "sass.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>

namespace catena::evidence {

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
void each_function(const std::string& cubin,
                   const std::function<void(const std::string&, const Elf64_Shdr&)>& visit) {
    const auto header = at<Elf64_Ehdr>(cubin, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        throw std::runtime_error("nvcc wrote no ELF file");
    const auto section = [&](int i) {
        return at<Elf64_Shdr>(cubin,
                              header.e_shoff + static_cast<std::uint64_t>(i) * header.e_shentsize);
    };
    const Elf64_Shdr names = section(header.e_shstrndx);
    for (int i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr s = section(i);
        const std::string name = cubin.c_str() + names.sh_offset + s.sh_name;
        if (name.compare(0, 6, ".text.") == 0) visit(name.substr(6), s);
    }
}

/// Since sm_70 an instruction is 16 bytes, and its low nine bits say what it does. These are the
/// ones that ptxas makes of Catena's kernels, read off nvdisasm's listings of sm_75 to sm_120.
struct opcode {
    unsigned code;
    sass_kind kind;
};
constexpr opcode opcodes[] = {
    {0x002, sass_kind::integer},     // MOV
    {0x003, sass_kind::integer},     // P2R
    {0x004, sass_kind::integer},     // R2P
    {0x005, sass_kind::integer},     // CS2R
    {0x006, sass_kind::integer},     // VOTE
    {0x007, sass_kind::integer},     // SEL
    {0x008, sass_kind::integer},     // FSEL
    {0x009, sass_kind::integer},     // FMNMX
    {0x00a, sass_kind::integer},     // FSET
    {0x00b, sass_kind::integer},     // FSETP
    {0x00c, sass_kind::integer},     // ISETP
    {0x00f, sass_kind::integer},     // VIMNMX3
    {0x010, sass_kind::integer},     // IADD3
    {0x011, sass_kind::integer},     // LEA
    {0x012, sass_kind::integer},     // LOP3
    {0x013, sass_kind::integer},     // IABS
    {0x016, sass_kind::integer},     // PRMT
    {0x017, sass_kind::integer},     // IMNMX
    {0x019, sass_kind::integer},     // SHF
    {0x01a, sass_kind::integer},     // BMSK
    {0x01b, sass_kind::integer},     // SGXT
    {0x01c, sass_kind::integer},     // PLOP3
    {0x020, sass_kind::multiply},    // FMUL
    {0x021, sass_kind::multiply},    // FADD
    {0x023, sass_kind::fma},         // FFMA
    {0x024, sass_kind::multiply},    // IMAD
    {0x025, sass_kind::multiply},    // IMAD.WIDE
    {0x026, sass_kind::dp4a},        // IDP
    {0x027, sass_kind::multiply},    // IMAD.HI
    {0x02d, sass_kind::control},     // PREEXIT
    {0x02e, sass_kind::control},     // ACQBULK
    {0x02f, sass_kind::integer},     // ELECT
    {0x030, sass_kind::multiply},    // HADD2
    {0x031, sass_kind::multiply},    // HFMA2
    {0x035, sass_kind::multiply},    // HFMA2.MMA; since sm_100 IADD, below
    {0x036, sass_kind::integer},     // VIADD
    {0x037, sass_kind::mma},         // IMMA
    {0x03b, sass_kind::memory},      // LDSM
    {0x03c, sass_kind::mma},         // HMMA
    {0x03e, sass_kind::integer},     // F2FP
    {0x045, sass_kind::integer},     // I2FP
    {0x046, sass_kind::integer},     // VIADDMNMX
    {0x048, sass_kind::integer},     // VIMNMX
    {0x04a, sass_kind::uniform},     // UVIMNMX
    {0x051, sass_kind::uniform},     // UFSEL
    {0x053, sass_kind::uniform},     // UFSETP
    {0x054, sass_kind::uniform},     // UFADD
    {0x055, sass_kind::uniform},     // UFFMA
    {0x056, sass_kind::uniform},     // UFMUL
    {0x05a, sass_kind::uniform},     // UI2F
    {0x05c, sass_kind::uniform},     // UF2I
    {0x05e, sass_kind::uniform},     // UI2FP
    {0x102, sass_kind::convert},     // FCHK
    {0x104, sass_kind::convert},     // F2F
    {0x105, sass_kind::convert},     // F2I
    {0x106, sass_kind::convert},     // I2F
    {0x108, sass_kind::convert},     // MUFU
    {0x109, sass_kind::convert},     // POPC
    {0x111, sass_kind::convert},     // F2I.64
    {0x112, sass_kind::convert},     // I2F.64
    {0x118, sass_kind::control},     // NOP
    {0x119, sass_kind::memory},      // S2R
    {0x11a, sass_kind::control},     // DEPBAR
    {0x11b, sass_kind::control},     // ENDCOLLECTIVE
    {0x11c, sass_kind::control},     // B2R
    {0x11d, sass_kind::control},     // BAR
    {0x141, sass_kind::control},     // BSYNC
    {0x142, sass_kind::control},     // BREAK
    {0x143, sass_kind::control},     // CALL
    {0x144, sass_kind::control},     // CALL
    {0x145, sass_kind::control},     // BSSY
    {0x146, sass_kind::control},     // YIELD
    {0x147, sass_kind::control},     // BRA
    {0x148, sass_kind::control},     // WARPSYNC
    {0x149, sass_kind::control},     // BRX
    {0x14d, sass_kind::control},     // EXIT
    {0x14e, sass_kind::control},     // LEPC
    {0x150, sass_kind::control},     // RET
    {0x155, sass_kind::control},     // BMOV
    {0x158, sass_kind::control},     // BRXU
    {0x180, sass_kind::memory},      // LD
    {0x181, sass_kind::memory},      // LDG
    {0x182, sass_kind::memory},      // LDC
    {0x183, sass_kind::memory},      // LDL
    {0x184, sass_kind::memory},      // LDS
    {0x185, sass_kind::memory},      // ST
    {0x186, sass_kind::store},       // STG
    {0x187, sass_kind::memory},      // STL
    {0x188, sass_kind::memory},      // STS
    {0x189, sass_kind::memory},      // SHFL
    {0x18f, sass_kind::memory},      // CCTL
    {0x192, sass_kind::memory},      // MEMBAR
    {0x1a7, sass_kind::memory},      // SYNCS
    {0x1ab, sass_kind::control},     // ERRBAR, CGAERRBAR
    {0x1ac, sass_kind::uniform},     // LDCU
    {0x1ae, sass_kind::async_copy},  // LDGSTS
    {0x1af, sass_kind::memory},      // LDGDEPBAR
    {0x1b1, sass_kind::memory},      // SYNCS
    {0x1b2, sass_kind::memory},      // SYNCS
    {0x1b9, sass_kind::memory},      // FENCE
    {0x1ba, sass_kind::bulk_copy},   // UBLKCP
    {0x1bc, sass_kind::memory},      // UBLKPF
    {0x1c2, sass_kind::uniform},     // R2UR
    {0x1c3, sass_kind::uniform},     // S2UR
    {0x1c4, sass_kind::memory},      // REDUX
    {0x1c5, sass_kind::control},     // WARPGROUP
    {0x1c6, sass_kind::memory},      // FENCE
    {0x1c7, sass_kind::control},     // UCGABAR_ARV, UCGABAR_WAIT
    {0x1f0, sass_kind::wgmma},       // HGMMA
    {0x1f3, sass_kind::wgmma},       // QGMMA, of fp8
};

constexpr unsigned branch = 0x147, jump = 0x144, load_global = 0x181, half_or_add = 0x035,
                   leave = 0x14d, come_back = 0x150;
constexpr unsigned uniform_from = 0x080, uniform_end = 0x0d0;  // UMOV .. R2UR

sass_instruction decode(const std::string& cubin, std::uint64_t from, std::uint32_t byte,
                        const arch& target, const std::string& function) {
    const auto low = at<std::uint64_t>(cubin, from + byte),
               high = at<std::uint64_t>(cubin, from + byte + 8);
    const auto code = static_cast<unsigned>(low & 0x1ffu);
    sass_instruction out{byte, 0, sass_kind::uniform, false};
    constexpr unsigned true_predicate = 7;
    out.always = (low >> 12 & 0xfu) == true_predicate;
    out.leaves = code == leave || code == come_back;
    out.constant = static_cast<std::uint32_t>(low >> 32);
    out.stall = static_cast<int>(high >> 41 & 0xfu);
    out.result_to = static_cast<int>(high >> 46 & 7u);
    out.read_to = static_cast<int>(high >> 49 & 7u);
    out.waits = static_cast<unsigned>(high >> 52 & 0x3fu);
    if (code < uniform_from || code >= uniform_end) {
        const auto* known = std::find_if(std::begin(opcodes), std::end(opcodes),
                                         [&](const opcode& o) { return o.code == code; });
        if (known == std::end(opcodes)) {
            char text[80];
            std::snprintf(text, sizeof text,
                          " has opcode 0x%03x at byte 0x%x: name it in evidence/sass.cpp", code,
                          byte);
            throw std::runtime_error(function + text);
        }
        out.kind = known->kind;
    }
    if (code == half_or_add && target.compute_capability >= 100) out.kind = sass_kind::integer;
    if (code == load_global && (high >> 9 & 7) == 6) out.kind = sass_kind::load16;
    if (code == branch || code == jump) {
        // Words from the next instruction on, signed: from bit 34; since sm_90 below them bits 16
        // .. 23.
        auto words = static_cast<std::int64_t>(low >> 34 | high << 30);
        words = static_cast<std::int64_t>(static_cast<std::uint64_t>(words) << 16) >> 16;
        if (target.compute_capability >= 90)
            words = words * 256 + static_cast<std::int64_t>(low >> 16 & 0xffu);
        // A branch has a second predicate, or with bit 27 one of the whole warp (BRA.U).
        const bool of_warp = (high >> 27 & 1u) != 0;
        out.always = out.always && !of_warp && (high >> 23 & 0xfu) == true_predicate;
        // BRA.DIV is for warps whose threads are not together.
        const bool diverged = of_warp && (low >> 9 & 7u) == 4;
        out.branch = !diverged;
        if (!diverged) out.target = static_cast<std::uint32_t>(byte + 16 + 4 * words);
    }
    return out;
}

}  // namespace

int sass_function::count(sass_kind kind) const {
    return static_cast<int>(
        std::count_if(code.begin(), code.end(), [&](const auto& i) { return i.kind == kind; }));
}

std::vector<sass_function> read_sass(const std::string& cubin, const arch& target) {
    std::vector<sass_function> out;
    each_function(cubin, [&](const std::string& name, const Elf64_Shdr& s) {
        sass_function f{name, {}};
        for (std::uint64_t byte = 0; byte < s.sh_size; byte += 16)
            f.code.push_back(
                decode(cubin, s.sh_offset, static_cast<std::uint32_t>(byte), target, name));
        out.push_back(std::move(f));
    });
    return out;
}

std::int64_t sass_bytes(const std::string& cubin) {
    std::int64_t bytes = 0;
    each_function(cubin, [&](const std::string&, const Elf64_Shdr& s) {
        bytes += static_cast<std::int64_t>(s.sh_size);
    });
    return bytes;
}

}  // namespace catena::evidence
