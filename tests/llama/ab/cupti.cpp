// In place of CUPTI: two kinds of steps of a model that nobody ran, as soon as somebody asks for
// the kernels so far. Steps 1 to 6 are the engine's, 7 to 12 have Catena's kernels.
#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

CUpti_BuffersCallbackRequestFunc ask_for_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc give_back = nullptr;
bool enabled = false;

std::vector<CUpti_ActivityKernel10> made_up() {
    std::vector<CUpti_ActivityKernel10> out;
    std::uint64_t now = 1'000'000'000;
    const auto run = [&](const char* name, std::uint64_t ns) {
        CUpti_ActivityKernel10 k{};
        k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        k.start = now, k.end = now += ns;
        k.gridX = 132, k.gridY = k.gridZ = k.blockY = k.blockZ = 1, k.blockX = 256;
        k.streamId = 7, k.graphNodeId = out.size(), k.name = name;
        out.push_back(k);
    };
    for (int step = 0; step < 12; ++step) {
        for (int layer = 0; layer < 60; ++layer) {
            run(step < 6 ? "mul_mat_vec_q" : "catena_matvec_q4_K", step < 6 ? 9000 : 6000);
            run("flash_attn_ext_vec", 2000);
            if (step < 6) run("quantize_q8_1", 1000);
        }
        now += 100'000;
    }
    return out;
}

}  // namespace

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
    ask_for_buffer = request;
    give_back = complete;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
    enabled = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return enabled ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
    *text = "the stand-in refuses";
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t) {
    if (!enabled) return CUPTI_ERROR_NOT_INITIALIZED;
    const auto all = made_up();
    for (std::size_t first = 0; first < all.size();) {  // in more than one buffer
        std::uint8_t* buffer = nullptr;
        std::size_t size = 0, most = 0;
        ask_for_buffer(&buffer, &size, &most);
        const std::size_t some =
            std::min({all.size() - first, size / sizeof(all[0]), all.size() / 3});
        std::memcpy(buffer, &all[first], some * sizeof(all[0]));
        give_back(nullptr, 0, buffer, size, some * sizeof(all[0]));
        first += some;
    }
    return CUPTI_SUCCESS;
}

/// Records lie one behind the other; `record` is null before the first.
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t filled,
                                                CUpti_Activity** record) {
    auto* next = *record == nullptr
                     ? buffer
                     : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
    if (next + sizeof(CUpti_ActivityKernel10) > buffer + filled)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
}
