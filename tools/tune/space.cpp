#include "space.hpp"

#include "policies.hpp"
#include "simplicity.hpp"

#include "catena/pick/pick.hpp"

#include <algorithm>
#include <utility>

namespace catena::tune {

namespace {

using generator::simpler;

/// Candidates that agree in what the cost model looks at most; of tiles there are more kinds.
constexpr std::size_t most_of_a_kind(skeleton kind) { return kind == skeleton::matmul ? 2 : 3; }

std::vector<policy> row_policies() {
    std::vector<policy> all;
    for (const int threads : {32, 64, 128, 256, 512, 1024})
        for (const int values : {0, 4, 8, 16, 32})
            for (const bool vector : {false, true})
                all.push_back(row_policy{.threads = threads, .values = values, .vector = vector});
    for (const int rows : {2, 4, 8})
        for (const int values : {4, 8, 16, 32})
            for (const bool vector : {false, true})
                all.push_back(row_policy{
                    .threads = rows * warp_size, .values = values, .rows = rows, .vector = vector});
    return all;
}

/// What a warp works on at once.
struct tile {
    inner_product product;
    int rows, columns, slices = 0;
};

std::vector<tile> tiles() {
    std::vector<tile> all;
    for (const int rows : {1, 2, 4, 8})
        for (const int columns : {1, 2, 4, 8}) all.push_back({inner_product::dp4a, rows, columns});
    for (const int rows : {1, 2, 4})
        for (const int columns : {1, 2, 4, 8}) all.push_back({inner_product::fma, rows, columns});
    for (const int slices : {0, 4, 8})
        all.push_back({inner_product::mma, mma_rows, mma_columns, slices});
    return all;
}

std::vector<matvec_policy> matvec_policies() {
    std::vector<matvec_policy> all;
    for (const tile& t : tiles())
        for (const copy_method copy : {copy_method::plain, copy_method::async, copy_method::bulk})
            for (const int stages : {2, 3, 4, 6, 8})
                for (const auto source : {activation_source::global, activation_source::shared})
                    for (const int piece : {256, 512, 1024, 2048, 4096})
                        for (const int threads : {64, 128, 256})
                            for (const int blocks : {1, 2, 3, 4, 6})
                                all.push_back({.threads = threads,
                                               .min_blocks = blocks,
                                               .rows = t.rows,
                                               .columns = t.columns,
                                               .piece = piece,
                                               .stages = stages,
                                               .slices = t.slices,
                                               .copy = copy,
                                               .activation = source,
                                               .product = t.product});
    return all;
}

/// Where every block makes the norm itself, blocks are few and large; in passing they are as any.
std::vector<matvec_policy> norm_policies() {
    std::vector<matvec_policy> all;
    for (const matvec_policy& p : matvec_policies()) {
        if (p.product == inner_product::fma) {
            all.push_back(p);
            all.back().placement = norm_placement::passing;
            continue;
        }
        if (p.threads != 256 || p.min_blocks > 2) continue;
        all.push_back(p);
        all.back().threads = p.min_blocks == 1 ? 512 : 256;
        all.back().placement = norm_placement::deferred;
    }
    return all;
}

/// Tiles of warpgroups, from 64 rows on; what their body does not hold, `objection` drops.
std::vector<matmul_policy> warpgroup_policies(format_set weights) {
    const int of_floats = weights.has(format::fp8_e4m3) ? fp8_values : warpgroup_values;
    std::vector<matmul_policy> all;
    for (const int piece : {of_floats, 2 * warpgroup_values, 4 * warpgroup_values})
        for (const int stages : {3, 4})
            for (const int rows : {mma_rows, 2 * mma_rows})
                for (const int columns : {64, 128, 256})
                    for (const int threads : {128, 256, 512})
                        for (const int cluster : {0, 2, 4})
                            all.push_back({.threads = threads,
                                           .rows = rows,
                                           .columns = columns,
                                           .piece = piece,
                                           .stages = stages,
                                           .cluster = cluster,
                                           .copy = copy_method::async,
                                           .product = tile_product::wgmma});
    return all;
}

/// With one block promised; see `promising`.
std::vector<matmul_policy> matmul_policies(format_set weights) {
    std::vector<matmul_policy> all;
    for (const copy_method copy : {copy_method::plain, copy_method::async})
        for (const int stages : {2, 3, 4})
            for (const int piece : {32, 64, 128, 256})
                for (const int slices : {0, 2, 4})
                    for (const int rows : {mma_rows, 2 * mma_rows})
                        for (const int columns : {16, 32, 64, 128})
                            for (const int threads : {64, 128, 256})
                                all.push_back({.threads = threads,
                                               .rows = rows,
                                               .columns = columns,
                                               .piece = piece,
                                               .stages = stages,
                                               .slices = slices,
                                               .copy = copy});
    // A block of the activation is the shortest piece of a tile that does not read f32.
    if (!reads_f32(weights))
        std::erase_if(all, [](const matmul_policy& p) { return p.piece % mmq_values != 0; });
    const std::vector<matmul_policy> groups = warpgroup_policies(weights);
    all.insert(all.end(), groups.begin(), groups.end());
    return all;
}

/// Do so many blocks of a tile leave its threads the registers that they want, as far as one can
/// tell?
bool unspilled(const arch& a, const row& r, int blocks) {
    return registers_left(r.policy.threads(), blocks, a) >= usual_registers(r);
}

/// The tile with the most blocks promised, up to four, that an SM holds without spills.
policy promising(const arch& a, row r) {
    matmul_policy& p = r.policy.matmul();
    const std::int64_t bytes =
        shared_allocated(matmul_shared_bytes(p, r.computes.product().weights), a);
    const auto held = [&](int blocks) {
        return blocks * bytes <= a.shared_per_sm && unspilled(a, r, blocks);
    };
    while (p.min_blocks < 4 && held(p.min_blocks + 1)) ++p.min_blocks;
    return p;
}

row row_of(const computation& c, const policy& how) {
    return {.computes = c, .policy = how, .order = order_of(how), .evidence = {}};
}

bool holds(const std::vector<row>& rows, const policy& how) {
    return std::any_of(rows.begin(), rows.end(), [&](const row& r) { return r.policy == how; });
}

bool same_kind(const row_policy& a, const row_policy& b) {
    return a.rows == b.rows && a.vector == b.vector && a.values == b.values;
}
bool same_kind(const matvec_policy& a, const matvec_policy& b) {
    return a.copy == b.copy && a.activation == b.activation && a.rows == b.rows &&
           a.columns == b.columns && a.slices == b.slices && a.product == b.product &&
           a.placement == b.placement;
}
bool same_kind(const matmul_policy& a, const matmul_policy& b) {
    return a.copy == b.copy && a.rows == b.rows && a.columns == b.columns && a.slices == b.slices &&
           a.product == b.product && a.threads == b.threads;
}

/// Would a tile of half as many columns hold those of the problem, too?
bool too_wide(const row& r, const problem& p) {
    return r.computes.kind() == skeleton::matmul &&
           r.policy.matmul().columns / 2 >= std::max(detail::columns_of_matrix(p.product()), 16.0);
}

/// The policy of a matvec or a matmul without its cluster, with so many blocks promised.
policy without_cluster(policy p, int blocks) {
    const auto change = [blocks](auto& own) { own.cluster = 0, own.min_blocks = blocks; };
    p.kind() == skeleton::matvec ? change(p.matvec()) : change(p.matmul());
    return p;
}

/// What clusters gain or cost was never measured, and those that the cost model likes leave no room
/// for others: the best candidate is raced without its cluster, too.
void add_without_cluster(std::vector<candidate>& kept, const std::vector<candidate>& able) {
    if (kept.empty() || cluster_of(kept.front().what.policy) == 0) return;
    const auto is_twin = [first = kept.front().what.policy](const candidate& c) {
        return c.what.policy == without_cluster(first, c.what.policy.min_blocks());
    };
    if (std::any_of(kept.begin(), kept.end(), is_twin)) return;
    const auto twin = std::find_if(able.begin(), able.end(), is_twin);
    if (twin == able.end()) return;
    const auto slower = [&](const candidate& c) { return c.predicted_us > twin->predicted_us; };
    kept.insert(std::find_if(kept.begin(), kept.end(), slower), *twin);
}

/// Every policy that is worth a look.
std::vector<policy> listed(const arch& target, const computation& c) {
    if (c.kind() == skeleton::row) return row_policies();
    std::vector<policy> all;
    const product_computation& product = c.product();
    if (product.kind == skeleton::matvec)
        for (const matvec_policy& p :
             has_norm(product.stages) ? norm_policies() : matvec_policies())
            all.push_back(p), all.back().matvec().routes = routes(product.stages),
                              all.back().matvec().turns = has_heads(product.epilogue);
    else
        for (const matmul_policy& p : matmul_policies(product.weights))
            if (const policy wide = promising(target, row_of(c, p));
                unspilled(target, row_of(c, wide), wide.min_blocks()))
                all.push_back(wide);
    return all;
}

}  // namespace

std::vector<row> space_of(const arch& target, const computation& c) {
    const std::vector<row> by_hand = generator::rows_for(target, c);
    std::vector<row> all = by_hand;
    for (const policy& p : listed(target, c)) {
        const row r = row_of(c, p);
        if (generator::objection(target, r).empty() && !holds(by_hand, p)) all.push_back(r);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const row& x, const row& y) { return simpler(x.policy, y.policy); });
    return all;
}

