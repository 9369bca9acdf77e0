// The arguments of the skeletons: plain structs, passed by value to the kernel. Pointers are
// addresses on the executor's device. Strides (nb, nb1, ..) and names with `bytes` count bytes, all
// other sizes count elements. Shapes have the innermost dimension first, as in ggml. A pointer may
// be null only where its comment says what null means.
#pragma once

#include "catena/chain/rotation.hpp"
#include "catena/chain/routing.hpp"
#include "catena/kernel/row_args.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// One value with heads, such as Q, [k, heads, tokens]. Each head passes, in this order: a norm and
/// its weight, a turn, a scale. Then it is written as f32 and stored in a cache.
struct head_member {
    const float* x = nullptr;       ///< [k, heads, tokens], unit element stride; null: heads are
                                    ///< convolved, recalled or scanned, or results of a matvec
    const float* weight = nullptr;  ///< [k], of a norm of tokens [k, heads]: weight of the norm,
                                    ///< which no kernel writes (it is read before the grid wait);
                                    ///< null: each is 1
    float* f32 = nullptr;           ///< [k, heads, tokens], unit element stride; may lie exactly
                                    ///< over x, but with a norm of tokens; null: not written, or by
                                    ///< a matvec to its dst
    void* cache = nullptr;          ///< [k * heads, cache_rows] of cache_type; null: not stored
    const void* cache_ids = nullptr;  ///< [tokens], the row of the cache for each token; a token
                                      ///< whose row is outside of the cache is not stored, and the
                                      ///< last of several tokens with one row is; null: no cache
    std::int64_t x_nb1 = 0, x_nb2 = 0;      ///< bytes of x: head to head, token to token
    std::int64_t f32_nb1 = 0, f32_nb2 = 0;  ///< bytes of f32: head to head, token to token
    std::int64_t cache_nb = 0;              ///< bytes of cache: row to row
    std::int32_t k = 0;                     ///< elements of a head
    std::int32_t heads = 0;                 ///< heads of a token
    std::int32_t first_row = 0;             ///< rows of the preceding members, as heads_args::rows
    std::int32_t cache_rows = 0;            ///< rows of the cache
    float eps = 0;                          ///< eps of the norm
    float scale = 1;                        ///< factor of the head, behind the turn
    format cache_type = format::unknown;  ///< one of cache_formats; k is a multiple of 32 for q8_0
                                          ///< and q4_0
    bool ids_of_64_bits = false;          ///< cache_ids are i64, else i32
    bool normed = false;                  ///< the head is normed: rms_norm with eps
    bool token_norm = false;              ///< the norm is one of all heads of a token, which lie
                                          ///< next to each other
    bool turned = false;                  ///< the head is turned, as heads_args::turn says
    std::int32_t first_channel = 0;       ///< channels of the preceding members, if heads are
                                          ///< convolved
};

/// The convolution that makes the heads of a launch: for each channel, of the tokens of each
/// sequence. All sequences have equally many; those of the first stand in front. Element i of head
/// h of a member is channel first_channel + h * k + i; each channel is of one member.
struct convolution_args {
    const float* x = nullptr;      ///< [channels, tokens], unit element stride
    const float* taps = nullptr;   ///< [length, channels] without gaps, which no kernel writes
                                   ///< (it is read before the grid wait); the last tap is for the
                                   ///< token itself
    const float* bias = nullptr;   ///< [channels], which no kernel writes; null: each is 0
    const float* state = nullptr;  ///< [length - 1, channels, states], no gaps in a state: the
                                   ///< values before the first token, the oldest first
    const std::int32_t* state_ids = nullptr;  ///< [sequences], the number of the state that each
                                              ///< one reads; if there is no such state its values
                                              ///< are NaN; null: the sequence's own number
    float* next_state = nullptr;  ///< [length - 1, channels, sequences], no gaps in a state,
                                  ///< receives the last values; may be some of `state`, whichever
                                  ///< are read; null: not written
    float* f32 = nullptr;         ///< [channels, tokens], receives the values before norms; may lie
                                  ///< exactly over x; null: not written
    std::int64_t x_nb = 0, f32_nb = 0;             ///< bytes from one token to the next
    std::int64_t state_nb = 0, next_state_nb = 0;  ///< bytes from one state to the next
    std::int32_t channels = 0;                     ///< 0: the launch convolves nothing
    std::int32_t length = 0;                       ///< taps of a channel, min_taps to max_taps
    std::int32_t states = 1;                       ///< states in memory
    std::int32_t sequences = 1;                    ///< as many as a block has warps at most
    gate_function function = gate_function::none;  ///< none or silu
};

