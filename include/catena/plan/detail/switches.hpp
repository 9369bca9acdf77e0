// The chains that options switch off, by their names.
#pragma once

#include "catena/chain/parts.hpp"
#include "catena/error/message.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/options.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// The names of a list.
inline std::vector<std::string_view> names_in(std::string_view list) {
    static constexpr const char* between = ", \t";
    std::vector<std::string_view> out;
    for (std::size_t at = list.find_first_not_of(between); at != list.npos;) {
        const std::size_t end = std::min(list.find_first_of(between, at), list.size());
        out.push_back(list.substr(at, end - at));
        at = list.find_first_not_of(between, end);
    }
    return out;
}

/// The name of a chain without what follows a dot.
inline std::string_view first_name(std::string_view chain) {
    return chain.substr(0, chain.find('.'));
}

/// "norm_input" names "norm_input" and "norm_input.fp8", but not "norm_input_too".
inline bool names_chain(std::string_view name, std::string_view chain) {
    return chain.substr(0, name.size()) == name &&
           (chain.size() == name.size() || chain[name.size()] == '.');
}

/// "norm_input.q4_K" names the q4_K matrices of "norm_input", if it has such.
inline format_set named_matrices(std::string_view name, const lowered_chain& chain) {
    const std::string_view first = first_name(chain.name);
    format_set out;
    if (name.substr(0, first.size()) != first || name.substr(first.size(), 1) != ".") return out;
    for (const format f : chain::weights_of(chain))
        if (name.substr(first.size() + 1) == catena::name(f)) out = out | f;
    return out;
}

/// The first names of a table's chains, each once, as far as `room` goes.
inline std::string chain_names(const table& t, std::size_t room) {
    std::string out;
    for (int c = 0; c < t.chain_count; ++c) {
        const std::string_view name = first_name(t.chains[c].name);
        const auto is_this = [name](const lowered_chain& o) { return first_name(o.name) == name; };
        if (std::any_of(t.chains, t.chains + c, is_this)) continue;
        if (out.size() + name.size() + 2 > room) return out + ", ...";
        out.append(out.empty() ? "" : ", ").append(name);
    }
    return out;
}

}  // namespace detail

/// Do these options switch this chain off?
inline bool switched_off(const options& asked, std::string_view chain) {
    for (const std::string_view name : detail::names_in(asked.chains_off))
        if (detail::names_chain(name, chain)) return true;
    return false;
}

/// The formats of a chain's matrices that these options leave to the engine.
inline format_set formats_off(const options& asked, const lowered_chain& chain) {
    format_set off;
    for (const std::string_view name : detail::names_in(asked.chains_off))
        off = off | detail::named_matrices(name, chain);
    return off;
}

/// Can these options be followed with this table?
inline status check(const options& asked, const table& t) {
    if (!asked.state.ok()) return asked.state;
    for (const std::string_view name : detail::names_in(asked.chains_off)) {
        const auto is_named = [name](const lowered_chain& c) {
            return detail::names_chain(name, c.name) || !detail::named_matrices(name, c).empty();
        };
        if (std::none_of(t.chains, t.chains + t.chain_count, is_named))
            return failure(
                status_code::invalid_argument,
                "CATENA_CHAINS_OFF (options::chains_off): no chain is called '%.*s': take from %s",
                static_cast<int>(std::min<std::size_t>(name.size(), 40)), name.data(),
                detail::chain_names(t, 110).c_str());
    }
    return asked.state;
}

}  // namespace CATENA_NAMESPACE
