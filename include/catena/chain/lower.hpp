// From a chain to its plain list of stages. Hana ends here: kernels and engines never see it.
#pragma once

#include "catena/chain/print.hpp"

namespace catena::chain {

/// The chain's signature as a string that lives as long as the program.
template <class Chain>
inline constexpr text signature_of = signature(Chain{});

/// The stages of a complete chain. `name` must outlive the result.
template <class... Ops>
constexpr lowered_chain lower(const char* name, const sequence<Ops...>& chain) {
    static_assert(complete<flow_after<flow{}, Ops...>>());
    lowered_chain out = {.name = name, .signature = signature_of<sequence<Ops...>>.data};
    hana::for_each(chain.ops, [&](auto op) {
        out.stages[out.count++] = op.lowered;
        if constexpr (requires { requires decltype(op)::mixed; })
            out.stages[out.count++] = op.expert;
    });
    return out;
}

}  // namespace catena::chain