/// A number of each head of each token. Those of `abreast` heads have no gaps.
struct head_numbers {
    const float* first = nullptr;
    std::int64_t nb1 = 0, nb2 = 0;  ///< bytes: `abreast` heads to the next ones, token to token
    std::int32_t abreast = 1;       ///< divides the heads of a token
};

/// The gated delta rule that makes the heads of a launch, of the tokens of each sequence
/// (chain/ops/delta_rule.hpp). All sequences have equally many; those of the first stand in front.
/// The launch has one member, whose k values of a head are recalled with k values of a key.
struct delta_args {
    const float* queries = nullptr;  ///< [k, key_heads, tokens], unit element stride
    const float* keys = nullptr;     ///< [k, key_heads, tokens], unit element stride
    const float* values = nullptr;   ///< [k, heads, tokens], unit element stride
    head_numbers decay;  ///< the logarithm of what a token leaves of the state, or what that is a
                         ///< softplus of; if it is by_value, `first` is [k, heads, tokens] without
                         ///< gaps
    const float* decay_factor = nullptr;  ///< [heads], which no kernel writes (it is read before
                                          ///< the grid wait): the logarithm is softplus(decay +
                                          ///< decay_bias) times this number; null: it is decay
                                          ///< itself
    const float* decay_bias = nullptr;    ///< [heads], which no kernel writes; null: each is 0;
                                          ///< null if decay_factor is
    head_numbers beta;                    ///< the share of an error that is corrected, or its logit
    const float* state = nullptr;  ///< [k, k, heads, states] without gaps: for each value of a head
                                   ///< a row, whose product with a key or a query is the value
    const std::int32_t* state_ids = nullptr;  ///< [sequences], the number of the state that each
                                              ///< one reads; if there is no such state its values
                                              ///< are NaN; null: the sequence's own number
    float* next_state = nullptr;  ///< [k, k, heads, sequences] without gaps, receives the states
                                  ///< behind the last tokens; may be some of `state`, whichever are
                                  ///< read; null: not written
    std::int64_t queries_nb1 = 0, queries_nb2 = 0;  ///< bytes: head to head, token to token
    std::int64_t keys_nb1 = 0, keys_nb2 = 0;        ///< bytes: head to head, token to token
    std::int64_t values_nb1 = 0, values_nb2 = 0;    ///< bytes: head to head, token to token
    std::int32_t key_heads = 0;  ///< divides heads; 0: the launch recalls nothing
    std::int32_t states = 1;     ///< states in memory
    std::int32_t sequences = 1;  ///< as many as a block has warps at most
    bool by_value = false;       ///< each value of a key has a decay of its own
    bool logit = false;          ///< beta is a logit, whose sigmoid is the share
    bool neighbors = false;  ///< neighboring heads share a key: head h has key head h / (heads /
                             ///< key_heads), else h modulo key_heads
};

