// Rules that every node of a chain keeps, and the operands that a row step reads.
#pragma once

#include "catena/format/rows.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/match/reason.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace CATENA_NAMESPACE {

/// f32 rows that a row step reads: all of a tensor, or the part of every row that starts at
/// `offset` bytes.
struct row_operand {
    std::int32_t tensor = no_tensor;
    std::int64_t offset = 0;
    row_strides at;
};

inline row_strides strides_of(const tensor& t) { return {t.nb[1], t.nb[2], t.nb[3]}; }

/// The strides of a tensor of f32 rows with the shape of `rows` and without gaps.
inline row_strides packed(const tensor& rows) {
    const std::int64_t nb1 = rows.ne[0] * 4, nb2 = nb1 * rows.ne[1];
    return {nb1, nb2, nb2 * rows.ne[2]};
}

/// May a value whose rows have k elements be quantized in rows of `length`?
constexpr bool rows_of_both(std::int64_t length, std::int64_t k) {
    return length == k || length % k == 0 || k % length == 0;
}

/// May a chain take over the node at a position? It needs this many sources and an f32 result of
/// its own.
inline obstacle node_fits(const graph_index& g, std::int32_t position, int sources) {
    const tensor& t = g.view.node(position);
    for (int s = 0; s < sources; ++s)
        if (t.src[s] == no_tensor) return {position, reason::missing_source};
    if (has_more_sources(t, sources)) return {position, reason::extra_source};
    if ((t.flags & flag_compute) == 0) return {position, reason::not_computed};
    if (elements(t) == 0) return {position, reason::no_elements};
    if (t.type != format::f32) return {position, reason::not_f32};
    if (!t.reachable) return {position, reason::unreachable};
    if (overlaps_itself(t)) return {position, reason::overlaps_itself, g.view.nodes[position]};
    if (t.view_src != no_tensor || g.written_in_place(g.view.nodes[position]))
        return {position, reason::written_in_place};
    return {};
}

/// Can a kernel read an operand of the node at `position` as f32 rows?
inline obstacle rows_fit(const graph_index& g, std::int32_t position, std::int32_t tensor_index) {
    return plain_rows_at(g.view, tensor_index, position);
}

/// Is a parameter's word a float that is neither NaN nor infinite? A test of bits, since compilers
/// drop tests of values where they are told that there is no NaN.
constexpr bool finite(std::int32_t word) { return (word & 0x7f800000) != 0x7f800000; }

/// Is a parameter's word a finite float that is not negative?
constexpr bool finite_from_zero(std::int32_t word) {
    return finite(word) && (word >= 0 || word == std::numeric_limits<std::int32_t>::min());
}

/// The float in a parameter's word.
inline float float_of(std::int32_t word) {
    float number = 0;
    std::memcpy(&number, &word, sizeof number);
    return number;
}

/// The number by which node `position` multiplies rows of its own shape, if it does that alone.
inline std::optional<float> scale_at(const graph_index& g, std::int32_t position) {
    const tensor& t = g.view.node(position);
    const bool scales = t.kind == op::scale && finite(t.params[0]) && t.params[1] == 0 &&
                        !node_fits(g, position, 1).found() && same_shape(g.view.at(t.src[0]), t) &&
                        !rows_fit(g, position, t.src[0]).found();
    return scales ? std::optional<float>(float_of(t.params[0])) : std::nullopt;
}

/// The only reader of a value, or of the SCALE that is the value's only reader.
inline use reader_past_scale(const graph_index& g, std::int32_t value) {
    const use u = g.only_reader(value);
    return u.node >= 0 && scale_at(g, u.node) ? g.only_reader(g.view.nodes[u.node]) : u;
}

/// A value that a node reads as `value` times `by`: the source of a SCALE for that node alone, or
/// the value itself.
struct scaled_value {
    std::int32_t value = no_tensor;
    std::int32_t scale = -1;  ///< position of the SCALE; -1: there is none
    float by = 1;
};
inline scaled_value unscaled(const graph_index& g, std::int32_t value, std::int32_t reader) {
    const std::int32_t scale = g.position(value);
    if (scale < 0 || g.kind(scale) != op::scale || g.only_reader(value).node != reader)
        return {value};
    const std::optional<float> by = scale_at(g, scale);
    return by ? scaled_value{g.view.node(scale).src[0], scale, *by} : scaled_value{value};
}

}  // namespace CATENA_NAMESPACE
