// From a chain to its plain list of stages. Hana ends here: kernels and engines never see it.
#pragma once

#include "catena/chain/chain.hpp"

#include <boost/hana/for_each.hpp>

namespace CATENA_NAMESPACE::chain {

/// How its author wrote a chain: "rms_norm | mul(weight) | emit<f32> | quantize<q8_1> | ...".
template <class... Ops>
constexpr text signature(const sequence<Ops...>& chain) {
    text out;
    hana::for_each(chain.ops, [&](auto op) {
        if (out.size != 0) out << " | ";
        op.spell(out);
    });
    return out;
}

/// The chain's signature as a string that lives as long as the program.
template <class Chain>
inline constexpr text signature_of = signature(Chain{});

namespace detail {

template <flow Before>
constexpr void lower_onto(lowered_chain&) {}

/// A group is one or two stages; any other op is the stage that it becomes behind `Before`.
template <flow Before, class First, class... Rest>
constexpr void lower_onto(lowered_chain& out) {
    constexpr flow next = flow_after<Before, First>;
    if constexpr (requires { First::expert; }) {
        for (const stage& s : {First::dense, First::expert})
            if (!s.formats.empty()) out.stages[out.count++] = s;
    } else {
        stage& s = out.stages[out.count++];
        s = First::lowered;
        s.kind = next.last;
    }
    lower_onto<next, Rest...>(out);
}

}  // namespace detail

/// The stages of a complete chain. `name` must outlive the result.
template <class... Ops>
constexpr lowered_chain lower(const char* name, const sequence<Ops...>&) {
    static_assert(complete<flow_after<flow{}, Ops...>>());
    lowered_chain out = {.name = name, .signature = signature_of<sequence<Ops...>>.data};
    detail::lower_onto<flow{}, Ops...>(out);
    return out;
}

}  // namespace CATENA_NAMESPACE::chain
