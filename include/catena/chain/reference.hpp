// What a chain means, in double: the reference that every instance is compared with. Derived from
// the stages, each of which says in its op's header what it does.
#pragma once

#include "catena/chain/ops.hpp"
#include "catena/chain/parts.hpp"

namespace CATENA_NAMESPACE::chain {

namespace detail {

inline outputs run_stages(const lowered_chain& chain, int first, evaluation e) {
    for (std::size_t i = 0; i < e.in.matrices.size(); ++i)
        if (!epilogue_of(chain).contains(asked_parts(e.in.matrices[i])))
            throw std::invalid_argument("reference: matrix " + std::to_string(i) +
                                        " asks for more than the chain's epilogue does");
    for (int i = first; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        with_meaning(s.kind, [&](auto meaning) { meaning.apply(e, s); });
    }
    return std::move(e.out);
}

}  // namespace detail

/// Every output of the chain for `in`. Throws std::invalid_argument where sizes do not fit.
inline outputs reference(const lowered_chain& chain, const inputs& in) {
    if (in.experts.empty() || !in.x.empty()) expect_elements("x", in.x, in.k * in.rows);
    return detail::run_stages(chain, 0, {.in = in, .value = in.x});
}

/// The products alone, from an activation that was already quantized: `activation` is its decoded
/// value, [k, rows]. Tells the error of the matmul apart from that of the quantization.
inline outputs reference_from_activation(const lowered_chain& chain, const inputs& in,
                                         const std::vector<double>& activation) {
    expect_elements("the activation", activation, in.k * in.rows);
    int first = 0;
    while (first < chain.count && chain.stages[first].kind != stage_kind::mul_mat &&
           chain.stages[first].kind != stage_kind::mul_mat_id)
        ++first;
    return detail::run_stages(chain, first, {.in = in, .value = activation});
}

}  // namespace CATENA_NAMESPACE::chain
