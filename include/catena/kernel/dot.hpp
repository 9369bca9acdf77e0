// The dot stage of a weight format: what one lane of a warp does with its 32 values of a step. One
// header per format in kernel/dot/ specialises `dot`; the matvec skeleton knows nothing else about
// formats.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/format.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/unpack.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

/// Minimal complete definition of a format F, for a step of `warp_values` values of a weight row
/// and the 32 q8_1 blocks that go with them. Lane l owns 32 of the values, all from the block that
/// holds value 32 * l.
///
///     struct weights;     // a lane's share, unpacked
///     struct activation;  // what the lane needs of one column
///     template <class X> static weights unpack(X& x, const std::byte* step, int lane);
///     template <class X> static activation load(X& x, const std::byte* q8_1, int lane);
///     template <class X> static real add(X& x, const weights&, const activation&, real sum);
///
/// `step` points to the first block of the step in shared memory: 16-byte aligned if the block's
/// size is a multiple of 16, else 2-byte aligned. A lane may load any 4-byte word that holds a byte
/// of its block. Products are exact integers; what is done in f32 after them is part of the
/// accumulation order.
template <format F>
struct dot {
    static_assert(F != F,
                  "this weight format has no dot stage: add include/catena/kernel/dot/<format>.hpp "
                  "and include it in kernel/matvec.hpp");
};

/// Four times the int8 `v`: a dp4a with it multiplies a sum.
CATENA_FN constexpr int four(int v) {
    return static_cast<int>((static_cast<unsigned>(v) & 0xffu) * 0x01010101u);
}

template <class X>
CATENA_FN int load_int(X& x, const std::byte* p) {
    return static_cast<int>(load_as<unsigned>(x, p));
}

/// One q8_1 block: the whole of it belongs to one lane (formats of 32 values).
struct q8_1_lane {
    int q[8];
    real d;
};

template <class X>
CATENA_FN q8_1_lane load_q8_1_block(X& x, const std::byte* q8_1, int lane) {
    const std::byte* block = q8_1 + lane * q8_1_bytes;
    q8_1_lane u;
    u.d = load_half(x, block);
    for (int i = 0; i < 8; ++i) u.q[i] = load_int(x, block + 4 + 4 * i);
    return u;
}

}  // namespace catena::kernel
