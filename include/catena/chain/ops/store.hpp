// store<F...>: a tee. The heads of each token are also written as one row of a cache, in one of the
// formats; which row is in memory. What flows on does not change.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

struct store_stage {
    static constexpr stage_kind kind = stage_kind::store;

    /// If several tokens have the same row, the last one stays. The reference does not round.
    static void apply(evaluation& e, const stage&) {
        const inputs& in = e.in;
        if (in.cache_rows.empty()) return;
        const std::int64_t length = in.k * in.heads, tokens = in.rows / in.heads;
        if (static_cast<std::int64_t>(in.cache_rows.size()) != tokens)
            throw std::invalid_argument("reference: a token lacks its row of the cache");
        for (std::int64_t t = 0; t < tokens; ++t) {
            const auto first = e.value.begin() + t * length;
            e.out.stored[in.cache_rows[static_cast<std::size_t>(t)]] = {first, first + length};
        }
    }
};

template <format... Fs>
struct store_op : store_stage {
    static constexpr stage lowered = {.formats = (format_set{} | ... | Fs)};

    static constexpr void spell(text& out) {
        const char* before = "store<";
        ((out << before << name(Fs), before = ", "), ...);
        out << ">";
    }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool named = sizeof...(Fs) > 0;
        constexpr bool of_caches = cache_formats.contains(lowered.formats);
        constexpr bool fits = Before.fits(kind);
        static_assert(named, "catena: store<> names no format: write store<f16>");
        static_assert(of_caches,
                      "catena: store<F...> writes what caches hold: f32, f16, bf16, q8_0 or q4_0");
        static_assert(!named || !of_caches || fits,
                      "catena: store<F...> writes heads: put it first, or behind rms_norm, "
                      "mul(weight) and rope, once, and before emit<F>");
        return named && of_caches && fits ? Before.then(kind) : refused;
    }
};

template <format... Fs>
inline constexpr store_op<Fs...> store{};

template <>
struct stage_meaning<stage_kind::store> : store_stage {};

}  // namespace CATENA_NAMESPACE::chain
