// A timeline of every kernel that a CUDA program runs, of those in CUDA graphs too. The CUDA driver
// loads this library into a program whose environment names it:
//   CUDA_INJECTION64_PATH=libcatena_timeline.so CATENA_TIMELINE=FILE PROGRAM
// FILE is written when the program ends, a line for each kernel: start and end in ns, stream, node
// of a graph, grid, block, registers, bytes of shared memory, name. bench/timeline.py reads it.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t buffer_bytes = 8u << 20, buffer_alignment = 64;

/// Names belong to CUPTI and stay as long as the program.
struct kernel_run {
    std::uint64_t start, end, node;
    std::uint32_t stream;
    int grid[3], block[3];
    int registers, shared_bytes;
    const char* name;
};

/// CUPTI hands over one buffer at a time.
std::vector<kernel_run>& runs() {
    static std::vector<kernel_run> all;
    return all;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t filled) {
    CUpti_Activity* record = nullptr;
    while (filled > 0 && cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
        const auto& k = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
        runs().push_back({.start = k.start,
                          .end = k.end,
                          .node = k.graphNodeId,
                          .stream = k.streamId,
                          .grid = {k.gridX, k.gridY, k.gridZ},
                          .block = {k.blockX, k.blockY, k.blockZ},
                          .registers = k.registersPerThread,
                          .shared_bytes = k.staticSharedMemory + k.dynamicSharedMemory,
                          .name = k.name});
    }
    std::free(buffer);
}

/// What failed, for the program's log. The program itself goes on.
void say(const char* what) { std::fprintf(stderr, "catena timeline: %s\n", what); }

void write_runs() {
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::FILE* const file = std::fopen(std::getenv("CATENA_TIMELINE"), "w");
    if (file == nullptr) return say("the file that CATENA_TIMELINE names cannot be written");
    for (const kernel_run& r : runs())
        std::fprintf(file, "%llu\t%llu\t%u\t%llu\t%d,%d,%d\t%d,%d,%d\t%d\t%d\t%s\n",
                     static_cast<unsigned long long>(r.start),
                     static_cast<unsigned long long>(r.end), r.stream,
                     static_cast<unsigned long long>(r.node), r.grid[0], r.grid[1], r.grid[2],
                     r.block[0], r.block[1], r.block[2], r.registers, r.shared_bytes, r.name);
    if (std::fclose(file) != 0) say("the timeline could not be written whole");
}

}  // namespace

/// What the CUDA driver calls when the program makes its first call. 1: all is well.
extern "C" int InitializeInjection() {
    if (std::getenv("CATENA_TIMELINE") == nullptr) {
        say("CATENA_TIMELINE names no file: nothing is recorded");
        return 1;
    }
    runs();  // made before write_runs is registered, so it is there when that is called
    CUptiResult result = cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (result == CUPTI_SUCCESS)
        result = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (result != CUPTI_SUCCESS) {
        const char* why = "CUPTI does not say why";
        cuptiGetResultString(result, &why);
        say(why);
    }
    std::atexit(write_runs);
    return 1;
}