/// The scan of a selective state space (Mamba-2) that makes the heads of a launch, of the tokens of
/// each sequence (chain/ops/ssm_scan.hpp). All sequences have equally many; those of the first
/// stand in front. The launch has one member, with k values of a head. Head h has b and c of group
/// h / (heads / groups).
struct scan_args {
    const float* x = nullptr;   ///< [k, heads, tokens], heads without gaps
    const float* dt = nullptr;  ///< [heads, tokens], unit element stride: the step of a token is
                                ///< softplus(dt + dt_bias)
    const float* dt_bias = nullptr;  ///< [heads], which no kernel writes (it is read before the
                                     ///< grid wait); null: each is 0
    const float* a = nullptr;  ///< [heads], which no kernel writes: e^(a * step) is what a token
                               ///< leaves of the state
    const float* b = nullptr;  ///< [size, groups, tokens], groups without gaps: the state of a
                               ///< value receives b * x * step
    const float* c = nullptr;  ///< [size, groups, tokens], groups without gaps: its product with
                               ///< the state is the value
    const float* d = nullptr;  ///< [heads], which no kernel writes: d * x is added; null: nothing
    const float* z = nullptr;  ///< [k, heads, tokens], heads without gaps: the value is multiplied
                               ///< with silu(z); null: it is not
    const float* state = nullptr;             ///< [size, k, heads, states] without gaps
    const std::int32_t* state_ids = nullptr;  ///< [sequences], the number of the state that each
                                              ///< one reads; if there is no such state its values
                                              ///< are NaN
    float* next_state = nullptr;  ///< [size, k, heads, sequences] without gaps, receives the states
                                  ///< behind the last tokens; may be some of `state`, whichever are
                                  ///< read; null: not written
    std::int64_t x_nb = 0, dt_nb = 0, b_nb = 0, c_nb = 0, z_nb = 0;  ///< bytes: token to token
    std::int32_t size = 0;       ///< numbers of the state for a value; 0: the launch scans nothing
    std::int32_t groups = 1;     ///< divides heads
    std::int32_t states = 1;     ///< states in memory
    std::int32_t sequences = 1;  ///< as many as a block has warps at most
};

/// Attention of the heads of a launch, whose members are queries, keys and values. Keys and values
/// are stored, and those of all positions are read, in the caches of members 1 and 2, which have
/// equally many heads of k elements without gaps. Neighboring queries share a head of keys. What a
/// query attends to is written instead of it, as f32 of member 0, as q8_1, or as both. It overlaps
/// nothing that the launch reads, which other blocks may still do. Keys and values are not written
/// as f32. No norm is one of tokens.
struct attention_args {
    const std::uint16_t* mask = nullptr;  ///< f16 [positions, tokens], unit element stride, added
                                          ///< to scores: of -inf a position does not count,
                                          ///< whatever its key and value are; null: each is 0
    const float* sinks = nullptr;  ///< [heads], a score of each head beside those of positions, of
                                   ///< a value that is zero; null: there is none
    std::int64_t mask_nb = 0;      ///< bytes of the mask: token to token
    std::int32_t positions = 0;    ///< rows of the caches that are read; 0: the launch attends to
                                   ///< nothing
    std::int32_t first_row = 0;    ///< the row of both caches that is position 0
    float scale = 1;               ///< factor of scores, before the mask
    void* q8_1 = nullptr;  ///< [k * heads, tokens], rows padded with zeros, receives what queries
                           ///< attend to; k is a multiple of 32; null: not written
};

/// Values with heads of the same tokens, and the turn of those that are turned.
struct head_group {
    const std::int32_t* positions = nullptr;  ///< [tokens], or [tokens, 4] if the turn has
                                              ///< sections; null if no member is turned
    const float* factors = nullptr;  ///< [turn.dims / 2], divisors of the angles of the pairs;
                                     ///< null: each is 1
    rotation turn;                   ///< the turn of all members that are turned
    std::int32_t members = 0;        ///< values in use, the first ones of `member`
    std::int32_t tokens = 0;         ///< tokens of each value, of all sequences
    std::int32_t rows = 0;           ///< heads of all tokens of all members; of one token of each
                                     ///< sequence if they are convolved; if a state makes them, one
                                     ///< for each values_of_warp values of these
    head_member member[max_head_members];
};

