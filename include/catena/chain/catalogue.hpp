// The lines of a catalogue: chains with names, which say what a chain is for, and weight formats
// that share a launch. What follows a dot in a name tells chains of one purpose apart.
#pragma once

#include "catena/chain/lower.hpp"

#include <boost/hana/tuple.hpp>

namespace CATENA_NAMESPACE::chain {

template <literal Name, class Chain>
struct catalogue_entry {};

/// entry<"norm_input">(chain): one line of a catalogue.
template <literal Name, class... Ops>
constexpr auto entry(const sequence<Ops...>& chain) {
    static_assert(complete<flow_after<flow{}, Ops...>>());
    static_cast<void>(chain);
    return catalogue_entry<Name, sequence<Ops...>>{};
}

template <literal Name, class Chain>
constexpr lowered_chain lower(const catalogue_entry<Name, Chain>&) {
    return lower(Name.data, Chain{});
}

template <format... Ws>
struct shared_launch_entry {
    static constexpr format_set together = (format_set{} | ... | Ws);
};

/// shared_launch<q4_K, q6_K>: a line of a catalogue too. One launch of a matvec may hold matrices
/// of these formats; every format has launches of its own besides.
template <format W, format... More>
inline constexpr shared_launch_entry<W, More...> shared_launch{};

}  // namespace CATENA_NAMESPACE::chain
