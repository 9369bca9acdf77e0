// The fingerprint of a graph.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/cache.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// How many words of its params planning reads: of an op that may be the engine's own, of ROPE and
/// of MOE_FFN all, of attention the keys of a query (ggml_cuda_waits.hpp), of others what matchers
/// read.
constexpr int params_read(op kind) {
    const bool all = kind == op::other || kind == op::clamp || kind == op::sqrt ||
                     kind == op::unary || kind == op::rope || kind == op::moe_ffn;
    return all ? max_params : kind == op::flash_attn_ext ? 6 : 4;
}

fingerprint fingerprint_of(const graph_view& view) {
    std::uint64_t lane[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
                             0xd6e8feb86659fd93u};
    const auto mix = [](std::uint64_t& h, std::uint64_t word) {
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 29;
    };
    const auto pair = [](std::int64_t low, std::int64_t high) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) |
               static_cast<std::uint64_t>(high) << 32;
    };
    // A view that says more than it has gets a plan too, which says so.
    const std::int32_t tensors = view.tensors == nullptr ? 0 : view.tensor_count;
    const std::int32_t nodes = view.nodes == nullptr ? 0 : view.node_count;
    for (std::int32_t i = 0; i < tensors; ++i) {
        const tensor& t = view.tensors[i];
        const unsigned marks =
            (t.weight ? 1u : 0u) | (t.reachable ? 2u : 0u) | (t.inside ? 4u : 0u);
        mix(lane[0], static_cast<std::uint64_t>(t.kind) | static_cast<std::uint64_t>(t.sub) << 8 |
                         static_cast<std::uint64_t>(t.type) << 16 |
                         static_cast<std::uint64_t>(t.flags) << 24 |
                         static_cast<std::uint64_t>(marks) << 32);
        for (int d = 0; d < 4; ++d) {
            mix(lane[d], static_cast<std::uint64_t>(t.ne[d]));
            mix(lane[d], static_cast<std::uint64_t>(t.nb[d]));
        }
        for (int s = 0; s < max_src; s += 2) mix(lane[s / 2 % 4], pair(t.src[s], t.src[s + 1]));
        for (int w = 0; w < params_read(t.kind); w += 2)
            mix(lane[1 + w / 2 % 2], pair(t.params[w], t.params[w + 1]));
        if (t.kind == op::other)
            for (const char* c = t.op_name; *c != '\0'; ++c)
                mix(lane[0], static_cast<std::uint64_t>(static_cast<unsigned char>(*c)));
        mix(lane[3], pair(t.view_src, t.buffer));
        mix(lane[0], t.offset);
        mix(lane[3], static_cast<std::uint64_t>(t.allocated));
        mix(lane[1], reinterpret_cast<std::uintptr_t>(t.data));
        mix(lane[2], pair(t.stream, t.uses));
    }
    mix(lane[2], reinterpret_cast<std::uintptr_t>(view.engine));
    mix(lane[2], reinterpret_cast<std::uintptr_t>(view.scratch));
    for (std::int32_t i = 0; i < nodes; ++i)
        mix(lane[i % 4], static_cast<std::uint64_t>(view.nodes[i]));
    mix(lane[0], lane[1]);
    mix(lane[2], lane[3]);
    mix(lane[0], pair(view.tensor_count, view.node_count));
    mix(lane[2], lane[0]);
    return {{lane[0], lane[2]}};
}

}  // namespace CATENA_NAMESPACE