/// The arguments of the skeleton `row` for a computation with heads: each head has a warp of its
/// own. If they are convolved, a warp has a head of all tokens of a sequence; if they are recalled
/// or scanned, values_of_warp values of it. Attention has equally many blocks, or clusters, for
/// each head of keys.
struct heads_args : head_group {
    convolution_args convolved;  ///< what makes the heads, if they are not in memory
    delta_args recalled;         ///< the same, if a state is asked for them
    scan_args scanned;           ///< the same, if a state space makes them
    attention_args attended;     ///< what becomes of the heads, if they are on their way to
                                 ///< attention
};

/// The arguments of the skeleton `row` for a routing: each token has a block of its own. Its ids
/// and weights may lie over x for one token, but not in matvec_args::routing.
struct route_args {
    const float* x = nullptr;     ///< logits [experts, tokens], unit element stride
    const float* bias = nullptr;  ///< [experts], added to a score for the choice; null: each is 0
    std::int32_t* ids = nullptr;  ///< [experts, tokens], receives all experts of a token, the best
                                  ///< first
    float* weights = nullptr;     ///< [numbers.chosen, tokens], receives the weights of the chosen
    std::int64_t x_nb = 0, ids_nb = 0, weights_nb = 0;  ///< bytes from one token to the next
    routing_numbers numbers;                            ///< parameters of the routing
    std::int32_t experts = 0;                           ///< logits of a token
    std::int32_t tokens = 0;                            ///< tokens; 0: no routing
};

/// One matrix of a group, with the epilogue of its result. A dense member has one matrix. An expert
/// member has a tensor of `experts` matrices, of which each column takes one.
struct matvec_member {
    const void* weight = nullptr;  ///< [k, rows], expert [k, rows, experts], of `type`: 2-byte
                                   ///< aligned; 16-byte aligned if the policy copies by `async` or
                                   ///< `bulk`, as are row_bytes and expert_bytes
    float* dst = nullptr;          ///< the result: dense [rows, columns]; expert [rows, slots,
                                   ///< tokens]; null: it is only quantized
    const void* up = nullptr;  ///< a second matrix, laid out as weight: the result is f(weight * x)
                               ///< * (up * x); null: no GLU
    const float* factor = nullptr;     ///< multiplied with weight's product: one number, [experts],
                                       ///< or of a dense member of a matvec [columns]; null: 1
    const float* up_factor = nullptr;  ///< multiplied with up's product, as factor; null: 1; null
                                       ///< if factor is
    const float* bias = nullptr;       ///< [rows], picked by ids [rows, experts], or of a dense
                                  ///< member of a matvec [rows, columns], which may lie exactly
                                  ///< under dst; null: each is 0
    const float* up_bias = nullptr;   ///< bias of up, as bias; null: each is 0; null if bias is
    const float* residual = nullptr;  ///< added to the result, whose shape it has, with unit
                                      ///< element stride; null: nothing is added
    void* q8_1 = nullptr;  ///< matvec: the result in rows of `rows` elements, padded with zeros;
                           ///< null: not written
    const float* begun_weight = nullptr;  ///< [rows], weight of a norm of the result, which no
                                          ///< kernel writes (it is read before the grid wait): q8_1
                                          ///< receives that norm, begun; null: the result itself
    float* begun_squares = nullptr;  ///< [rows / 32, columns], the squares of a norm that is begun;
                                     ///< null if begun_weight is
    void* q8_1_mmq_d4 = nullptr;   ///< matmul: the result as [block of 128][column], four scales d
                                   ///< in front of a block; null: not written
    void* q8_1_mmq_ds4 = nullptr;  ///< matmul: the same layout, four pairs (d, sum) in front of a
                                   ///< block; null: not written
    void* bf16_mma = nullptr;      ///< matmul: the result as bf16, [block of 64][column]; null: not
                                   ///< written
    void* f16_mma = nullptr;       ///< matmul: the result as f16, [block of 64][column]; null: not
                                   ///< written
    std::int64_t weight_bytes = 0;  ///< from weight on, and from up on, to the end of the last
                                    ///< matrix's rows: nothing behind it is read
    std::int64_t row_bytes = 0;     ///< one weight row to the next
    std::int64_t expert_bytes = 0;  ///< one expert's matrix to the next
    std::int64_t dst_nb1 = 0;       ///< dense: column to column; expert: slot to slot; combined,
                                    ///< and dense beside experts: unused
    std::int64_t dst_nb2 = 0;       ///< expert, combined, and dense beside experts: token to token;
                                    ///< else unused
    std::int64_t bias_nb1 = 0;      ///< one expert or column to the next, in bias and up_bias; 0:
                                    ///< all have one
    std::int64_t residual_nb1 = 0;  ///< residual's stride of the dimension that dst_nb1 has in dst
    std::int64_t residual_nb2 = 0;  ///< residual's stride of the dimension that dst_nb2 has in dst
    const float* weight_scale = nullptr;  ///< scales of fp8 weights: [k / scale_values, rows /
                                          ///< scale_rows, experts], each rounded up; null: each
                                          ///< is 1
    const float* up_scale = nullptr;  ///< scales of up, laid out as weight_scale; null: each is 1
    std::int32_t factor_step = 0;     ///< elements of factor and up_factor from one expert or
                                      ///< column to the next: 1 if each has a factor, else 0
    float scale = 1;                  ///< multiplied with weight's product, before factor and bias
    float alpha = 0, limit = 0;     ///< parameters of gate_function::swiglu_oai, or the two numbers
                                    ///< of an engine's own function
    std::int32_t rows = 0;          ///< rows of the result, and of a matrix
    std::int32_t first_band = 0;    ///< bands (matvec) or tiles (matmul) of the preceding members
    std::int32_t experts = 0;       ///< matrices of the tensor, 0: dense; an id outside 0 ..
                                    ///< experts - 1 makes its column of dst NaN
    std::int32_t scale_rows = 1;    ///< fp8: rows that share a scale
    std::int32_t scale_values = 1;  ///< fp8: values of a row that share a scale: k, or a multiple
                                    ///< of 8 (matvec) or of 128 (matmul)
    std::int32_t scale_stride = 0;  ///< fp8: scales from one group of rows to the next
    std::int32_t scales = 0;        ///< fp8: scales from one expert to the next
    format type = format::unknown;  ///< format of weight and up
    gate_function function = gate_function::none;  ///< f of the GLU, or without up of the result;
                                                   ///< none: f is the value itself
    own_call own;  ///< an engine's own op, applied before the residual is added
};

