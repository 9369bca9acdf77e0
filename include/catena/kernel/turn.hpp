// The turn of a pair of a head's elements, and the row of a cache in which a token's heads are
// stored: what launches of heads and matvecs that turn their results do alike.
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/kernel/args.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// What makes the angle of a pair out of a position: times `power`, divided by the pair's factor,
/// times `by`. It does not depend on the token.
struct frequency {
    real power{1}, by{1};

    CATENA_FN static frequency of(const rotation& r, int pair) {
        frequency f{power_of(from_int(pair), real{r.log2_ratio}, real{r.rest}), real{r.scale}};
        if (r.mix != 0) {
            const real far = (from_int(pair) - real{r.ramp_from}) * real{r.ramp_by};
            const real mix = (real{1} - clamp(far, real{0}, real{1})) * real{r.mix};
            f.by = fma(f.by, real{1} - mix, mix);
        }
        return f;
    }
};

/// The divisor of a pair's angle, if there are any.
template <class X>
CATENA_FN real factor_of(X& x, const head_group& a, int pair) {
    return a.factors != nullptr ? real{x.load(a.factors + pair)} : real{1};
}

/// Where a pair is turned to by an angle.
CATENA_FN direction direction_of(const head_group& a, real angle) {
    const direction d = direction::of(angle);
    return {d.sine * real{a.turn.magnitude}, d.cosine * real{a.turn.magnitude}};
}
/// `position` is that of the token, of four the one that turns the pair.
CATENA_FN direction direction_of(const head_group& a, const frequency& f, real position,
                                 real factor) {
    real angle = position * f.power;
    if (a.factors != nullptr) angle = angle / factor;
    return direction_of(a, angle * f.by);
}

/// The row of the cache for a token; there may be no such row.
template <class X>
CATENA_FN std::int64_t cache_row(X& x, const head_member& m, int token) {
    if (m.ids_of_64_bits) return x.load(static_cast<const std::int64_t*>(m.cache_ids) + token);
    return x.load(static_cast<const std::int32_t*>(m.cache_ids) + token);
}

}  // namespace CATENA_NAMESPACE::kernel
