#include "placement.hpp"

#include "../command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace catena::tool {

namespace {

bool names_a_weight(const json::graph& g, const tensor& t) {
    const tensor* named = &t;
    while (named_by(*named) != no_tensor)
        named = &g.tensors[static_cast<std::size_t>(named_by(*named))];
    return named->weight;
}

}  // namespace

placement::placement(const json::graph& g, machine& on) : graph_(g) {
    struct need {
        std::uint64_t bytes = 0;
        bool weights_only = true;
    };
    std::vector<need> needs;
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        const tensor& t = g.tensors[i];
        if (t.buffer == no_buffer)
            throw failure(
                fmt::format("{}: tensor {}: field 'buf': expected a buffer, found -1: only a graph "
                            "whose memory was allocated can run",
                            g.file, i));
        const auto b = static_cast<std::size_t>(t.buffer);
        if (b >= needs.size()) needs.resize(b + 1);
        needs[b].bytes =
            std::max(needs[b].bytes, t.offset + static_cast<std::uint64_t>(extent_bytes(t)));
        needs[b].weights_only = needs[b].weights_only && names_a_weight(g, t);
    }
    for (std::size_t b = 0; b < needs.size(); ++b) {
        if (needs[b].bytes == 0) {
            buffers_.push_back({nullptr, 0});
            continue;
        }
        // The engine pads its buffers too; nothing may be read or written there.
        auto* base = static_cast<std::byte*>(
            on.reserve(fmt::format("buffer {}", b), needs[b].bytes, needs[b].weights_only));
        buffers_.push_back({base, needs[b].bytes});
    }
    for (tensor& t : graph_.tensors)
        t.data = buffers_[static_cast<std::size_t>(t.buffer)].base + t.offset;
}

std::uint64_t placement::key(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    for (std::size_t b = 0; b < buffers_.size(); ++b)
        if (at >= buffers_[b].base && at < buffers_[b].base + buffers_[b].bytes)
            return (std::uint64_t{b} << 48) + static_cast<std::uint64_t>(at - buffers_[b].base);
    throw failure("a step reads or writes outside the graph's buffers");
}

}  // namespace catena::tool
