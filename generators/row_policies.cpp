#include "policies.hpp"

#include "catena/kernel/attention_layout.hpp"

#include <iterator>

namespace catena::generator {

namespace {

/// Norms of rows of up to values * their threads elements. The last two read x more than once: any
/// k, and any alignment.
constexpr row_policy norm_policies[] = {
    {.threads = 256, .values = 8, .vector = true},    // k <= 2048
    {.threads = 512, .values = 8, .vector = true},    // k <= 4096
    {.threads = 1024, .values = 8, .vector = true},   // k <= 8192
    {.threads = 1024, .values = 16, .vector = true},  // k <= 16384
    {.threads = 1024, .vector = true},
    {.threads = 256},
};

/// Norms that few models have: by the cost model a row of up to 2048 takes 3 % longer with the
/// second. Of heads, which have a warp each, matrices read those that are gated, and attention the
/// l2_norm.
constexpr row_policy rarer_norm_policies[] = {
    {.threads = 128, .values = 8, .rows = 4, .vector = true},  // k <= 256, not of a layer_norm
    {.threads = 512, .values = 8, .vector = true},
    {.threads = 1024, .values = 8, .vector = true},
    {.threads = 1024, .vector = true},
    {.threads = 256},
};

/// A norm, its sum with a residual, and the norm of that: whole rows of models whose norms stand
/// behind their matrices, 1152 to 6144 long. By the cost model 512 threads would take 0.2 us less
/// of rows up to 4096, for 20 KB more.
constexpr row_policy joining_policies[] = {
    {.threads = 768, .values = 8, .vector = true},  // k <= 6144
    {.threads = 256},
};

/// Heads, a warp each. The last takes any alignment.
constexpr row_policy head_policies[] = {
    {.threads = 128, .values = 4, .rows = 4, .vector = true},  // k <= 128
    {.threads = 128, .values = 8, .rows = 4, .vector = true},  // k <= 256
    {.threads = 128, .values = 16, .rows = 4},                 // k <= 512
};

/// Heads that are convolved: a lane keeps the taps and the last values of its channels, too. A
/// block has a head of all sequences, a warp for each.
constexpr row_policy convolving_policies[] = {
    {.threads = 128, .values = 4, .rows = 4, .vector = true},  // k <= 128, 4 sequences
    {.threads = 256, .values = 4, .rows = 8, .vector = true},  // k <= 128, 8 sequences
    {.threads = 256, .values = 8, .rows = 8},                  // k <= 256, 8 sequences
};

/// Heads that are recalled: a lane keeps four values of each of eight rows of the state. A block
/// has a part of a head of each sequence.
constexpr row_policy recalling_policies[] = {
    {.threads = 128, .values = 4, .rows = 4, .vector = true},  // k <= 128, 4 sequences
    {.threads = 256, .values = 4, .rows = 8},                  // k <= 128, 8 sequences
};

/// Heads that are scanned: a lane keeps numbers of each of eight rows of the state. A block has a
/// part of a head of each sequence.
constexpr row_policy scanning_policies[] = {
    {.threads = 128, .values = 4, .rows = 4, .vector = true},  // 128 numbers, 4 sequences
    {.threads = 128, .values = 8, .rows = 4, .vector = true},  // 256 numbers, 4 sequences
    {.threads = 256, .values = 8, .rows = 8},                  // 256 numbers, 8 sequences
};

/// Attention: sixteen warps with 128 registers fill an SM, and have 128 positions at once. Half as
/// many, or a quarter, where their sums fill shared memory.
constexpr row_policy attending_policies[] = {
    {.threads = 512, .values = 4, .rows = 16, .vector = true},  // k <= 128
    {.threads = 512, .values = 8, .rows = 16, .vector = true},  // k <= 256
};

/// Routing, a block for each token.
constexpr row_policy route_policies[] = {
    {.threads = 32, .values = 4},   // experts <= 128
    {.threads = 128, .values = 4},  // experts <= 512
    {.threads = 256, .values = 4},  // experts <= 1024
};

/// Norms in formats with their scales apart: the kernels are long, so there are few of them.
constexpr row_policy apart_policies[] = {
    {.threads = 256, .values = 8, .vector = true},   // k <= 2048
    {.threads = 1024, .values = 8, .vector = true},  // k <= 8192
    {.threads = 1024, .vector = true},
    {.threads = 256},
};

/// Gated and plain rows: nothing is summed over a row, so the fourth takes any k and still reads x
/// once. Rows of heads have a warp each: on an H100 a block for each row took twice as long.
constexpr row_policy elementwise_policies[] = {
    {.threads = 128, .values = 8, .rows = 4, .vector = true},  // k <= 256
    {.threads = 256, .values = 4, .vector = true},             // k <= 1024
    {.threads = 512, .values = 8, .vector = true},             // k <= 4096
    {.threads = 1024, .vector = true},
    {.threads = 256},
};

}  // namespace

std::vector<policy> row_policies(const arch& target, const row_computation& computes) {
    if (attends(computes.stages)) {
        std::vector<policy> all(std::begin(attending_policies), std::end(attending_policies));
        for (policy& p : all) {
            row_policy& n = p.row();
            const int made = queries_abreast * head_values(n) * 4;  // bytes, by a warp
            while (4 * n.rows * made > 3 * target.shared_per_block) n.rows /= 2;
            n.threads = n.rows * warp_size;
            if (target.cluster_blocks > 1) n.cluster = target.cluster_blocks;
        }
        return all;
    }
    if (convolves(computes.stages))
        return {std::begin(convolving_policies), std::end(convolving_policies)};
    if (recalls(computes.stages))
        return {std::begin(recalling_policies), std::end(recalling_policies)};
    if (scans(computes.stages)) return {std::begin(scanning_policies), std::end(scanning_policies)};
    if (has_heads(computes.stages)) return {std::begin(head_policies), std::end(head_policies)};
    if (routes(computes.stages)) return {std::begin(route_policies), std::end(route_policies)};
    const bool scales_apart = computes.emits.has(format::int8_token);
    if (!has_norm(computes.stages))  // formats with their scales apart are of whole tokens
        return {std::begin(elementwise_policies) + (scales_apart ? 1 : 0),
                std::end(elementwise_policies)};
    if (scales_apart) return {std::begin(apart_policies), std::end(apart_policies)};
    if (computes.stages.has(stage_kind::join_residual))
        return {std::begin(joining_policies), std::end(joining_policies)};
    if (computes.stages.has(stage_kind::layer_norm))
        return {std::begin(rarer_norm_policies) + 1, std::end(rarer_norm_policies)};
    if (!computes.stages.has(stage_kind::rms_norm) || computes.stages.has(stage_kind::gate))
        return {std::begin(rarer_norm_policies), std::end(rarer_norm_policies)};
    return {std::begin(norm_policies), std::end(norm_policies)};
}

}  // namespace catena::generator
