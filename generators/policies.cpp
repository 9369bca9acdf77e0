#include "policies.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/match/pattern.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace catena::generator {

namespace {

/// The shapes of a matvec, few, for each is there for every set of formats. One column: 128
/// threads, since at the 1024 .. 4096 rows of a decode step 132 SMs get 8 .. 31 rows each, which
/// larger blocks would deal out unevenly; one row a warp for few rows, two for pairs and to reuse
/// the activation: 4 warps * 4 stages * 2 rows * 0.6 KB = 18 KB of q4_K in flight per block, and
/// two or more blocks fit an SM (24 KB cover the latency of an H100).
constexpr matvec_policy one_row = {
    .threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 2048};
constexpr matvec_policy two_rows = {
    .threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024};

/// By the cost model, two rows take 2 % longer in the median of the steps of one column for which
/// one row would be taken, and 9 % of the smallest: so one row is there for what most files hold,
/// and so are clusters, 1 KB of a kernel.
constexpr format common[] = {format::q8_0, format::q4_K, format::q6_K, format::mxfp4};

/// The norm inside: every block reads all of x and of the norm's weight, so blocks are few and
/// large. 512 threads have 4096 values on their way at once; where their stages exceed shared
/// memory, half as many threads. Two rows a warp, for pairs. Deferred: one pass, and no wait
/// between two.
constexpr matvec_policy norm_first = {
    .threads = 512, .rows = 2, .columns = 1, .piece = 1024, .placement = norm_placement::deferred};

/// A warp has four short rows, so that a band is one turn of its warps, and a column is read once
/// for four. K = 2048 is one piece.
constexpr matvec_policy norm_of_short_rows = {.threads = 512,
                                              .rows = 4,
                                              .columns = 1,
                                              .piece = 2048,
                                              .stages = 2,
                                              .copy = copy_method::bulk,
                                              .activation = activation_source::shared,
                                              .placement = norm_placement::deferred};

/// A norm inside a matvec of float weights: each warp makes it in passing, one row a warp, all of a
/// router's row of 2048 on its way at once. 256 threads, for the block that writes the norm. Long
/// pieces, since all of a piece can be in flight (steps_in_flight).
constexpr matvec_policy norm_in_passing = {.threads = 256,
                                           .rows = 1,
                                           .columns = 1,
                                           .piece = 2048,
                                           .stages = 2,
                                           .product = inner_product::fma,
                                           .placement = norm_placement::passing};

/// Such a norm of several columns, which each block has in shared memory, times the norm's weight.
constexpr matvec_policy norm_of_columns = {.threads = 256,
                                           .rows = 1,
                                           .columns = 4,
                                           .piece = 1024,
                                           .stages = 2,
                                           .activation = activation_source::shared,
                                           .product = inner_product::fma,
                                           .placement = norm_placement::deferred};

/// Rows of such a norm that any arch should hold.
constexpr std::int64_t most_normed = 8192;

/// A kernel is 27 to 46 KB, half as much again as without the norm: so there is one for what reads
/// norms in the files that most people run. Routers are f32.
constexpr format_set norms_inside[] = {format_set::of(format::q4_K), format_set::of(format::q8_0),
                                       format_set::of(format::q4_K) | format::q6_K,
                                       format_set::of(format::f32)};

/// More columns: an mma has 16 rows, and eight columns at the price of two or three by dp4a. Two
/// warps to a block keep its band at 32 rows, with 29 KB of q4_K in flight in three stages.
constexpr matvec_policy fragments = {.threads = 64,
                                     .min_blocks = 6,
                                     .rows = 16,
                                     .columns = 8,
                                     .piece = 512,
                                     .product = inner_product::mma};

/// Where weights arrive by bulk copies, eight warps share 16 rows, so that an SM has 8 or 16 warps
/// for the 32 rows that it gets of 4096. Two stages are 39 to 78 KB. A piece is half as long where
/// eight of the longest columns would not fit beside them, and four warps share rows where eight
/// usual ones would not.
constexpr matvec_policy shared_fragments = {.threads = 256,
                                            .min_blocks = 2,
                                            .rows = 16,
                                            .columns = 8,
                                            .piece = 512,
                                            .stages = 2,
                                            .slices = 8,
                                            .copy = copy_method::bulk,
                                            .activation = activation_source::shared,
                                            .product = inner_product::mma};
constexpr std::int64_t longest_column = 14336, usual_column = 4096;  // values

/// Any alignment, any row length (the activation stays in global memory), every column count.
constexpr matvec_policy plain_matvec = {.threads = 64,
                                        .min_blocks = 6,
                                        .rows = 16,
                                        .columns = 8,
                                        .piece = 512,
                                        .stages = 2,
                                        .product = inner_product::mma};

/// Float weights, with f32 activations: a router's few rows, whose piece is 2 KB, so
/// that all of a row of 2048 is on its way at once; others have 1 KB. 16 to 64 KB to a block.
constexpr matvec_policy float_router = {
    .threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .product = inner_product::fma};
constexpr matvec_policy float_rows = {
    .threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .product = inner_product::fma};
/// Several columns of a router: a row for each warp, so that its few rows are on many SMs.
constexpr matvec_policy router_columns = {.threads = 64,
                                          .min_blocks = 2,
                                          .rows = 1,
                                          .columns = 4,
                                          .piece = 2048,
                                          .activation = activation_source::shared,
                                          .product = inner_product::fma};
/// Several columns that fit into shared memory.
constexpr matvec_policy float_columns = {.threads = 256,
                                         .min_blocks = 1,
                                         .rows = 4,
                                         .columns = 8,
                                         .activation = activation_source::shared,
                                         .product = inner_product::fma};
/// Several columns that do not: a warp reads them once for four rows.
constexpr matvec_policy long_float_columns = {
    .threads = 128, .min_blocks = 3, .rows = 4, .columns = 8, .product = inner_product::fma};
/// Any alignment.
constexpr matvec_policy plain_floats = {
    .threads = 64, .min_blocks = 4, .rows = 2, .columns = 8, .product = inner_product::fma};

/// Experts of one token, or whose slots are added up: eight short rows of a warp share what a
/// result takes. Where blocks run in several waves, an H100 was faster with two. Columns stay in
/// global memory, since copies of them would wait for the ring, which is filled when the ids are
/// there.
constexpr matvec_policy short_rows = {.threads = 128,
                                      .min_blocks = 4,
                                      .rows = 8,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 2,
                                      .copy = copy_method::bulk,
                                      .single_wave = true};
/// Half of a warp has one row of 512 values, and half another.
constexpr matvec_policy half_rows = [] {
    matvec_policy p = short_rows;
    p.rows = 16, p.piece = 512;
    return p;
}();
constexpr format of_short_rows[] = {format::q4_K, format::q6_K};
constexpr int usual_slots = 8;

/// How an arch brings weights to shared memory, and the arch that its numbers were thought out on.
struct arch_choice {
    const char* name;
    copy_method copy;
    int stages;
    const char* inherits = "";  ///< "": predicted for this arch
};

// clang-format off
constexpr arch_choice choices[] = {
    {.name = "host",   .copy = copy_method::bulk,  .stages = 4, .inherits = "sm_90"},
    {.name = "sm_75",  .copy = copy_method::plain, .stages = 2},
    {.name = "sm_80",  .copy = copy_method::async, .stages = 4},
    {.name = "sm_86",  .copy = copy_method::async, .stages = 4, .inherits = "sm_80"},
    {.name = "sm_89",  .copy = copy_method::async, .stages = 4, .inherits = "sm_80"},
    {.name = "sm_90",  .copy = copy_method::bulk,  .stages = 4},
    {.name = "sm_100", .copy = copy_method::bulk,  .stages = 4, .inherits = "sm_90"},
    {.name = "sm_120", .copy = copy_method::bulk,  .stages = 4, .inherits = "sm_90"},
};
// clang-format on

const arch_choice& choice_of(const arch& target) {
    for (const arch_choice& c : choices)
        if (std::string(c.name) == target.name) return c;
    throw std::runtime_error("policies: " + std::string(target.name) +
                             " has no line in `choices` (generators/policies.cpp): add one");
}

/// Results of a column or slot that meet in a block's shared memory, where a launch has usual
/// bands.
std::int64_t usual_results(const product_computation& c) {
    const bool meet =
        c.epilogue.has(epilogue_part::quantize) || c.epilogue.has(epilogue_part::combine);
    return meet ? 128 : 0;
}

/// Do as many blocks as the policy promises fit an SM with columns of `k` values?
bool fits_sm(const arch& target, const product_computation& computes, const matvec_policy& p,
             std::int64_t k) {
    const std::int64_t block = shared_bytes(computes, p, k, p.columns, usual_results(computes));
    return block <= target.shared_per_block &&
           p.min_blocks * shared_allocated(block, target) <= target.shared_per_sm;
}

/// Where two stages leave no room for all blocks, one for a single token, of whose rows a warp has
/// one group, and two for sums of several tokens, with a block less if these fit.
std::vector<policy> short_rows_of(const arch& target, const product_computation& computes,
                                  const matvec_policy& shape) {
    const auto fits = [&](const matvec_policy& p) {
        const auto block = shared_bytes(computes, p, p.piece, usual_slots, usual_results(computes));
        return p.min_blocks * shared_allocated(block, target) <= target.shared_per_sm;
    };
    if (fits(shape)) return {shape};
    matvec_policy one = shape, fewer = shape;
    one.stages = 1, --fewer.min_blocks;
    return fits(fewer) ? std::vector<policy>{one, fewer} : std::vector<policy>{one};
}

/// Longer pieces of a row, and fewer of them: what a stage costs beside its products counts once
/// for more values. Only where a block's bulk copies bring a whole row at once, and where they fit.
struct longer_ring {
    int piece, stages;
};
constexpr longer_ring longer_rings[] = {
    {.piece = 4096, .stages = 3}, {.piece = 4096, .stages = 2}, {.piece = 2048, .stages = 3}};

matvec_policy with_longer_pieces(const arch& target, const product_computation& computes,
                                 matvec_policy shape, std::int64_t k) {
    for (const longer_ring& ring : longer_rings) {
        if (shape.copy != copy_method::bulk || ring.piece <= shape.piece) break;
        matvec_policy p = shape;
        p.piece = ring.piece, p.stages = ring.stages;
        if (fits_sm(target, computes, p, k)) return p;
    }
    return shape;
}

matvec_policy streamed(const arch_choice& choice, matvec_policy shape) {
    // A stage of fragments is four times as large as one of two rows: one less will do.
    const bool fewer = shape.product == inner_product::mma && choice.stages > 2;
    shape.stages = fewer ? choice.stages - 1 : choice.stages;
    shape.copy = choice.copy;
    shape.activation = activation_source::shared;
    return shape;
}

/// An activation that is permuted for the weights, as for mxfp4 (kernel/dot.hpp), is permuted once
/// for all rows of a warp: more of them, and shorter pieces, in the same memory.
matvec_policy for_permuted(const product_computation& computes, matvec_policy shape) {
    if (computes.weights == format_set::of(format::mxfp4) && shape.piece == 4096)
        shape.piece /= 2, shape.rows *= 2;
    return shape;
}

/// For more columns than one.
matvec_policy fragments_of(const arch& target, const arch_choice& choice,
                           const product_computation& computes) {
    matvec_policy p = shared_fragments;
    if (choice.copy != p.copy) return streamed(choice, fragments);
    const auto holds = [&](std::int64_t k) {
        return shared_bytes(computes, p, k, p.columns) <= target.shared_per_block;
    };
    if (!holds(longest_column)) p.piece /= 2;
    if (!holds(usual_column)) p.slices /= 2, p.threads /= 2, p.min_blocks *= 2;
    return p;
}

std::vector<policy> float_policies(const arch& target, const arch_choice& choice,
                                   const product_computation& computes) {
    const bool f32 = computes.weights.has(format::f32),
               fp8 = computes.weights.has(format::fp8_e4m3);
    std::vector<policy> all;
    const auto made = [&](matvec_policy p, copy_method copy, int stages) {
        p.piece = (f32 ? 256 : fp8 ? 1024 : 512) * (p.rows == 1 ? 2 : 1);
        p.copy = copy;
        p.stages = std::max(2, stages);
        return p;
    };
    const auto bytes_of = [&](const matvec_policy& p, std::int64_t columns) {
        return shared_bytes(computes, p, usual_column, columns);
    };
    if (!fp8) all.push_back(made(float_router, choice.copy, choice.stages));
    matvec_policy rows = made(float_rows, choice.copy, choice.stages);
    rows.activation = activation_source::shared;
    const std::int64_t taken = shared_allocated(bytes_of(rows, 1), target);
    if (rows.min_blocks * taken > target.shared_per_sm) rows.activation = activation_source::global;
    all.push_back(rows);
    if (f32) {
        matvec_policy router = router_columns;
        router.copy = choice.copy, router.stages = std::max(2, choice.stages - 1);
        if (fits_sm(target, computes, router, router.piece)) all.push_back(router);
    }
    // Stages of four rows are twice as large.
    matvec_policy columns = made(float_columns, choice.copy, choice.stages - 2);
    const auto holds_half = [&] {
        return bytes_of(columns, columns.columns / 2) <= target.shared_per_block;
    };
    if (!holds_half()) columns.threads /= 2;
    if (holds_half()) all.push_back(columns);
    matvec_policy longer = long_float_columns;
    if (f32) longer.rows = 2;  // most are routers
    all.push_back(made(longer, choice.copy, f32 ? choice.stages : choice.stages - 1));
    all.push_back(made(plain_floats, copy_method::plain, 2));
    return all;
}

std::vector<policy> matvec_policies(const arch& target, const arch_choice& choice,
                                    const product_computation& computes) {
    if (routes(computes.stages)) {
        // Eight rows share what a short row's result takes. Columns must not wait for a late ring.
        matvec_policy p = streamed(choice, two_rows);
        if (computes.weights == format_set::of(format::mxfp4)) {
            p = for_permuted(computes, with_longer_pieces(target, computes, p, usual_column));
            matvec_policy eight = p;
            eight.rows = 8, --eight.min_blocks;
            if (p.rows == 4 && fits_sm(target, computes, eight, usual_column)) p = eight;
        } else {
            p.rows = 8, p.stages = 2, p.activation = activation_source::global;
        }
        p.routes = true;
        return {p};
    }
    if (has_norm(computes.stages) && computes.activation == format::f32) {
        matvec_policy p = norm_in_passing;
        p.copy = choice.copy;
        while (p.piece > step_floats && !fits_sm(target, computes, p, most_normed)) p.piece /= 2;
        matvec_policy columns = norm_of_columns;
        columns.copy = choice.copy;
        const auto holds = [&] {
            return shared_bytes(computes, columns, usual_column, columns.columns) <=
                   target.shared_per_block;
        };
        while (columns.piece > step_floats && !holds()) columns.piece /= 2;
        std::vector<policy> all = {p};
        if (holds()) all.push_back(columns);
        return all;
    }
    if (has_norm(computes.stages)) {
        matvec_policy p =
            with_longer_pieces(target, computes, streamed(choice, norm_first), most_normed);
        const auto shared = [&] {
            return shared_bytes(computes, p, most_normed, 1, usual_results(computes));
        };
        while (shared() > target.shared_per_block) p.threads /= 2;
        p.turns = has_heads(computes.epilogue);
        std::vector<policy> all = {p};
        if (p.turns) return all;
        p = norm_of_short_rows;
        if (choice.copy == p.copy && shared() <= target.shared_per_block) all.push_back(p);
        return all;
    }
    if (computes.activation == format::f32) return float_policies(target, choice, computes);
    std::vector<policy> all;
    const auto longer = [&](const matvec_policy& shape) {
        return with_longer_pieces(target, computes, streamed(choice, shape), usual_column);
    };
    matvec_policy pairs = for_permuted(computes, longer(two_rows));
    for (const format f : common) {
        if (computes.weights != format_set::of(f)) continue;
        all.push_back(longer(one_row));
        if (target.cluster_blocks > 1) pairs.cluster = target.cluster_blocks;
    }
    all.push_back(pairs);
    for (const format f : of_short_rows)
        if (computes.weights == format_set::of(f) && choice.copy == short_rows.copy) {
            for (const policy& p : short_rows_of(target, computes, short_rows)) all.push_back(p);
            all.push_back(short_rows_of(target, computes, half_rows).back());
        }
    all.push_back(fragments_of(target, choice, computes));
    all.push_back(plain_matvec);
    return all;
}

std::vector<policy> policies_of(const arch& target, const arch_choice& choice,
                                const computation& computes) {
    switch (computes.kind()) {
        case skeleton::row:
            return row_policies(target, computes.row());
        case skeleton::matvec:
            return matvec_policies(target, choice, computes.product());
        case skeleton::matmul:
            break;
    }
    return matmul_policies(target, choice.copy, computes.product());
}

/// The rule with its numbers.
std::string sentence(const catena::objection& no) {
    std::string out = no.rule;
    for (const std::int64_t n : no.number)
        if (const std::size_t at = out.find("{}"); at != out.npos)
            out.replace(at, 2, std::to_string(n));
    return out;
}

}  // namespace

