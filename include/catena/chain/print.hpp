// How a chain is spelled: its signature, as its author wrote it, and the name of its catalogue
// entry.
#pragma once

#include "catena/chain/chain.hpp"

#include <boost/hana/for_each.hpp>

namespace CATENA_NAMESPACE::chain {

/// "rms_norm | mul(weight) | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K>>"
template <class... Ops>
constexpr text signature(const sequence<Ops...>& chain) {
    text out;
    hana::for_each(chain.ops, [&](auto op) {
        if (out.size != 0) out << " | ";
        op.spell(out);
    });
    return out;
}

}  // namespace CATENA_NAMESPACE::chain
