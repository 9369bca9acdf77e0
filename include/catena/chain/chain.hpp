// A chain: ops joined by |, as a constexpr value.
//
//   inline constexpr auto attention_input =
//       rms_norm | mul(weight) | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K>, mul_mat<q6_K>>;
#pragma once

#include "catena/chain/check.hpp"

#include <boost/hana/concat.hpp>
#include <boost/hana/tuple.hpp>

namespace CATENA_NAMESPACE::chain {

namespace hana = boost::hana;
using enum format;

template <class... Ops>
struct sequence {
    hana::tuple<Ops...> ops;
};

template <class T>
inline constexpr bool is_sequence = false;
template <class... Ops>
inline constexpr bool is_sequence<sequence<Ops...>> = true;

template <class T>
concept chain_part = chain_op<T> || is_sequence<T>;

template <chain_op Op>
constexpr sequence<Op> as_sequence(Op op) {
    return {hana::tuple<Op>{op}};
}
template <class... Ops>
constexpr sequence<Ops...> as_sequence(sequence<Ops...> s) {
    return s;
}

template <class... Left, class... Right>
constexpr sequence<Left..., Right...> join(const sequence<Left...>& left,
                                           const sequence<Right...>& right) {
    return {hana::concat(left.ops, right.ops)};
}

/// Joins what may follow, and refuses what may not: a piece of a chain that has a name of its own
/// begins as a chain may begin. What a chain needs at its end is checked where it is used.
template <chain_part Left, class Right>
constexpr auto operator|(Left left, Right right) {
    static_assert(
        chain_part<Right>,
        "catena: what stands after | is no op: write add(residual), rms_norm, layer_norm, "
        "l2_norm, mul(weight), add(bias), glu, act, own, rope, store<F>, score, choose, weigh, "
        "emit<F>, quantize<F>, mul_mat<W>, mul_mat_id<W>, "
        "group<mul_mat<W>...> or epilogue<...>");
    if constexpr (!chain_part<Right>) {
        return join(as_sequence(left), as_sequence(refused_op{}));
    } else {
        constexpr flow end = flow_after<flow_after<flow{}, Left>, Right>;
        static_cast<void>(end);  // instantiated for the rules that it looks at
        return join(as_sequence(left), as_sequence(right));
    }
}

}  // namespace CATENA_NAMESPACE::chain