bool norm_inside(format_set weights) {
    return std::find(std::begin(norms_inside), std::end(norms_inside), weights) !=
           std::end(norms_inside);
}

bool is_plain(const policy& p) { return p == policy(plain_matvec); }

std::string objection(const arch& target, const row& r) {
    const policy& p = r.policy;
    if (const rejection no = detail::fits_arch(r, target); no.why != limit::none)
        return catena::sentence(no);
    if (registers_left(p.threads(), p.min_blocks(), target) < 32)
        return "its launch bounds leave fewer than 32 registers a thread";
    if (const catena::objection no = objection_to(r.computes, p)) return sentence(no);
    if (cluster_of(p) > target.cluster_blocks)
        return "the blocks of a cluster are at most " + std::to_string(target.cluster_blocks) +
               " here";
    if (p.kind() == skeleton::row) return "";
    const int columns = columns_of(p);
    if (p.kind() == skeleton::matmul && by_warpgroups(p.matmul())) {  // what exec/wgmma.cuh spells
        const bool fp8 = fp8_by_warpgroups(p.matmul(), r.computes.product().weights);
        if (columns != 128 && !(fp8 && columns == 64))
            return "a warpgroup multiplies 128 columns, or 64 of fp8";
    }
    const std::int64_t shared =
        shared_bytes(r.computes, p, 256, columns, usual_results(r.computes.product()));
    if (shared > target.shared_per_block)
        return catena::sentence(
            {.why = limit::shared_memory, .have = shared, .need = target.shared_per_block});
    return "";
}

