// The type check of a whole chain: every op's rule in turn, then what a chain must have at its end.
// A violation stops the compiler with a sentence that names the op and the remedy.
#pragma once

#include "catena/chain/chain.hpp"

#include <boost/hana/fold_left.hpp>

namespace catena::chain {

template <flow F>
struct flow_of {
    static constexpr flow value = F;
};

struct follow {
    template <flow Before, chain_op Op>
    constexpr auto operator()(flow_of<Before>, Op) const {
        return flow_of<Op::template after<Before>()>{};
    }
};

/// True, or a static_assert's sentence.
template <class... Ops>
constexpr bool check(const sequence<Ops...>&) {
    using end = decltype(hana::fold_left(hana::tuple<Ops...>{}, flow_of<flow{}>{}, follow{}));
    constexpr place at = end::value.at;
    static_assert(at != place::quantized || end::value.engine_reads,
                  "catena: nobody reads what quantize<F> wrote: end the chain with mul_mat<W> or "
                  "group<mul_mat<W>...>");
    static_assert(
        at == place::summed_out || at >= place::emitted,
        "catena: the chain writes nothing: end it with emit<F>, or with quantize<F> and a "
        "group");
    static_assert(end::value.again == end::value.weighted_again,
                  "catena: a second norm has a weight: put mul(next_weight) right behind it");
    return true;
}

}  // namespace catena::chain
