// The scalar arithmetic that an engine of plain loops (engine.hpp) and the reference launches
// (launch.hpp) share. Both round at the same places, so a plan is right exactly when every byte is:
// no tolerance hides a stale or a missing value.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/rotation.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena_test::scalar {

/// f(g), as gate_function spells it; the swiglu_oai of two values is gated().
float gate(catena::gate_function f, float g);

/// sqrt(log(1 + e^v)), and sqrt(v) above 20.
float sqrt_softplus(float v);

/// log(1 + e^v), and v above 20.
float softplus(float v);

/// The sizes of a head of the gated delta rule, and whether each value of a key has a decay.
struct recalled_head {
    int k;
    bool by_value;
    float scale;
};

/// A token of the gated delta rule: the state [k, k] of a head decays, is corrected for the key by
/// the share beta of its error, and recalls k values for the query.
void recall(const recalled_head& h, float* state, const float* query, const float* key,
            const float* value, const float* decay, float beta, float* out);

/// The numbers of a state for a value of a head, what the head's decay is times the step, and what
/// the step is softplus of.
struct scanned_value {
    int size;
    float a, dt;
};

/// A token of a state space: the state [size] of a value decays, receives b * x * step, and its
/// product with c is the value.
float scan(const scanned_value& v, float* state, float x, const float* b, const float* c);

/// A query of attention, and what it reads of each position next to that of the position before.
struct attending_query {
    int k;
    float scale;
    const float* query;
    std::vector<float> keys, values;  ///< [k, positions]
    std::vector<float> mask;          ///< [positions]
    std::vector<float> sink;          ///< one score more, or none
};

/// What a query attends to. Positions of mask -inf do not count; if nothing counts, it is 0.
void attend(const attending_query& q, float* out);

/// What a gated value is: f(g) * x, or swiglu_oai's formula.
float gated(catena::gate_function f, float g, float x, float alpha, float limit);

/// The sum of the squares of n values.
float squares(const float* x, int n);

/// 1 / sqrt(mean of squares + eps), rounded to a power of two: a row may be times that before or
/// behind its weight, its quantization and its product with a matrix, and every bit is the same.
float norm_scale(const float* x, int k, float eps);

/// The same, where sums of the squares of 32 values each are known.
float norm_scale_of(const float* sums, int k, float eps);

/// One activation row of k elements, as `layout` lays out blocks of its own: the blocks of a q8_1
/// row, or those of one row of a matmul's activation. The last block is filled up with zeros.
void quantize(catena::format layout, const float* x, int k, std::byte* blocks);

/// The k values of such blocks, which stand `stride` bytes apart.
void decode(catena::format layout, const std::byte* blocks, std::ptrdiff_t stride, int k,
            float* out);

/// k values as they come out of blocks of q8_1.
void round_as_q8_1(float* x, int k);

/// Rows whose scales lie apart: k values of e4m3, and a scale for each 128 of them.
void quantize_fp8(const float* x, int k, std::byte* data, float* scales);
void decode_fp8(const std::byte* data, const float* scales, int k, float* out);

/// Turns a head of token `token` in place. Of positions there are `tokens`, or four times as many.
void turn(float* head, const catena::rotation& by, const std::int32_t* positions,
          std::int64_t tokens, std::int64_t token, const float* factors);

/// Makes k numbers their soft max.
void soft_max(float* x, int k);

float sum(const float* x, int k);

/// The numbers of the elements, the largest first, equal ones in their order.
std::vector<std::int32_t> sorted(const float* x, int k);

/// The sum of products, always in the same order.
float dot(const float* a, const float* b, int k);

}  // namespace catena_test::scalar
