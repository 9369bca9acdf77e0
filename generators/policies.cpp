#include "policies.hpp"

#include "matvec_shapes.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/match/pattern.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace catena::generator {

namespace {

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
        const auto holds = [&](const matvec_policy& one, std::int64_t k) {
            return shared_bytes(computes, one, k, 1, usual_results(computes)) <=
                   target.shared_per_block;
        };
        while (!holds(p, most_normed)) p.threads /= 2;
        p.turns = has_heads(computes.epilogue);
        if (p.turns || choice.copy != norm_of_short_rows.copy) return {p};
        std::vector<policy> all = {p};
        if (holds(norm_of_short_rows, most_normed)) all.push_back(norm_of_short_rows);
        const bool hold = std::any_of(all.begin(), all.end(), [&](const policy& one) {
            return holds(one.matvec(), most_quantized);
        });
        if (!hold && holds(norm_of_long_rows, most_quantized)) all.push_back(norm_of_long_rows);
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
