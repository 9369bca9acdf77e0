// A table that lets launches make their norm, or quantize what they read.
#pragma once

#include "cases.hpp"

#include "catena/pick/measured.hpp"
#include "catena/pick/pick.hpp"

namespace catena_test {

constexpr catena::product_computation normed_matvec_of(catena::format_set weights) {
    catena::product_computation c = matvec_of(weights);
    c.stages = catena::stage_kind::rms_norm | catena::stage_kind::mul_weight;
    c.epilogue = catena::epilogue_set::of(catena::epilogue_part::glu) |
                 catena::epilogue_part::residual | catena::epilogue_part::quantize;
    return c;
}

inline constexpr catena::matvec_policy normed_matvec = {
    .threads = 64,
    .rows = 2,
    .columns = 2,
    .piece = 1024,
    .stages = 2,
    .activation = catena::activation_source::shared,
    .placement = catena::norm_placement::deferred};

/// The invented table with matvecs of {q4_K} and {q4_K, q6_K} that make their norm themselves, and
/// gate and quantize; on a GPU with launches as dear as they must be for that to pay, or not.
struct norm_table {
    catena::arch target = toy_arch;
    std::vector<catena::row> rows;
    std::vector<catena::lowered_chain> chains;
    std::vector<catena::measurement> medians;

    explicit norm_table(double node_us = 1000) : rows(toy_rows, toy_rows + toy_row_count) {
        target.node_us = node_us;
        target.bytes_per_us = 91e3, target.cycles_per_us = 1980;  // four SMs of an H100
        for (catena::row& r : rows)
            if (r.computes.kind() == catena::skeleton::matvec &&
                r.computes.product().activation == format::q8_1)
                r.computes.product().epilogue = normed_matvec_of(q4).epilogue;
        for (const catena::format_set s : {q4, q4 | q6})
            rows.push_back(row_of(normed_matvec_of(s), normed_matvec));
        chains.assign(toy_table().chains, toy_table().chains + toy_table().chain_count);
        for (catena::lowered_chain& c : chains)
            c.stages[c.count++] = {.kind = catena::stage_kind::epilogue,
                                   .parts = normed_matvec_of(q4).epilogue};
    }

    catena::table get() const {
        catena::table t = toy_table();
        t.target = &target;
        t.rows = rows.data();
        t.row_count = static_cast<int>(rows.size());
        t.chains = chains.data();
        t.measured = medians.data();
        t.measured_count = static_cast<int>(medians.size());
        return t;
    }
    int normed_row() const { return toy_row_count; }

    /// Records that the picked row, or `by`, runs a problem in so many us.
    void measure(const catena::problem& p, float us, int by = -1) {
        if (by < 0) by = catena::pick(p, get()).row;
        medians.push_back({catena::problem_key(p), by, us, 0});
        std::sort(medians.begin(), medians.end(),
                  [](const auto& a, const auto& b) { return a.problem < b.problem; });
    }

    catena::plan planned(graph_builder& g, const catena::options& asked = {}) const {
        return checked_plan(g, get(), asked);
    }
};

}  // namespace catena_test
