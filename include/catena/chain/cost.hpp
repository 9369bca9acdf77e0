// Bytes and operations of a chain, per launch part. Derived from the stages, each of which says in
// its op's header what it moves and computes.
#pragma once

#include "catena/chain/ops.hpp"
#include "catena/chain/parts.hpp"

namespace CATENA_NAMESPACE::chain {

struct chain_work {
    work row;
    work matvec;

    constexpr work total() const { return row + matvec; }
};

constexpr chain_work cost(const lowered_chain& chain, const sizes& n) {
    chain_work total;
    if (has_part(chain, skeleton::row)) total.row.read = n.k * n.rows * 4;  // x
    for (int i = 0; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        work& part = skeleton_of(s.kind) == skeleton::row ? total.row : total.matvec;
        with_meaning(s.kind, [&](auto meaning) { part += meaning.count(s, n); });
    }
    return total;
}

}  // namespace CATENA_NAMESPACE::chain
