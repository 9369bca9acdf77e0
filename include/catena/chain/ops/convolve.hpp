// convolve: a causal convolution of each channel by itself. A token's value is a function of the
// sum of the last values of its channel, each times a tap, and of a bias. The values that stand
// before the first token are the state of the sequence; those that would stand before a next one
// replace it. Neighboring channels are heads, which a norm may follow.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <stdexcept>

namespace CATENA_NAMESPACE::chain {

struct convolve_op {
    static constexpr bool is_op = true;
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::convolve;

    static void apply(evaluation& e, const stage&) {
        const inputs& in = e.in;
        const std::int64_t channels = in.k * in.heads, tokens = in.rows / in.heads;
        const std::int64_t length = static_cast<std::int64_t>(in.taps.size()) / channels;
        if (length < 2) throw std::invalid_argument("reference: a channel has less than two taps");
        expect_elements("taps", in.taps, length * channels);
        expect_elements("state", in.state, (length - 1) * channels);
        if (!in[operand::bias].empty()) expect_elements("bias", in[operand::bias], channels);
        // A channel has its state, and then a value of each token.
        const auto value = [&](std::int64_t channel, std::int64_t i) {
            const std::int64_t token = i - (length - 1);
            return token < 0 ? in.state[static_cast<std::size_t>(channel * (length - 1) + i)]
                             : in.x[static_cast<std::size_t>(token * channels + channel)];
        };
        for (std::int64_t c = 0; c < channels; ++c) {
            for (std::int64_t t = 0; t < tokens; ++t) {
                double sum =
                    in[operand::bias].empty() ? 0 : in[operand::bias][static_cast<std::size_t>(c)];
                for (std::int64_t i = 0; i < length; ++i)
                    sum += value(c, t + i) * in.taps[static_cast<std::size_t>(c * length + i)];
                e.value[static_cast<std::size_t>(t * channels + c)] = gated(in.gated_by, sum, 1);
            }
            for (std::int64_t i = 0; i < length - 1; ++i)
                e.out.state.push_back(value(c, tokens + i));
        }
        e.at_sum = true;
    }

    static constexpr void spell(text& out) { out << "convolve"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool first = Before.at_start();
        static_assert(first, "catena: convolve reads what a matrix made: put it first");
        return first ? Before.then(kind) : refused;
    }
};

inline constexpr convolve_op convolve{};

template <>
struct stage_meaning<stage_kind::convolve> : convolve_op {};

}  // namespace CATENA_NAMESPACE::chain
