// Problems by hand.
#pragma once

#include "catena/pick/problem.hpp"

#include <initializer_list>

namespace catena_test {

/// rms_norm | mul | emit q8_1 of `rows` rows.
inline catena::row_problem norm_problem(std::int64_t k, std::int64_t rows = 1) {
    catena::row_problem p;
    p.needs.stages = catena::stage_kind::rms_norm | catena::stage_kind::mul_weight;
    p.needs.emits = catena::format_set::of(catena::format::q8_1);
    p.k = p.quant_k = k;
    p.rows = rows;
    return p;
}

inline catena::product_problem matvec_problem(std::int64_t k,
                                              std::initializer_list<catena::problem_member> members,
                                              std::int64_t columns = 1) {
    catena::product_problem p;
    p.needs.kind = catena::skeleton::matvec;
    p.needs.activation = catena::format::q8_1;
    p.k = k;
    p.columns = columns;
    for (const catena::problem_member& m : members) {
        p.needs.weights = p.needs.weights | m.type;
        p.member[p.member_count++] = m;
    }
    return p;
}

/// What is done with the results of a group; nothing with those of a row step.
inline catena::epilogue_set epilogue_of(const catena::problem& p) {
    return p.kind() == catena::skeleton::row ? catena::epilogue_set{} : p.product().needs.epilogue;
}

}  // namespace catena_test