/// The index of a value's scale in weight_scale and up_scale.
CATENA_FN constexpr std::int64_t scale_index(const matvec_member& m, int expert, int row,
                                             int value) {
    const auto down = static_cast<unsigned>(row) / static_cast<unsigned>(m.scale_rows);
    const auto along = static_cast<unsigned>(value) / static_cast<unsigned>(m.scale_values);
    return std::int64_t{expert} * m.scales + static_cast<int>(down) * m.scale_stride +
           static_cast<int>(along);
}

/// What an activation is gated with in the launch that reads it.
struct activation_gate {
    const float* data = nullptr;  ///< [k, heads], unit element stride; null: nothing is gated
    std::int64_t nb1 = 0;         ///< bytes: head to head
    std::int32_t k = 0;  ///< elements of a head, a multiple of 4; with a norm 32, 64 or 128
    gate_function function = gate_function::none;
    float alpha = 0, limit = 0;  ///< parameters of swiglu_oai, or of an own function
};

/// The arguments of the skeleton `matvec`: dst = weight^T x for each member, for few columns. The
/// results pass the epilogue: times scale and factor, plus bias, the GLU or f, the engine's own op,
/// plus residual (which may lie exactly under dst). They are written as f32, as q8_1, or as both.
///
/// Dense members (experts = 0) multiply columns 0 .. columns - 1, which are the activation rows of
/// these numbers: policy.columns of them at most.
///
/// For expert members each (slot, token) is a column of its own. Its matrix is ids[slot, token],
/// and its activation row is token * x_slots + (x_slots == 1 ? 0 : slot). Its row of q8_1 has the
/// number token * slots + slot. Without ids token i has matrix i % experts, and x_slots equals
/// slots. Behind the members that ids pick, dense members may stand if x_slots is 1 and nothing is
/// combined: a shared expert, which has a column for each token, of the same activation row.
///
/// A norm can be begun by the launch that makes the rows y which it reads, and ended by the launch
/// that multiplies it. What is begun is y * weight as q8_1, and the sum of the squares of each 32
/// elements of y. The launch that ends it is dense, and its warps share rows (policy.slices). So is
/// the one that begins it, or it is combined.
///
/// A block that quantizes an activation of one column itself (norm_placement::deferred, without
/// heads) may gate it, head by head: the activation is f(gate) * x, or f(gate) * rms_norm(x) *
/// norm_weight with a norm for each head.
///
/// Combined launches (policy.columns is 1, all members have ids) have a column for each token. The
/// results of its slots, past f, are multiplied with their weights and added up in the order of the
/// slots. Then dst and residual are [rows, tokens].
struct matvec_args {
    const void* x = nullptr;  ///< activation rows, 16-byte aligned as x_bytes is: q8_1 rows of at
                              ///< least q8_1_row_bytes(k), or f32 rows of k for float weights and
                              ///< where blocks make the activation (policy.placement)
    const float* norm_weight = nullptr;  ///< [k], with a gate [gate.k]: the launch multiplies
                                         ///< rms_norm(x) * norm_weight; null: x itself, but in a
                                         ///< launch of float weights that makes a norm
    float* norm_f32 = nullptr;  ///< [k, columns] without gaps, 16-byte aligned, receives that norm
                                ///< where float weights are multiplied: an additional block for
                                ///< each column writes it; null: not written
    void* norm_q8_1 = nullptr;  ///< [k, columns], receives that norm as q8_1, rows padded with
                                ///< zeros, as norm_f32; null: not written
    const float* begun_squares = nullptr;  ///< [k / 32, columns]: x is a norm that another launch
                                           ///< has begun, with these squares; null: it is none
    float eps = 0;                         ///< eps of the norm
    const std::int32_t* ids = nullptr;  ///< [slots, tokens], unit element stride; null: dense, or
                                        ///< matrices in turns
    std::int64_t x_bytes = 0;           ///< one activation row to the next
    std::int64_t ids_nb1 = 0;           ///< bytes of ids: token to token
    std::int32_t k = 0;                 ///< elements of an activation row and of a weight row
    std::int32_t columns = 0;  ///< dense: columns; expert: slots * tokens; combined: tokens
    std::int32_t slots = 1;    ///< expert: matrices that a token uses; combined: at most as many
                               ///< as the policy adds up
    std::int32_t x_slots = 1;  ///< expert: activation rows of a token, 1 or slots
    bool combined = false;     ///< expert: the results of a token's slots are added up
    const float* slot_weights = nullptr;  ///< combined: [slots, tokens] without gaps; null: each
                                          ///< is 1
    std::int32_t band_rows = 0;  ///< weight rows of a band, the work of a block or of a cluster of
                                 ///< 2, 4 or 8; an even number if there is a GLU; what is quantized
                                 ///< has a multiple of 32 results in each band
    std::int32_t finished = 0;   ///< results of each column or slot for which a block has room in
                                 ///< shared memory, where they meet: those of the longest band
    std::int32_t members = 0;    ///< matrices in use, the first ones of `member`
    std::int32_t bands = 0;      ///< bands of all members; expert: bands that one column has, in
                                 ///< the members that ids pick
    std::int32_t dense_bands = 0;  ///< expert: bands that a token has in dense members
    bool weights_early = false;    ///< no weight ever changes: weights may be read before the grid
                                   ///< wait
    route_args routing;  ///< the routing of all tokens, if the policy routes: for each of them a
                         ///< block, the first ones, writes experts (to `ids`) and weights for
                         ///< later readers, the others find their own; tokens = 0: no routing
    matvec_member member[max_members];
    head_group heads;  ///< the heads of one token that the results are, if the policy turns: value
                       ///< i is the result of matrix i, and without norm; members = 0: no heads
    activation_gate gate;  ///< what blocks gate their one column with
};

