// Does not compile, on purpose: a codec of q4_1 that lacks one part of the minimal definition.
#include "catena/format/codec.hpp"

struct block_q4_1 {
#if defined(WITHOUT_size)
    unsigned char bytes[19];
#else
    unsigned char bytes[20];
#endif
};

template <>
struct catena::codec<catena::format::q4_1> {
    using block = block_q4_1;
#if !defined(WITHOUT_encode)
    static void encode(const float*, block*) {}
#endif
#if !defined(WITHOUT_decode)
    template <class Real>
    static void decode(const block*, Real*) {}
#endif
};

static_assert(catena::has_codec(catena::format::q4_1));
