#include "tables.hpp"

#include "catena/instances/computations.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/constraints.hpp"
#include "catena/pick/measured.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace catena_test {

using namespace catena;

namespace {

using namespace catena::instances;

constexpr row rows[] = {
#define CATENA_ROW CATENA_TABLE_ROW
#include "../../../instances/host/rows.inc"
#undef CATENA_ROW
};

constexpr lowered_chain chains[] = {
#include "../../../instances/chains.inc"
};

}  // namespace

table shipped_table() {
    table t;
    static const arch wide = [] {  // a slice of an H100, whose SMs few bands leave idle
        arch a = *arch_named("host");
        a.sms = 16;
        a.bytes_per_us = 364e3;
        a.cluster_blocks = 4;
        return a;
    }();
    t.target = &wide;
    t.rows = rows;
    t.row_count = sizeof(rows) / sizeof(rows[0]);
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
    return t;
}

table norm_inside_table() {
    static const arch dear = [] {
        arch a = *arch_named("host");
        a.node_us = 1e6;
        return a;
    }();
    static const std::vector<row> all = [] {
        std::vector<row> out(std::begin(rows), std::end(rows));
        std::erase_if(
            out, [](const row& r) { return placement_of(r.policy) != norm_placement::producer; });
        for (row r : std::vector<row>(out)) {
            if (r.computes.kind() != skeleton::matvec || r.policy.matvec().routes) continue;
            matvec_policy& p = r.policy.matvec();
            const bool numbers = p.product == inner_product::fma;
            if (!numbers && p.activation != activation_source::shared) continue;
            r.computes.product().stages = stage_kind::rms_norm | stage_kind::mul_weight;
            p.placement = numbers ? norm_placement::passing : norm_placement::deferred;
            if (numbers) {
                r.computes.product().emits = format_set::of(format::f32) | format::q8_1;
                p.columns = 1;
                row together = r;  // of several columns
                matvec_policy& q = together.policy.matvec();
                q.placement = norm_placement::deferred;
                q.activation = activation_source::shared;
                q.columns = 4;
                together.order = order_of(q);
                if (!objection_to(together.computes, together.policy)) out.push_back(together);
            }
            r.order = order_of(p);
            out.push_back(r);
            p.turns = true, p.cluster = 0;
            r.computes.product().epilogue = parts_of_heads;
            if (!objection_to(r.computes, r.policy)) out.push_back(r);
        }
        return out;
    }();
    table t = shipped_table();
    t.target = &dear;
    t.rows = all.data();
    t.row_count = static_cast<int>(all.size());
    return t;
}

table tiles_table() {
    static const arch gpu = [] {
        arch a = *arch_named("host");
        a.compute_capability = 90;  // the cost model judges
        return a;
    }();
    static const std::vector<row> all = [] {
        std::vector<row> out(std::begin(rows), std::end(rows));
        std::erase_if(out, [](const row& r) {
            return r.computes.kind() == skeleton::matvec && r.policy.matvec().columns > 1 &&
                   !has_float_weights(r.computes.product().weights);
        });
        return out;
    }();
    table t = shipped_table();
    t.target = &gpu;
    t.rows = all.data();
    t.row_count = static_cast<int>(all.size());
    return t;
}

void tuned_table::learn(const plan& p) {
    std::vector<std::uint64_t> of_chain(p.chains().size(), 0);
    for (const step& s : p.steps()) {
        const auto serving = [&](const row& r) {
            return s.what.visit([&r](const auto& what) { return serves(r.computes, what.needs); });
        };
        const std::uint64_t key = problem_key(s.what);
        of_chain[static_cast<std::size_t>(s.chain)] += key;
        const auto known = [key](const measurement& m) { return m.problem == key; };
        if (std::any_of(medians_.begin(), medians_.end(), known)) continue;
        for (int i = 0; i < table_.row_count; ++i)
            if (serving(table_.rows[i]) && !one_in(3)) medians_.push_back({key, i, median(), 0});
    }
    for (const std::uint64_t key : of_chain)
        if (one_in(4)) engine_.push_back({key, median(), median()});
    std::stable_sort(medians_.begin(), medians_.end(),
                     [](const auto& a, const auto& b) { return a.problem < b.problem; });
    std::stable_sort(engine_.begin(), engine_.end(),
                     [](const auto& a, const auto& b) { return a.steps < b.steps; });
    table_.measured = medians_.data();
    table_.measured_count = static_cast<int>(medians_.size());
    table_.engine = engine_.data();
    table_.engine_count = static_cast<int>(engine_.size());
}

}  // namespace catena_test
