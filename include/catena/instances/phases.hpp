// The times of the phases of blocks, from kernels that were compiled with CATENA_PHASES. The files
// of such kernels (phases.cuh) enter themselves here when the program starts.
#pragma once

#include "catena/config.hpp"
#include "catena/kernel/phase.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace CATENA_NAMESPACE::instances {

/// A kernel's name as a number, which device code can hold (FNV-1a).
CATENA_FN constexpr std::uint64_t number_of(const char* name) {
    std::uint64_t h = 0xcbf29ce484222325u;
    for (; *name != '\0'; ++name) h = (h ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
    return h;
}

/// What a block of a launch leaves when it ends. Of its matrices, `weight` is the first one's.
struct timed_block {
    std::uint64_t name, weight;
    std::int32_t block, blocks, threads, columns, k, rows;
    std::uint64_t ns[kernel::phase_count];      ///< nanoseconds of a clock that all SMs share
    std::uint64_t cycles[kernel::phase_count];  ///< cycles of the block's SM
};

/// What the files of kernels have entered.
struct timed_kernels {
    std::map<std::uint64_t, std::string> names;
    std::vector<std::vector<timed_block> (*)()> files;  ///< each reads its last blocks
};
inline timed_kernels& timed_kernels_of_program() {
    static timed_kernels all;
    return all;
}

/// The last launch of every matrix, a line for each of its blocks: kernel, block, blocks, threads,
/// columns, k, rows, the weight's address, ns and cycles of the phases in order. Waits for the GPU;
/// throws std::runtime_error if that fails.
inline std::vector<std::string> phases_so_far() {
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::int32_t>, timed_block> last;
    for (const auto read : timed_kernels_of_program().files)
        for (const timed_block& b : read()) {
            timed_block& known = last[{b.weight, b.name, b.block}];
            if (known.ns[0] <= b.ns[0]) known = b;
        }
    std::vector<std::string> lines;
    for (const auto& [key, b] : last) {
        std::string line = timed_kernels_of_program().names[b.name];
        for (const std::int32_t n : {b.block, b.blocks, b.threads, b.columns, b.k, b.rows})
            line += ' ' + std::to_string(n);
        line += ' ' + std::to_string(b.weight);
        for (const auto& times : {b.ns, b.cycles})
            for (int i = 0; i < kernel::phase_count; ++i) line += ' ' + std::to_string(times[i]);
        lines.push_back(line);
    }
    return lines;
}

}  // namespace CATENA_NAMESPACE::instances
