// rms_norm: value / sqrt(mean(value^2) + eps), per row.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"
#include "catena/chain/work.hpp"

#include <cmath>

namespace catena::chain {

struct rms_norm_op {
    static constexpr bool is_op = true;
    static constexpr stage_kind kind = stage_kind::rms_norm;
    static constexpr stage lowered = {.kind = kind};

    static void apply(evaluation& e, const stage&) {
        e.at_sum = false;
        const auto k = static_cast<std::size_t>(e.in.k);
        for (std::size_t row = 0; row < e.value.size(); row += k) {
            double squares = 0;
            for (std::size_t i = 0; i < k; ++i) squares += e.value[row + i] * e.value[row + i];
            const double scale = 1 / std::sqrt(squares / static_cast<double>(k) + e.in.eps);
            for (std::size_t i = 0; i < k; ++i) e.value[row + i] *= scale;
        }
    }

    static constexpr work count(const stage&, const sizes& n) {
        return {.operations = 3 * n.k * n.rows};  // an fma for the mean, a product for the scale
    }

    static constexpr void spell(text& out) { out << "rms_norm"; }

    template <flow Before>
    static constexpr flow after() {
        static_assert(Before.at != place::gated,
                      "catena: rms_norm and glu each make the value of a chain: remove one, or "
                      "write two chains");
        static_assert(Before.at < place::normed || Before.at == place::gated,
                      "catena: rms_norm comes once, before mul(weight), add(bias), emit<F> and "
                      "quantize<F>: move it forward or remove it");
        return Before.to(place::normed);
    }
};

inline constexpr rms_norm_op rms_norm{};

}  // namespace catena::chain
