// Is a graph view well-formed? Everything after this check indexes tensors and multiplies sizes without
// looking again. An engine's adapter can be wrong; a planner must not crash on it.
#pragma once

#include "catena/launch/message.hpp"
#include "catena/match/graph.hpp"

#include <cstdint>
#include <vector>

namespace catena {

/// Above these no product of a size and a stride is in range; no tensor of any engine comes near.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 48;
inline constexpr std::int64_t max_stride = std::int64_t{1} << 48;
inline constexpr std::int64_t max_extent = std::int64_t{1} << 60;

/// The first thing that is wrong with tensor `index` taken alone, or ok.
inline status check_tensor(const graph_view& view, std::int32_t index) {
    const auto wrong = [index](const char* field, long long have, const char* expected) {
        return failure(status_code::invalid_argument, "tensor %d: %s is %lld; expected %s", index, field, have,
                       expected);
    };
    const tensor& t = view.at(index);
    if (static_cast<int>(t.type) >= format_count)
        return wrong("type", static_cast<int>(t.type), "a format of the registry");
    std::int64_t count = 1;
    std::int64_t extent = 0;
    for (int d = 0; d < 4; ++d) {
        static constexpr const char* ne_names[] = {"ne[0]", "ne[1]", "ne[2]", "ne[3]"};
        static constexpr const char* nb_names[] = {"nb[0]", "nb[1]", "nb[2]", "nb[3]"};
        const std::int64_t ne = t.ne[d];
        const std::int64_t nb = t.nb[d];
        if (ne < 0) return wrong(ne_names[d], ne, "a size of 0 or more");
        if (ne > 0 && (ne > max_elements || count > max_elements / ne))
            return wrong(ne_names[d], ne, "fewer than 2^48 elements in all");
        if (nb < 0 || nb > max_stride) return wrong(nb_names[d], nb, "a stride of 0 to 2^48 bytes");
        if (nb > 0 && ne > (max_extent - extent) / nb)
            return wrong(nb_names[d], nb, "a tensor of less than 2^60 bytes");
        count *= ne > 0 ? ne : 1;
        extent += ne * nb;
    }
    const int block = info(t.type).block_elements;
    if (block > 1 && t.ne[0] % block != 0)
        return wrong("ne[0]", t.ne[0], "a multiple of its format's block");
    if (t.offset > static_cast<std::uint64_t>(max_extent))
        return wrong("offset", -1, "less than 2^60");
    if (t.uses < unknown_uses) return wrong("uses", t.uses, "a count, or -1 for unknown");
    for (const std::int32_t s : t.src)
        if (s < no_tensor || s >= view.tensor_count) return wrong("src", s, "a tensor index, or -1");
    if (t.view_src < no_tensor || t.view_src >= view.tensor_count)
        return wrong("view_src", t.view_src, "a tensor index, or -1");
    return {};
}

/// ok, or a sentence that names tensor or node, field and what was expected. `position` receives, per
/// tensor, its place in the view's nodes, or -1.
inline status check(const graph_view& view, std::vector<std::int32_t>& position) {
    const auto wrong = [](const char* sentence, int a, int b) {
        return failure(status_code::invalid_argument, sentence, a, b);
    };
    if (view.tensor_count < 0 || view.node_count < 0)
        return wrong("the view has %d tensors and %d nodes; expected counts of 0 or more", view.tensor_count,
                     view.node_count);
    if ((view.tensors == nullptr && view.tensor_count > 0) || (view.nodes == nullptr && view.node_count > 0))
        return failure(status_code::invalid_argument, "the view's tensors or nodes are null");
    for (std::int32_t t = 0; t < view.tensor_count; ++t)
        if (status s = check_tensor(view, t); !s.ok()) return s;

    position.assign(static_cast<std::size_t>(view.tensor_count), -1);
    for (int i = 0; i < view.node_count; ++i) {
        const std::int32_t t = view.nodes[i];
        if (t < 0 || t >= view.tensor_count)
            return wrong("node %d: its tensor index is %d; expected one of the view's tensors", i, t);
        std::int32_t& place = position[static_cast<std::size_t>(t)];
        if (place >= 0)
            return wrong("node %d: its tensor is node %d already; expected every tensor once", i, place);
        place = i;
    }
    for (int i = 0; i < view.node_count; ++i) {
        const tensor& t = view.node(i);
        for (const std::int32_t s : t.src)
            if (s != no_tensor && position[static_cast<std::size_t>(s)] >= i)
                return wrong("node %d: a source is node %d; expected sources to run before their readers "
                             "(a cycle, or a wrong order)", i, position[static_cast<std::size_t>(s)]);
    }
    return {};
}

}  // namespace catena
