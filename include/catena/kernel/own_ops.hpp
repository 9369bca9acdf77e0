// How an engine defines ops of its own. An op is f(value) for each element, with two numbers at
// most that come from the parameters of its node:
//
//   struct bounded {
//       static constexpr const char* name = "bounded";
//       static double reference(double v, const op_numbers& n) { return std::clamp(...); }
//       CATENA_FN static real compute(real v, const op_numbers& n) { return clamp(...); }
//       static bool match(const tensor& node, op_numbers& n) { return node.kind == op::clamp; }
//   };
//   using ops = own_op_list<bounded>;
//
// `reference` is what the op means, `compute` what kernels do, `match` says whether a node of the
// graph computes the op of its first source, and sets its numbers. A NaN must stay one.
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/match/own_ops.hpp"

#include <cstring>

namespace CATENA_NAMESPACE {

/// A parameter of a node that is a float.
inline float float_param(const tensor& node, int word) {
    float value = 0;
    std::memcpy(&value, &node.params[word], sizeof value);
    return value;
}

namespace detail {

template <class Op>
constexpr bool is_own_op() {
    constexpr bool named = requires { own_op{Op::name}; };
    constexpr bool means = requires(own_op o) { o.reference = Op::reference; };
    constexpr bool computes = requires(real v, const op_numbers& n) { real{Op::compute(v, n)}; };
    constexpr bool matches = requires(own_op o) { o.match = Op::match; };
    static_assert(named,
                  "catena: an op of one's own has a name: add static constexpr const char* "
                  "name");
    static_assert(means,
                  "catena: an op of one's own says what it means: add static double "
                  "reference(double value, const op_numbers&)");
    static_assert(computes,
                  "catena: an op of one's own has a kernel: add CATENA_FN static real "
                  "compute(real value, const op_numbers&)");
    static_assert(matches,
                  "catena: an op of one's own knows its nodes: add static bool "
                  "match(const tensor& node, op_numbers&)");
    return named && means && computes && matches;
}

template <bool Complete, class... Ops>
struct own_op_list {
    CATENA_FN static real compute(gate_function which, real value, const op_numbers& numbers) {
        int left = own_index(which);
        real out = value;
        static_cast<void>(
            ((left-- == 0 ? (out = Ops::compute(value, numbers), true) : false) || ...));
        return out;
    }

    static constexpr own_op all[] = {{Ops::name, Ops::match, Ops::reference}...};
    static constexpr own_ops listed{all, sizeof...(Ops)};
};
template <class... Ops>
struct own_op_list<false, Ops...> {  // a sentence says what is missing
    static constexpr own_ops listed{};
};

}  // namespace detail

/// The ops of an engine's own, for catena_add_instances(... OPS <header>).
template <class... Ops>
using own_op_list = detail::own_op_list<(detail::is_own_op<Ops>() && ...), Ops...>;

}  // namespace CATENA_NAMESPACE
