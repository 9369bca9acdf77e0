// Is a graph view well-formed? Everything after this check indexes tensors and multiplies sizes
// without looking again. An engine's adapter can be wrong; a planner must not crash on it.
#pragma once

#include "catena/error/message.hpp"
#include "catena/match/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// Above these no product of a size and a stride is in range; no tensor of any engine comes near.
/// (As floating-point numbers, in which a product that is too large does not wrap.)
inline constexpr double max_elements = 0x1p48;
inline constexpr double max_extent = 0x1p60;

/// The fault of a tensor: a field, its value, and what was expected of it. `field` is null if there
/// is no fault.
struct tensor_fault {
    const char* field = nullptr;
    std::int64_t have = 0;
    const char* expected = "";
};

/// A tensor's elements, and its bytes with gaps, so far as dimensions were added.
struct size_sums {
    double elements = 1;  ///< an empty dimension counts as one
    double extent = 0;

    void add(std::int64_t ne, std::int64_t nb) {
        elements *= std::max(static_cast<double>(ne), 1.0);
        extent += static_cast<double>(ne) * static_cast<double>(nb);
    }
};

/// Are sizes and strides 0 or more, and their products in range?
inline bool sizes_in_range(const tensor& t) {
    size_sums sums;
    std::int64_t signs = 0;
    for (int d = 0; d < 4; ++d) {
        signs |= t.ne[d] | t.nb[d];
        sums.add(t.ne[d], t.nb[d]);
    }
    return signs >= 0 && sums.elements <= max_elements && sums.extent <= max_extent;
}

/// The first of a tensor's sizes and strides that is out of range.
inline tensor_fault size_fault(const tensor& t) {
    size_sums sums;
    for (int d = 0; d < 4; ++d) {
        constexpr const char* ne[] = {"ne[0]", "ne[1]", "ne[2]", "ne[3]"};
        constexpr const char* nb[] = {"nb[0]", "nb[1]", "nb[2]", "nb[3]"};
        if (t.ne[d] < 0) return {ne[d], t.ne[d], "a size of 0 or more"};
        if (t.nb[d] < 0) return {nb[d], t.nb[d], "a stride of 0 or more"};
        sums.add(t.ne[d], t.nb[d]);
        if (sums.elements > max_elements) return {ne[d], t.ne[d], "2^48 elements at most"};
        if (sums.extent > max_extent) return {nb[d], t.nb[d], "a tensor of 2^60 bytes at most"};
    }
    return {};
}

/// The first thing that is wrong with a tensor's format, sizes and strides.
inline tensor_fault fault_of_sizes(const tensor& t) {
    if (static_cast<int>(t.type) >= format_count)
        return {"type", static_cast<int>(t.type), "a format of the registry"};
    if (!sizes_in_range(t)) return size_fault(t);
    const int block = info(t.type).block_elements;
    if (block > 1 && !is_multiple(t.ne[0], block))
        return {"ne[0]", t.ne[0], "a multiple of its format's block"};
    return {};
}

/// The first thing that is wrong with where a tensor of `bytes` lies, who reads it, and which
/// tensors it names.
inline tensor_fault fault_of_place(const graph_view& view, const tensor& t, std::int64_t bytes) {
    if (static_cast<double>(t.offset) > max_extent)
        return {"offset", static_cast<std::int64_t>(t.offset), "2^60 bytes at most"};
    if (t.allocated != 0 && t.allocated < bytes)
        return {"allocated", t.allocated, "0, or as many bytes as it has at least"};
    if (static_cast<double>(t.allocated) > max_extent)
        return {"allocated", t.allocated, "2^60 bytes at most"};
    if (t.uses < unknown_uses) return {"uses", t.uses, "a count, or -1 for unknown"};
    for (int i = 0, slots = source_slots(t); i < slots; ++i)
        if (const std::int32_t s = t.src[i]; s < no_tensor || s >= view.tensor_count)
            return {"src", s, "a tensor of the view, or -1"};
    if (t.view_src < no_tensor || t.view_src >= view.tensor_count)
        return {"view_src", t.view_src, "a tensor of the view, or -1"};
    return {};
}

/// The bytes of an allocated tensor; none when it has no elements.
struct extent {
    std::int32_t buffer = no_buffer;  ///< no_buffer: nowhere yet, or an address without a buffer
    std::uint64_t begin = 0, end = 0;

    std::uint64_t size() const { return end - begin; }
};

/// Where `bytes` of a tensor lie.
inline extent extent_of(const tensor& t, std::int64_t bytes) {
    const std::uint64_t begin =
        t.buffer != no_buffer ? t.offset : reinterpret_cast<std::uintptr_t>(t.data);
    return {t.buffer, begin, begin + static_cast<std::uint64_t>(bytes)};
}

