// A catalogue: chains with names. The name of an entry says what the chain is for and, after the
// dot, the weight formats of its group, which nobody types twice.
#pragma once

#include "catena/chain/lower.hpp"
#include "catena/chain/parts.hpp"

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

/// "norm_input.q4_K_q6_K"
template <literal Name, class Chain>
inline constexpr text name_of = [] {
    text out;
    out << Name.view();
    const char* before = ".";
    for (const format weights : matvec_part(lower("", Chain{})).weights) {
        out << before << catena::name(weights);
        before = "_";
    }
    return out;
}();

template <literal Name, class Chain>
constexpr lowered_chain lower(const catalogue_entry<Name, Chain>&) {
    return lower(name_of<Name, Chain>.data, Chain{});
}

/// Every chain of a tuple of entries, lowered.
template <class Entries>
constexpr auto lower_all(const Entries& entries) {
    return hana::unpack(entries, [](const auto&... each) {
        return std::array<lowered_chain, sizeof...(each)>{lower(each)...};
    });
}

}  // namespace catena::chain
