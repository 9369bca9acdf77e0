// The chains that options switch off, by their names.
#pragma once

#include "catena/chain/parts.hpp"
#include "catena/error/message.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/options.hpp"

#include <cstring>
#include <string>

namespace CATENA_NAMESPACE {

namespace detail {

/// Calls f(begin, length) for every name of a list.
template <class F>
void each_name(const char* list, F&& f) {
    static constexpr const char* between = ", \t";
    for (list += std::strspn(list, between); *list != '\0'; list += std::strspn(list, between)) {
        const std::size_t length = std::strcspn(list, between);
        f(list, length);
        list += length;
    }
}

/// "norm_input" names "norm_input" and "norm_input.fp8", but not "norm_input_too".
inline bool names_chain(const char* name, std::size_t length, const char* chain) {
    return std::strncmp(name, chain, length) == 0 &&
           (chain[length] == '\0' || chain[length] == '.');
}

/// "norm_input.q4_K" names the q4_K matrices of "norm_input", if it has such.
inline format_set named_matrices(const char* name, std::size_t length, const lowered_chain& chain) {
    const std::size_t before = std::strcspn(chain.name, ".");
    format_set out;
    if (length <= before || std::strncmp(name, chain.name, before) != 0 || name[before] != '.')
        return out;
    for (const format f : chain::weights_of(chain)) {
        const std::string suffix = catena::name(f);
        if (suffix.compare(0, suffix.npos, name + before + 1, length - before - 1) == 0)
            out = out | f;
    }
    return out;
}

/// The chains of a table without what follows a dot, each once, as far as `room` goes.
inline std::string chain_names(const table& t, std::size_t room) {
    std::string out;
    for (int c = 0; c < t.chain_count; ++c) {
        const std::string name(t.chains[c].name, std::strcspn(t.chains[c].name, "."));
        bool known = false;
        each_name(out.c_str(), [&](const char* at, std::size_t length) {
            known = known || name.compare(0, std::string::npos, at, length) == 0;
        });
        if (known) continue;
        if (out.size() + name.size() + 2 > room) return out + ", ...";
        out += (out.empty() ? "" : ", ") + name;
    }
    return out;
}

}  // namespace detail

/// Do these options switch this chain off?
inline bool switched_off(const options& asked, const char* chain) {
    bool off = false;
    detail::each_name(asked.chains_off.c_str(), [&](const char* name, std::size_t length) {
        off = off || detail::names_chain(name, length, chain);
    });
    return off;
}

/// The formats of a chain's matrices that these options leave to the engine.
inline format_set formats_off(const options& asked, const lowered_chain& chain) {
    format_set off;
    detail::each_name(asked.chains_off.c_str(), [&](const char* name, std::size_t length) {
        off = off | detail::named_matrices(name, length, chain);
    });
    return off;
}

/// Can these options be followed with this table?
inline status check(const options& asked, const table& t) {
    status out = asked.state;
    detail::each_name(asked.chains_off.c_str(), [&](const char* name, std::size_t length) {
        bool known = false;
        for (int c = 0; c < t.chain_count; ++c)
            known = known || detail::names_chain(name, length, t.chains[c].name) ||
                    !detail::named_matrices(name, length, t.chains[c]).empty();
        if (known || !out.ok()) return;
        out = failure(
            status_code::invalid_argument,
            "CATENA_CHAINS_OFF (options::chains_off): no chain is called '%.*s': take from %s",
            static_cast<int>(length < 40 ? length : 40), name, detail::chain_names(t, 110).c_str());
    });
    return out;
}

}  // namespace CATENA_NAMESPACE
