// Names of values: RESHAPE and VIEW give the elements of a value another shape, or a part of them.
#pragma once

#include "catena/match/graph.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Do two tensors begin at the same byte, as far as the engine says where they are? A name without
/// a place is where its op says.
inline bool may_begin_together(const tensor& a, const tensor& b) {
    if (a.buffer != no_buffer && b.buffer != no_buffer)
        return a.buffer == b.buffer && a.offset == b.offset;
    return a.data == nullptr || b.data == nullptr || a.data == b.data;
}

/// True when `name` holds exactly the elements of `value`, row-major and without gaps: the value
/// itself, or what RESHAPE and whole contiguous VIEWs make of it.
inline bool names_whole(const graph_view& view, std::int32_t name, std::int32_t value) {
    const std::int64_t count = elements(view.at(value));
    for (std::int32_t hops = 0; name != value; ++hops) {
        const tensor& t = view.at(name);
        const bool renames = t.kind == op::reshape || t.kind == op::view;
        if (!renames || t.src[0] == no_tensor || hops > view.tensor_count) return false;
        const tensor& source = view.at(t.src[0]);
        if (elements(t) != count || t.type != source.type || !contiguous(t) || !contiguous(source))
            return false;
        if (t.kind == op::view && (t.params[0] != 0 || t.params[1] != 0)) return false;
        if (!may_begin_together(t, source)) return false;
        name = t.src[0];
    }
    return true;
}

/// The value behind `name`: RESHAPEs and whole contiguous VIEWs removed.
inline std::int32_t value_behind(const graph_view& view, std::int32_t name) {
    for (std::int32_t hops = 0; hops <= view.tensor_count; ++hops) {
        const tensor& t = view.at(name);
        const bool renames = t.kind == op::reshape || t.kind == op::view;
        if (!renames || t.src[0] == no_tensor || !names_whole(view, name, t.src[0])) break;
        name = t.src[0];
    }
    return name;
}

}  // namespace CATENA_NAMESPACE
