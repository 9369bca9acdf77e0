// Does not compile, on purpose: a codec of f64 that lacks one part of the minimal definition.
#include "catena/format/codec.hpp"

struct block_f64 {
#if defined(WITHOUT_size)
    unsigned char bytes[7];
#else
    unsigned char bytes[8];
#endif
};

template <>
struct catena::codec<catena::format::f64> {
    using block = block_f64;
#if !defined(WITHOUT_encode)
    static void encode(const float*, block*) {}
#endif
#if !defined(WITHOUT_decode)
    template <class Real>
    static void decode(const block*, Real*) {}
#endif
};

static_assert(catena::has_codec(catena::format::f64));