/// The arguments of the skeleton `matmul`: dst = weight^T x for each member, as matvec_args, for
/// any number of columns. A block computes a tile: rows of one member times policy.columns columns.
/// For experts it computes rows of one matrix for all columns whose id picks the matrix, one tile
/// of columns after the other. The epilogue is that of a matvec, but quantizes to other layouts.
///
/// The layout of x is that of the instance's activation format: one of matmul_layouts(), [block]
/// [row], padded with zeros; or f32 rows of k, a multiple of 32; or fp8_group, [row][k] e4m3 with k
/// a multiple of 128, followed by the scales, [row][k / 128] f32. Dense: column i is row i.
struct matmul_args {
    const void* x = nullptr;            ///< activation rows, 16-byte aligned as x_bytes is
    const std::int32_t* ids = nullptr;  ///< [slots, tokens], unit element stride; null: dense, or
                                        ///< matrices in turns
    std::int64_t x_bytes = 0;           ///< one activation row to the next, for f32 and fp8
    std::int64_t ids_nb1 = 0;           ///< bytes of ids: token to token
    std::int32_t k = 0;                 ///< elements of an activation row and of a weight row
    std::int32_t x_rows = 0;   ///< activation rows: dense: columns; expert: tokens * x_slots
    std::int32_t columns = 0;  ///< dense: columns; expert: slots * tokens
    std::int32_t slots = 1;    ///< expert: matrices that a token uses
    std::int32_t x_slots = 1;  ///< expert: activation rows of a token, 1 or slots
    std::int32_t experts = 0;  ///< expert: matrices of the member that has most, without ids at
                               ///< least one for each token; 0: dense
    std::int32_t members = 0;  ///< matrices in use, the first ones of `member`
    std::int32_t tiles = 0;    ///< row tiles of all members
    matvec_member member[max_members];
};

