#include "expand.hpp"

#include "policies.hpp"
#include "tuning.hpp"

#include "catena/match/pattern.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <stdexcept>

namespace catena::generator {

namespace {

/// A launch switches operands, emits and the parts of an epilogue off at run time, so a wide one is
/// enough. A matvec compiled for more formats than occur is slower, so every listed set stays.
bool makes_superfluous(const computation& wide, const computation& narrow) {
    return wide != narrow && wide.weights == narrow.weights && serves(wide, narrow);
}

/// The matmuls of matrices of one format: one in each layout that it may read, if the chain
/// quantizes so or it reads numbers.
std::vector<computation> matmul_parts(const lowered_chain& chain, format weights) {
    std::vector<computation> parts;
    const format_set layouts = chain::row_part(chain).emits;
    computation c = chain::matvec_part(chain, format_set::of(weights));
    c.kind = skeleton::matmul;
    // The columns of a tile are of any token and slot.
    c.epilogue = c.epilogue.without(epilogue_part::combine);
    for (const format layout : matmul_layouts(weights)) {
        c.activation = layout;
        if (layouts.has(layout) || reads_f32(weights)) parts.push_back(c);
    }
    return parts;
}

/// The launches of a chain's matrices. At so many columns that a matmul takes them it costs nothing
/// that a group of two formats is two launches.
std::vector<computation> group_parts(const lowered_chain& chain, format_set weights) {
    std::vector<computation> parts;
    if (const computation c = chain::matvec_part(chain, weights); c.activation != format::unknown)
        parts.push_back(c);
    const computation normed = chain::normed_matvec_part(chain, weights);
    if (normed.kind == skeleton::matvec && norm_inside(weights)) parts.push_back(normed);
    if (weights.size() > 1) return parts;
    const std::vector<computation> tiles = matmul_parts(chain, *weights.begin());
    parts.insert(parts.end(), tiles.begin(), tiles.end());
    return parts;
}

}  // namespace

std::vector<computation> computations_of(const catalogue& all) {
    std::vector<computation> wanted;
    for (const lowered_chain& c : all.chains)
        if (chain::has_part(c, skeleton::row)) wanted.push_back(chain::row_part(c));
    for (const format_set weights : all.launches)
        for (const lowered_chain& c : all.chains)
            if (chain::weights_of(c).contains(weights))
                for (const computation& part : group_parts(c, weights)) wanted.push_back(part);
    std::vector<computation> kept;
    for (const computation& c : wanted) {
        const bool served =
            std::any_of(wanted.begin(), wanted.end(),
                        [&](const computation& other) { return makes_superfluous(other, c); });
        if (!served && std::find(kept.begin(), kept.end(), c) == kept.end()) kept.push_back(c);
    }
    const auto matvecs = std::stable_partition(
        kept.begin(), kept.end(), [](const computation& c) { return c.kind == skeleton::row; });
    std::stable_sort(kept.begin(), matvecs, [](const computation& a, const computation& b) {
        return family(a) < family(b);  // a family is one file
    });
    return kept;
}

std::vector<instance_set> expand(const std::vector<computation>& computations,
                                 const records_by_name& records, const tunings& measured,
                                 const engine_medians& engine) {
    std::vector<instance_set> sets;
    for (const arch& target : arch_registry) {
        instance_set set = {.target = &target, .rows = {}, .medians = {}, .engine = {}};
        for (const computation& c : computations)
            for (row r : tuned_rows(target, rows_for(target, c), measured)) {
                const auto known = records.find(row_name(r, target.name));
                if (known != records.end())
                    r.registers = known->second.registers, r.code = known->second.code;
                set.rows.push_back(r);
            }
        set.medians = medians_of(set, measured);
        if (const auto own = engine.find(target.name); own != engine.end())
            set.engine = own->second;
        sets.push_back(std::move(set));
    }
    return sets;
}

instance_set expand_for(const arch& target, const std::vector<computation>& computations,
                        policy_change change) {
    instance_set set = {.target = &target, .rows = {}, .medians = {}, .engine = {}};
    for (const computation& c : computations)
        for (const row& r : rows_for(target, c, change)) set.rows.push_back(r);
    return set;
}

table described(const instance_set& set, const catalogue& all) {
    table t;
    t.target = set.target;
    t.rows = set.rows.data();
    t.row_count = static_cast<int>(set.rows.size());
    t.chains = all.chains.data();
    t.chain_count = static_cast<int>(all.chains.size());
    return t;
}

bool in_every_build(const arch& target, const computation& c) {
    const std::string name = target.name;
    return name == "host" || name == "sm_90" || c.kind == skeleton::row ||
           c.weights == format_set::of(format::q4_K);
}

std::string family(const computation& c) {
    if (c.kind == skeleton::row) return "row_" + chain_part(c);
    return std::string(name(c.kind)) + "_" + formats_part(c.weights);
}

}  // namespace catena::generator
