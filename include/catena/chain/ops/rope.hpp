// rope: the elements of each head are turned pair by pair, by angles that the position of the
// head's token says, and times a number of the launch. The numbers of the turn are an operand of
// the launch, so one chain stands for every mode.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <cmath>
#include <utility>

namespace CATENA_NAMESPACE::chain {

/// The angle of a pair of a token.
inline double angle_of(const inputs& in, std::int64_t token, std::int64_t tokens, int pair) {
    const rope_numbers& n = in.rope;
    const rotation r = rotation_of(n);
    const int which = n.positions() == 4 ? section_of(n.pairs, n.section, r.sections, pair) : 0;
    const double position = in.positions[static_cast<std::size_t>(which * tokens + token)];
    const double factor = in.factors.empty() ? 1 : in.factors[static_cast<std::size_t>(pair)];
    const double angle = position * std::pow(double{ratio_of(n)}, pair) / factor;
    if (n.mix == 0) return angle * double{n.scale};
    const double far = (pair - double{r.ramp_from}) * double{r.ramp_by};
    const double mix = (1 - std::min(1.0, std::max(0.0, far))) * double{n.mix};
    return angle * (double{n.scale} * (1 - mix) + mix);
}

/// Turns heads of k elements, so many for each token.
inline void turn_heads(const inputs& in, std::int64_t k, std::int64_t heads,
                       std::vector<double>& value) {
    const rope_numbers& n = in.rope;
    if (n.pairs == pairing::none) return;
    const std::int64_t rows = static_cast<std::int64_t>(value.size()) / k, tokens = rows / heads;
    if (static_cast<std::int64_t>(in.positions.size()) != tokens * n.positions())
        throw std::invalid_argument("reference: a token lacks a position");
    if (!in.factors.empty()) expect_elements("factors", in.factors, n.dims / 2);
    const double magnitude = rotation_of(n).magnitude;
    const bool near = n.pairs == pairing::neighbors;
    for (std::int64_t row = 0; row < rows; ++row)
        for (int pair = 0; pair < n.dims / 2; ++pair) {
            const double angle = angle_of(in, row / heads, tokens, pair);
            const std::int64_t first = row * k + n.first + (near ? 2 * pair : pair);
            double& a = value[static_cast<std::size_t>(first)];
            double& b = value[static_cast<std::size_t>(first + (near ? 1 : n.dims / 2))];
            const double cosine = std::cos(angle) * magnitude, sine = std::sin(angle) * magnitude;
            a = std::exchange(b, a * sine + b * cosine) * -sine + a * cosine;
        }
}

struct rope_op {
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::rope;

    static void apply(evaluation& e, const stage&) {
        for (double& v : e.value) v *= e.in.head_scale;
        turn_heads(e.in, e.in.k, e.in.heads, e.value);
    }

    static constexpr void spell(text& out) { out << "rope"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool fits = Before.fits(kind);
        static_assert(fits,
                      "catena: rope turns heads: put it first, or behind rms_norm and mul(weight), "
                      "and before store<F...> and emit<F>");
        return fits ? Before.then(kind) : refused;
    }
};

inline constexpr rope_op rope{};

template <>
struct stage_meaning<stage_kind::rope> : rope_op {};

}  // namespace CATENA_NAMESPACE::chain