std::vector<candidate> candidates_of(const std::vector<row>& space,
                                     const std::vector<row>& incumbents, const problem& p,
                                     const arch& a, std::size_t most) {
    std::vector<candidate> able;
    for (const row& r : space) {
        if (constraint(r, p, a).why != limit::none) continue;
        const int resident = blocks_per_sm(r, p, a);
        if (resident < 1) continue;
        // The GPU times it in bands of code that nobody has counted.
        row uncounted = r;
        uncounted.code = {};
        const std::int32_t band = band_rows(uncounted, p, a, resident);
        able.push_back({r, predicted_us(r, p, a, shape_with_bands(r, p, a, resident, band))});
    }
    std::stable_sort(able.begin(), able.end(), [](const candidate& x, const candidate& y) {
        return x.predicted_us < y.predicted_us;
    });
    std::vector<candidate> kept;
    std::size_t free = most;
    for (const candidate& c : able) {
        const auto alike = std::count_if(kept.begin(), kept.end(), [&](const candidate& k) {
            return of_both(k.what.policy, c.what.policy,
                           [](const auto& x, const auto& y) { return same_kind(x, y); });
        });
        const bool wanted = free > 0 && !too_wide(c.what, p) &&
                            static_cast<std::size_t>(alike) < most_of_a_kind(p.kind());
        if (!wanted && !holds(incumbents, c.what.policy)) continue;
        free -= wanted ? 1 : 0;
        kept.push_back(c);
    }
    add_without_cluster(kept, able);
    return kept;
}

}  // namespace catena::tune