std::vector<row> rows_for(const arch& target, const computation& computes, policy_change change) {
    const arch_choice& choice = choice_of(target);
    const std::vector<policy> listed = policies_of(target, choice, computes);
    policy_list kept(listed.begin(), listed.end());
    if (change != nullptr) change(target, computes, kept);
    const auto has = [](const auto& all, const policy& p) {
        return std::find(all.begin(), all.end(), p) != all.end();
    };
    std::vector<row> rows;
    for (const policy& p : kept) {
        row r = {.computes = computes, .policy = p, .order = order_of(p), .evidence = {}};
        if (*choice.inherits != '\0' && has(listed, p))
            r.evidence = {.kind = provenance_kind::inherited, .arch = choice.inherits};
        std::string why = objection(target, r);
        if (why.empty() && std::count(kept.begin(), kept.end(), p) > 1)
            why = "stands there twice: leave one out";
        if (!why.empty())
            throw std::runtime_error("policies: " + row_name(r, target.name) + ": " + why);
        rows.push_back(r);
    }
    if (rows.empty() && !listed.empty())
        throw std::runtime_error("policies: none is left for " + launch_part(computes) + "." +
                                 formats_part(computes) + " on " + target.name +
                                 ": leave at least one");
    return rows;
}

std::vector<preferred_row> preferences_for(const arch& target, const std::vector<row>& rows,
                                           policy_change change) {
    if (change == nullptr || rows.empty()) return {};
    policy_list all;
    for (const row& r : rows) all.push_back(r.policy);
    change(target, rows.front().computes, all);
    std::vector<preferred_row> out;
    for (const auto& [of, how] : all.preferred)
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i].policy == how) out.push_back({of, static_cast<std::int32_t>(i)});
    return out;
}

}  // namespace catena::generator