/// Does a view of `bytes` have some outside its source? The answer is no if one of the two has no
/// address, or if the size of an element is not known.
inline bool leaves_its_source(const tensor& t, std::uint64_t bytes, const tensor& source) {
    const auto at = [](const tensor& of) {
        return of.data != nullptr ? reinterpret_cast<std::uintptr_t>(of.data) : of.offset;
    };
    const bool known = t.data != nullptr ? source.data != nullptr
                                         : t.buffer != no_buffer && t.buffer == source.buffer &&
                                               source.data == nullptr;
    if (!known || bytes == 0 || info(t.type).block_elements == 0) return false;
    const std::uint64_t before = at(t) - at(source);  // wraps where it lies below
    const auto all = static_cast<std::uint64_t>(allocated_bytes(source));
    return before > all || bytes > all - before;
}

/// What a check of the tensors found out on the way, by tensor.
struct tensor_places {
    std::vector<extent> extents;
    std::vector<std::int32_t> names;  ///< the tensor whose memory it names (named_by)
};

/// ok, or a sentence about a view that has bytes outside its source.
inline status check_views(const graph_view& view, const tensor_places& places) {
    for (std::size_t i = 0; i < places.names.size(); ++i) {
        if (places.names[i] == no_tensor) continue;
        const tensor& t = view.tensors[i];
        if (t.view_src != no_tensor &&
            leaves_its_source(t, places.extents[i].size(), view.at(t.view_src)))
            return failure(status_code::invalid_argument,
                           "tensor %zu: it is a view of tensor %d and has bytes outside of that; "
                           "expected them inside",
                           i, t.view_src);
    }
    return {};
}

/// ok, or a sentence that names tensor, field and what was expected. Neither nodes nor places of
/// views are looked at.
inline status check_fields(const graph_view& view, tensor_places& places) {
    if (view.tensor_count < 0 || view.node_count < 0)
        return failure(status_code::invalid_argument,
                       "the view has %d tensors and %d nodes; expected counts of 0 or more",
                       view.tensor_count, view.node_count);
    if ((view.tensors == nullptr && view.tensor_count > 0) ||
        (view.nodes == nullptr && view.node_count > 0))
        return failure(status_code::invalid_argument, "the view's tensors or nodes are null");
    const auto count = static_cast<std::size_t>(view.tensor_count);
    places.extents.resize(count);
    places.names.resize(count);
    const auto wrong = [](std::size_t i, const tensor_fault& f) {
        return failure(status_code::invalid_argument, "tensor %zu: %s is %lld; expected %s", i,
                       f.field, static_cast<long long>(f.have), f.expected);
    };
    for (std::size_t i = 0; i < count; ++i) {
        const tensor& t = view.tensors[i];
        if (const tensor_fault f = fault_of_sizes(t); f.field != nullptr) return wrong(i, f);
        const std::int64_t bytes = extent_bytes(t);
        if (const tensor_fault f = fault_of_place(view, t, bytes); f.field != nullptr)
            return wrong(i, f);
        places.extents[i] = extent_of(t, bytes);
        places.names[i] = named_by(t);
    }
    return {};
}

/// Checks what check_fields checks, and that no view leaves its source.
inline status check_tensors(const graph_view& view, tensor_places& places) {
    if (status s = check_fields(view, places); !s.ok()) return s;
    return check_views(view, places);
}

/// Checks the nodes of a view whose tensors passed check_fields. `position` receives, per tensor,
/// its place in the view's nodes, or -1.
inline status check_nodes(const graph_view& view, std::vector<std::int32_t>& position) {
    const auto wrong = [](const char* sentence, int a, int b) {
        return failure(status_code::invalid_argument, sentence, a, b);
    };
    position.assign(static_cast<std::size_t>(view.tensor_count), -1);
    for (int i = 0; i < view.node_count; ++i) {
        const std::int32_t t = view.nodes[i];
        if (t < 0 || t >= view.tensor_count)
            return wrong("node %d: its tensor index is %d; expected one of the view's tensors", i,
                         t);
        std::int32_t& place = position[static_cast<std::size_t>(t)];
        if (place >= 0)
            return wrong("node %d: its tensor is node %d already; expected every tensor once", i,
                         place);
        place = i;
    }
    for (int i = 0; i < view.node_count; ++i) {
        const tensor& t = view.node(i);
        for (int slot = 0, slots = source_slots(t); slot < slots; ++slot) {
            const std::int32_t s = t.src[slot];
            if (s == no_tensor || position[static_cast<std::size_t>(s)] < i ||
                is_own_destination(t, view.nodes[i], s))
                continue;
            return wrong(
                "node %d: a source is node %d; expected sources to run before their readers "
                "(a cycle, or a wrong order)",
                i, position[static_cast<std::size_t>(s)]);
        }
    }
    return {};
}

}  // namespace CATENA_NAMESPACE
