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
bool makes_superfluous(const row_computation& wide, const row_computation& narrow) {
    return wide != narrow && serves(wide, narrow);
}
bool makes_superfluous(const product_computation& wide, const product_computation& narrow) {
    return wide != narrow && wide.weights == narrow.weights && serves(wide, narrow);
}

/// Does a launch have a place for a function, Catena's or of one's own?
bool applies_functions(const row_computation& c) {
    return gates(c.stages) || c.stages.has(stage_kind::own);
}
bool applies_functions(const product_computation& c) { return c.epilogue.any(function_parts); }

/// Those that no other makes superfluous, each once.
template <class Computation>
std::vector<Computation> kept_of(const std::vector<Computation>& wanted) {
    std::vector<Computation> kept;
    for (const Computation& c : wanted) {
        const bool served =
            std::any_of(wanted.begin(), wanted.end(),
                        [&](const Computation& other) { return makes_superfluous(other, c); });
        if (!served && std::find(kept.begin(), kept.end(), c) == kept.end()) kept.push_back(c);
    }
    return kept;
}

/// The matmuls of matrices of one format: one in each layout that it may read, if the chain
/// quantizes so or its weights are float weights.
std::vector<product_computation> matmul_parts(const lowered_chain& chain, format weights) {
    std::vector<product_computation> parts;
    const format_set layouts = chain::row_part(chain).emits;
    product_computation c = chain::matvec_part(chain, format_set::of(weights));
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
std::vector<product_computation> group_parts(const lowered_chain& chain, format_set weights) {
    std::vector<product_computation> parts;
    const auto normed = chain::normed_matvec_part(chain, weights);
    const bool makes_norm = normed && norm_inside(weights);
    if (makes_norm) parts.push_back(*normed);
    if (chain::turns_heads(chain)) return parts;
    if (const product_computation c = chain::matvec_part(chain, weights);
        c.activation != format::unknown)
        parts.insert(parts.begin(), c);
    if (const auto routed = chain::routed_matvec_part(chain, weights)) parts.push_back(*routed);
    if (weights.size() > 1) return parts;
    const std::vector<product_computation> tiles = matmul_parts(chain, *weights.begin());
    parts.insert(parts.end(), tiles.begin(), tiles.end());
    return parts;
}

/// Is there a plain row of more formats that does what this one does? By the cost model it takes 1
/// to 3 % longer. No file has weights that need a plain row, so one kernel is enough for them.
bool repeats_plain(const std::vector<row>& rows, const row& r) {
    if (!is_plain(r.policy)) return false;
    return std::any_of(rows.begin(), rows.end(), [&](const row& other) {
        return is_plain(other.policy) && other.computes != r.computes &&
               serves(other.computes, r.computes.product());
    });
}

}  // namespace

std::vector<bool> without_repeated_plain(const std::vector<row>& rows) {
    std::vector<bool> kept;
    for (const row& r : rows) kept.push_back(!repeats_plain(rows, r));
    return kept;
}

std::vector<computation> computations_of(const catalogue& all) {
    if (all.ops == nullptr)
        for (const lowered_chain& c : all.chains)
            if (chain::row_part(c).stages.has(stage_kind::own) ||
                chain::epilogue_of(c).has(epilogue_part::own))
                throw std::runtime_error("the chain '" + std::string(c.name) +
                                         "' has an op of one's own: name its header, OPS <header>");
    const auto with_own = [&all](auto part) {
        part.own = all.ops != nullptr && applies_functions(part);
        return part;
    };
    std::vector<row_computation> rows;
    std::vector<product_computation> products;
    for (const lowered_chain& c : all.chains)
        if (chain::has_part(c, skeleton::row)) rows.push_back(with_own(chain::row_part(c)));
    for (const format_set weights : all.launches) {
        const auto first = static_cast<std::ptrdiff_t>(products.size());
        for (const lowered_chain& c : all.chains)
            if (chain::weights_of(c).contains(weights))
                for (const product_computation& part : group_parts(c, weights))
                    products.push_back(with_own(part));
        std::stable_partition(
            products.begin() + first, products.end(),
            [](const product_computation& c) { return c.kind == skeleton::matvec; });
    }
    rows = kept_of(rows), products = kept_of(products);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const row_computation& a, const row_computation& b) {
                         return family(a) < family(b);  // a family is one file
                     });
    std::vector<computation> kept(rows.begin(), rows.end());
    kept.insert(kept.end(), products.begin(), products.end());
    return kept;
}

std::vector<instance_set> expand(const std::vector<computation>& computations,
                                 const evidence::records_by_name& records, const tunings& measured,
                                 const engine_records& engine) {
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
        set = part_of(set, without_repeated_plain(set.rows));
        set.medians = medians_of(set, measured);
        if (const auto own = engine.find(target.name); own != engine.end()) {
            const table told = own->second.over({});
            set.engine.assign(told.engine, told.engine + told.engine_count);
            set.verdicts.assign(told.verdicts, told.verdicts + told.verdict_count);
        }
        sets.push_back(std::move(set));
    }
    return sets;
}

instance_set expand_for(const arch& target, const std::vector<computation>& computations,
                        policy_change change, const tunings& measured) {
    instance_set set = {.target = &target, .rows = {}, .medians = {}, .engine = {}};
    for (const computation& c : computations) {
        const std::vector<row> rows = tuned_rows(target, rows_for(target, c, change), measured);
        const auto before = static_cast<std::int32_t>(set.rows.size());
        for (const preferred_row& p : preferences_for(target, rows, change))
            set.preferred.push_back({p.of, before + p.row});
        set.rows.insert(set.rows.end(), rows.begin(), rows.end());
    }
    set = part_of(set, without_repeated_plain(set.rows));
    set.medians = medians_of(set, measured);
    return set;
}

instance_set part_of(const instance_set& set, const std::vector<bool>& kept) {
    instance_set out = {.target = set.target,
                        .rows = {},
                        .medians = {},
                        .engine = set.engine,
                        .verdicts = set.verdicts};
    std::vector<std::int32_t> place(kept.size(), -1);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (!kept[i]) continue;
        place[i] = static_cast<std::int32_t>(out.rows.size());
        out.rows.push_back(set.rows[i]);
    }
    for (measurement m : set.medians) {
        m.row = place[static_cast<std::size_t>(m.row)];
        if (m.row >= 0) out.medians.push_back(m);
    }
    for (preferred_row p : set.preferred) {
        p.row = place[static_cast<std::size_t>(p.row)];
        if (p.row >= 0) out.preferred.push_back(p);
    }
    return out;
}

table described(const instance_set& set, const catalogue& all) {
    table t;
    t.target = set.target;
    t.rows = set.rows.data();
    t.row_count = static_cast<int>(set.rows.size());
    t.chains = all.chains.data();
    t.chain_count = static_cast<int>(all.chains.size());
    t.measured = set.medians.data();
    t.measured_count = static_cast<int>(set.medians.size());
    t.preferred = set.preferred.data();
    t.preferred_count = static_cast<int>(set.preferred.size());
    t.ops = all.ops;
    return t;
}

bool in_every_build(const arch& target, const computation& c) {
    const std::string name = target.name;
    return name == "host" || name == "sm_90" || c.kind() == skeleton::row ||
           c.product().weights == format_set::of(format::q4_K);
}

std::string family(const computation& c) {
    if (c.kind() == skeleton::row) return "row_" + chain_part(c);
    return std::string(name(c.kind())) + "_" + formats_part(c);
}

}  // namespace catena::generator
