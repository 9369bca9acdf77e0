#include "measure.hpp"

#include "compare.hpp"
#include "distance.hpp"
#include "host_machine.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace catena_test {
namespace {

using namespace catena;

/// A GLU is computed in f32 from finished products, so two formats show what it costs: one whose
/// products are exact to f32, and a usual one.
constexpr format_set glu_formats = format_set::of(format::f32) | format::q4_K;

std::vector<kernel_kind> kinds_of(const row_computation& row) {
    if (row.own) return {};
    const bool of_residual = row.stages.has(stage_kind::add_residual) &&
                             row.stages.has(stage_kind::mul_weight) && row.emits.has(format::f32);
    if (of_residual && row.stages.has(stage_kind::rms_norm)) return {{kernel_task::norm}};
    if (of_residual && row.stages.has(stage_kind::layer_norm)) return {{kernel_task::layer_norm}};
    if (row.stages.has(stage_kind::l2_norm)) return {{kernel_task::l2_norm}};
    if (row.stages.has(stage_kind::rope)) return {{kernel_task::heads}};
    if (row.stages.has(stage_kind::choose))
        return {{kernel_task::route_soft_max},
                {kernel_task::route_sigmoid},
                {kernel_task::route_sqrt_softplus}};
    if (row.stages.empty() && row.emits.has(format::q8_1)) return {{kernel_task::quantize}};
    return {};
}

std::vector<kernel_kind> kinds_of(const product_computation& product, const policy& how) {
    if (product.own) return {};
    const bool matvec = product.kind == skeleton::matvec;
    const auto kind = [&](kernel_task task) {
        return kernel_kind{task, product.weights, product.activation};
    };
    if (has_norm(product.stages)) return {kind(kernel_task::matvec_norm)};
    std::vector<kernel_kind> out{kind(matvec ? kernel_task::matvec : kernel_task::matmul)};
    const bool pairs = !matvec || how.matvec().rows % 2 == 0;  // a row of either matrix
    if (pairs && product.weights.size() == 1 && glu_formats.contains(product.weights))
        out.push_back(kind(matvec ? kernel_task::matvec_glu : kernel_task::matmul_glu));
    return out;
}

std::vector<kernel_kind> kinds_of(const row& r) {
    return r.computes.kind() == skeleton::row ? kinds_of(r.computes.row())
                                              : kinds_of(r.computes.product(), r.policy);
}

}  // namespace

const char* name(kernel_task t) {
    switch (t) {
        case kernel_task::matmul:
            return "matmul";
        case kernel_task::matmul_glu:
            return "matmul with a GLU";
        case kernel_task::matvec:
            return "matvec";
        case kernel_task::matvec_glu:
            return "matvec with a GLU";
        case kernel_task::matvec_norm:
            return "matvec with its norm";
        case kernel_task::norm:
            return "norm";
        case kernel_task::layer_norm:
            return "layer norm";
        case kernel_task::l2_norm:
            return "L2 norm";
        case kernel_task::quantize:
            return "quantize";
        case kernel_task::heads:
            return "norm and ROPE of heads";
        case kernel_task::route_soft_max:
            return "routing by soft max";
        case kernel_task::route_sigmoid:
            return "routing by sigmoid";
        case kernel_task::route_sqrt_softplus:
            return "routing by sqrt(softplus)";
    }
    return "";
}

distance distance_of(const std::vector<float>& got, const std::vector<double>& exact,
                     const std::vector<double>& limits) {
    distance out;
    double largest = 0;
    for (const double v : exact) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double error = std::abs(double{got[i]} - exact[i]);
        out.finite = out.finite && std::isfinite(got[i]);
        out.largest_error = std::max(out.largest_error, largest > 0 ? error / largest : error);
        if (error > 0) out.of_limit = std::max(out.of_limit, error / limits[i]);
    }
    out.nmse = nmse<float>(got, exact);
    return out;
}

std::map<kernel_kind, std::vector<instance>> kernels_by_kind() {
    std::map<kernel_kind, std::vector<instance>> out;
    std::map<std::pair<kernel_kind, std::uint32_t>, bool> known;
    for (const arch& a : arch_registry) {
        const table t = instances::on_host(instances::table_named(a.name));
        for (int i = 0; i < t.row_count; ++i) {
            if (!runs(t, i)) continue;
            for (const kernel_kind& kind : kinds_of(t.rows[i]))
                if (known.try_emplace({kind, t.rows[i].order}, true).second)
                    out[kind].push_back(on_host(t.rows[i].computes, t.rows[i].policy, t.kernels[i],
                                                row_name(t, i)));
        }
    }
    return out;
}

int product_rows(const kernel_kind& kind) {
    return kind.task == kernel_task::matvec_norm ? 192 : 24;
}

measured measure(const kernel_kind& kind, const instance& on, input of) {
    if (kind.is_product()) return measure_product(kind, on, of);
    switch (kind.task) {
        case kernel_task::quantize:
            return measure_quantize(on, of);
        case kernel_task::heads:
            return measure_heads(on, of);
        case kernel_task::route_soft_max:
        case kernel_task::route_sigmoid:
        case kernel_task::route_sqrt_softplus:
            return measure_routing(kind, on, of);
        default:
            return measure_norm(kind, on, of);
    }
}

}  // namespace catena_test
