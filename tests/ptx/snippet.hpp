// A few lines of PTX on the interpreter: they find the addresses of `in` and `out` in %d0 and %d1,
// of 4 * thread behind them in %d2 and %d3, the thread in %r0, shared memory at `tile`.
#pragma once

#include "warp.hpp"

#include "catena_test/catch.hpp"

#include <cstdint>
#include <cstring>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

namespace catena_test {

struct snippet {
    std::string body;
    int threads = 32, blocks = 1, cluster = 1;
    std::uint32_t shared_bytes = 0;
    bool dependent = false;
    std::string functions = {};  ///< in front of the kernel
    std::uint64_t seed = 0;

    std::vector<std::uint32_t> in = {}, out = {};  ///< out is unwritten at first

    ptx::program code() const {
        return ptx::bind(ptx::parse(".version 8.0\n.target sm_90a\n.address_size 64\n" + functions +
                                    ".extern .shared .align 1024 .b8 tile[];\n"
                                    ".visible .entry snippet(.param .u64 in, .param .u64 out)\n{\n"
                                    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>;\n"
                                    ".reg .f32 %f<99>; .reg .b64 %d<99>;\n"
                                    "ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];\n"
                                    "mov.u32 %r0, %tid.x; mul.wide.u32 %d4, %r0, 4;\n"
                                    "add.s64 %d2, %d0, %d4; add.s64 %d3, %d1, %d4;\n" +
                                    body + "\nret;\n}\n"),
                         "snippet");
    }

    /// Runs it, and others behind it on its memory. What was found, empty if nothing was.
    std::string run(const std::vector<snippet>& behind = {}) {
        ptx::global_memory memory;
        memory.add("in", in.data(), in.size() * 4, ptx::content::initialized);
        memory.add("out", out.data(), out.size() * 4, ptx::content::uninitialized);
        const void* pointers[] = {in.data(), out.data()};
        std::vector<std::byte> parameters(sizeof pointers);
        std::memcpy(parameters.data(), pointers, sizeof pointers);
        std::deque<ptx::program> programs;
        std::vector<ptx::launch> launches;
        const auto add = [&](const snippet& s) {
            launches.push_back({.code = programs.emplace_back(s.code()),
                                .parameters = parameters,
                                .blocks = s.blocks,
                                .threads = s.threads,
                                .shared_bytes = s.shared_bytes,
                                .cluster_blocks = s.cluster,
                                .dependent = s.dependent});
        };
        add(*this);
        for (const snippet& s : behind) add(s);
        try {
            ptx::run(launches, memory, std::mt19937_64(seed));
            return "";
        } catch (const ptx::finding& what) {
            return what.what();
        }
    }
};

/// A kernel of one warp, with two words of `in` and `out` and eight of shared memory a thread.
inline snippet kernel(const std::string& body) {
    std::vector<std::uint32_t> counted(64);
    std::iota(counted.begin(), counted.end(), 0u);
    return {.body = body, .shared_bytes = 1024, .in = counted, .out = counted};
}

/// Whatever runs first; without words, what is found depends on that.
inline void finds(snippet s, const std::string& words = "") {
    for (s.seed = 0; s.seed < 4; ++s.seed) {
        const std::string found = s.run();
        INFO(found << "\n" << s.body);
        CHECK(!found.empty());
        CHECK(found.find(words) != std::string::npos);
    }
}
inline void finds_nothing(snippet s) {
    for (s.seed = 0; s.seed < 4; ++s.seed) {
        INFO(s.body);
        CHECK(s.run() == "");
    }
}

}  // namespace catena_test