/// Where a member has the operand of a part in memory: `of_up` for the second matrix of a GLU,
/// `nb1` and `nb2` the strides of a vector of each expert, or of a result; null: there is none.
/// Every list of these operands reads this one.
using member_address_field = const float* matvec_member::*;
using member_stride_field = std::int64_t matvec_member::*;
struct part_operand_field {
    epilogue_part part;
    member_address_field data, of_up;
    member_stride_field nb1, nb2;
};
inline constexpr part_operand_field part_operand_fields[] = {
    {epilogue_part::factor, &matvec_member::factor, &matvec_member::up_factor, nullptr, nullptr},
    {epilogue_part::bias, &matvec_member::bias, &matvec_member::up_bias, &matvec_member::bias_nb1,
     nullptr},
    {epilogue_part::residual, &matvec_member::residual, nullptr, &matvec_member::residual_nb1,
     &matvec_member::residual_nb2}};

/// The numbers of a member's epilogue.
constexpr epilogue_numbers numbers_of(const matvec_member& m) {
    epilogue_numbers out;
    out.scale = m.scale;
    return out;
}
/// Gives a member these numbers and the functions of its epilogue.
constexpr void set_params(matvec_member& m, const epilogue_params& p) {
    m.scale = p.scale;
    m.alpha = p.alpha;
    m.limit = p.limit;
    m.function = p.function;
    m.own = p.own;
}

/// Has the launch expert members? They stand in front of dense ones.
CATENA_FN constexpr bool has_experts(const matvec_args& a) { return a.member[0].experts > 0; }
CATENA_FN constexpr bool has_experts(const matmul_args& a) { return a.experts > 0; }

/// Rows of the result in one band of the member: a GLU reads two weight rows for each of them.
CATENA_FN constexpr std::int32_t band_results(const matvec_args& a, const matvec_member& m) {
    return a.band_rows >> (m.up != nullptr ? 1 : 0);
}

}  // namespace CATENA_NAMESPACE
