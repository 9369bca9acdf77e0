// A catalogue: chains with names, which say what a chain is for. What follows a dot tells chains of
// one purpose apart.
#pragma once

#include "catena/chain/lower.hpp"

#include <boost/hana/flatten.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <array>

namespace catena::chain {

template <literal Name, class Chain>
struct catalogue_entry {
    using chain_type = Chain;
};

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

/// Every chain of a tuple of entries, lowered.
template <class Entries>
constexpr auto lower_all(const Entries& entries) {
    return hana::unpack(entries, [](const auto&... each) {
        return std::array<lowered_chain, sizeof...(each)>{lower(each)...};
    });
}

}  // namespace catena::chain
