#include "placement.hpp"

#include "../failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace catena::tool {

namespace {

bool names_a_weight(const json::graph& g, const tensor& t) {
    const tensor* named = &t;
    while (named_by(*named) != no_tensor)
        named = &g.tensors[static_cast<std::size_t>(named_by(*named))];
    return named->weight;
}

}  // namespace

std::vector<byte_range> weight_ranges(const json::graph& g, std::int32_t buffer) {
    std::vector<byte_range> weights, written;
    for (const tensor& t : g.tensors) {
        const auto bytes = static_cast<std::size_t>(extent_bytes(t));
        if (t.buffer == buffer && bytes > 0)
            (names_a_weight(g, t) ? weights : written).push_back({t.offset, t.offset + bytes});
    }
    std::sort(written.begin(), written.end(),
              [](const byte_range& a, const byte_range& b) { return a.begin < b.begin; });
    const std::size_t no_end = std::numeric_limits<std::size_t>::max();
    written.push_back({no_end, no_end});
    std::vector<byte_range> out;
    std::size_t free = 0;  // what is written before ends here
    for (const byte_range& next : written) {
        byte_range part{no_end, 0};  // of weights, between the two
        for (const byte_range& w : weights) {
            if (w.end <= free || w.begin >= next.begin) continue;
            part.begin = std::min(part.begin, std::max(w.begin, free));
            part.end = std::max(part.end, std::min(w.end, next.begin));
        }
        if (part.begin < part.end) out.push_back(part);
        free = std::max(free, next.end);
    }
    return out;
}

placement::placement(const json::graph& g, machine& on) : graph_(g) {
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        const tensor& t = g.tensors[i];
        if (t.buffer == no_buffer)
            throw failure(
                fmt::format("{}: tensor {}: field 'buf': expected a buffer, found -1: only a graph "
                            "whose memory was allocated can run",
                            g.file, i));
        const auto b = static_cast<std::size_t>(t.buffer);
        if (b >= buffers_.size()) buffers_.resize(b + 1);
        buffers_[b].bytes =
            std::max(buffers_[b].bytes, t.offset + static_cast<std::uint64_t>(extent_bytes(t)));
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b)
        // The engine pads its buffers too; nothing may be read or written there.
        if (buffers_[b].bytes > 0)
            buffers_[b].base =
                static_cast<std::byte*>(on.reserve(fmt::format("buffer {}", b), buffers_[b].bytes,
                                                   weight_ranges(g, static_cast<std::int32_t>(b))));
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
