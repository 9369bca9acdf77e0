#include "tables.hpp"

#include "catena/kernel/layout.hpp"

#include <iterator>
#include <vector>

namespace catena_test {

using namespace catena;

namespace {

constexpr row rows[] = {
#include "../../../instances/host/rows.inc"
};

constexpr lowered_chain chains[] = {
#include "../../../instances/chains.inc"
};

}  // namespace

table shipped_table() {
    table t;
    static const arch wide = [] {  // a GPU whose SMs few bands leave idle
        arch a = *arch_named("host");
        a.sms = 16;
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
        std::erase_if(out, [](const row& r) {
            return r.numbers.placement != norm_placement::producer;
        });
        for (row r : std::vector<row>(out)) {
            const bool fits = r.computes.kind == skeleton::matvec &&
                              r.numbers.activation == activation_source::shared;
            if (!fits) continue;
            r.computes.value = value_kind::rms_norm;
            r.computes.scale = true;
            r.numbers.placement = norm_placement::deferred;
            r.order = order_of(r.computes, r.numbers);
            out.push_back(r);
        }
        return out;
    }();
    table t = shipped_table();
    t.target = &dear;
    t.rows = all.data();
    t.row_count = static_cast<int>(all.size());
    return t;
}

}  // namespace catena_test
