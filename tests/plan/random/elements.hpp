// The elements of a tensor in memory, one by one.
#pragma once

#include "catena/format/half.hpp"
#include "catena/match/graph.hpp"

#include <cstddef>
#include <cstdint>

namespace catena_test {

template <class T = float>
T* at(const catena::tensor& t, std::int64_t i0, std::int64_t i1 = 0, std::int64_t i2 = 0,
      std::int64_t i3 = 0) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(t.data) + i0 * t.nb[0] + i1 * t.nb[1] +
                                i2 * t.nb[2] + i3 * t.nb[3]);
}

/// The element of f32 or f16 at indices.
inline float number(const catena::tensor& t, std::int64_t i0, std::int64_t i1, std::int64_t i2) {
    return t.type == catena::format::f16 ? catena::f32_from_f16(*at<std::uint16_t>(t, i0, i1, i2))
                                         : *at(t, i0, i1, i2);
}

/// The element at indices that repeat: broadcasting.
inline const float& repeated(const catena::tensor& t, std::int64_t i0, std::int64_t i1,
                             std::int64_t i2, std::int64_t i3) {
    return *at(t, i0 % t.ne[0], i1 % t.ne[1], i2 % t.ne[2], i3 % t.ne[3]);
}

template <class F>
void each_row(const catena::tensor& t, F&& f) {
    for (std::int64_t i3 = 0; i3 < t.ne[3]; ++i3)
        for (std::int64_t i2 = 0; i2 < t.ne[2]; ++i2)
            for (std::int64_t i1 = 0; i1 < t.ne[1]; ++i1) f(i1, i2, i3);
}

template <class F>
void each(const catena::tensor& t, F&& f) {
    each_row(t, [&](auto i1, auto i2, auto i3) {
        for (std::int64_t i0 = 0; i0 < t.ne[0]; ++i0) f(i0, i1, i2, i3);
    });
}

/// Element `index` of a tensor, counted row-major through its strides.
inline float& numbered(const catena::tensor& t, std::int64_t index) {
    std::int64_t i[4];
    for (int d = 0; d < 4; ++d) i[d] = index % t.ne[d], index /= t.ne[d];
    return *at(t, i[0], i[1], i[2], i[3]);
}

}  // namespace catena_test
