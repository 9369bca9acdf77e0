// The domain that every instance set declares: weight formats times columns, for all lengths, rows,
// alignments and epilogues. Either a row serves a problem of it, or an absence says why none does;
// what is neither is a hole, and a test fails.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/match/pattern.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/pick/problem.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Columns that stand for all others: a step of decoding, a few sequences at once, the first that a
/// matvec leaves to a matmul, and prompts.
inline constexpr std::int64_t domain_columns[] = {1, 2, 3, 4, 5, 8, 9, 33, 64, 512, 4096};

/// Up to this many columns (for experts: tokens) an activation is q8_1 and the launch a matvec.
inline constexpr std::int64_t max_matvec_columns = 8;

/// Formats whose problems no row is meant to serve.
struct absence {
    format_set weights;
    std::int64_t from_columns;
    int before;  ///< absent if the GPU's compute capability is below this; 0: on every GPU
    const char* why;
};

inline constexpr absence declared_absences[] = {
    {format_set::of(format::fp8_e4m3), min_matmul_columns, mma_since(format::fp8_e4m3),
     "before sm_89 tensor cores multiply no fp8: left to the engine"},
    {format_set::of(format::f32) | format::bf16, min_matmul_columns, mma_since(format::bf16),
     "before sm_80 tensor cores multiply neither bf16 nor tf32: left to the engine"},
};

/// Why no row of the arch serves this format at so many columns, or null: one should.
constexpr const char* absence_of(format weights, std::int64_t columns, const arch& on) {
    const int cc = on.compute_capability;
    for (const absence& a : declared_absences)
        if (a.weights.has(weights) && columns >= a.from_columns &&
            (a.before == 0 || (cc != 0 && cc < a.before)))
            return a.why;
    return nullptr;
}

namespace detail {

inline constexpr epilogue_set glu_part = epilogue_set::of(epilogue_part::glu);
inline constexpr epilogue_set act_part = epilogue_set::of(epilogue_part::act);
inline constexpr epilogue_set quantize_part = epilogue_set::of(epilogue_part::quantize);
/// What any launch may do with a result beside a function, the next group's activation, and sums of
/// slots, which are of experts alone.
inline constexpr epilogue_set added_parts = all_epilogue_parts.without(
    function_parts | epilogue_part::combine | epilogue_part::quantize | epilogue_part::heads);

/// Every format of the set once, through the same parts, and one of them plain.
inline product_problem group_of(format_set weights, skeleton kind, std::int32_t rows,
                                epilogue_set parts) {
    product_problem p;
    p.needs.kind = kind;
    p.needs.weights = weights;
    p.needs.epilogue = parts;
    for (const format type : weights)
        p.member[p.member_count++] = {.type = type, .rows = rows, .epilogue = parts};
    p.member[p.member_count++] = {.type = p.member[0].type, .rows = 7};
    const format of_matvec = has_float_weights(weights) ? format::f32 : format::q8_1;
    p.needs.activation = kind == skeleton::matvec ? of_matvec : matmul_layout(p.member[0].type);
    return p;
}

constexpr bool whole_blocks(const product_problem& p, std::int64_t k) {
    for (int i = 0; i < p.member_count; ++i)
        if (k % length_unit(p.needs.kind, p.member[i].type) != 0) return false;
    return true;
}

}  // namespace detail

/// The problems that represent a set of formats at this many columns, dense and with experts.
template <class Visit>
void each_group_problem(format_set weights, std::int64_t columns, const Visit& visit) {
    using namespace detail;
    const bool few = columns <= max_matvec_columns;
    const skeleton kind = few ? skeleton::matvec : skeleton::matmul;
    const epilogue_set every = glu_part | added_parts;
    for (const epilogue_set parts :
         {epilogue_set{}, glu_part, every, quantize_part, glu_part | quantize_part,
          act_part | quantize_part, every | epilogue_part::quantize})
        for (const std::int32_t rows : {32, 1024, 28672})
            for (const std::int64_t k : {96, 256, 2048, 5120, 18944, 28672})
                for (const int alignment : {16, 2}) {
                    product_problem p = group_of(weights, kind, rows, parts);
                    if (!whole_blocks(p, k)) continue;
                    p.k = k;
                    p.alignment = alignment;
                    p.columns = p.tokens = columns;
                    visit(p);
                    p.expert = true;
                    for (int i = 0; i < p.member_count; ++i) p.member[i].experts = 128;
                    for (const int slots : {1, 8}) {
                        p.columns = columns * slots;
                        visit(p);
                    }
                }
}

}  // namespace CATENA_NAMESPACE
