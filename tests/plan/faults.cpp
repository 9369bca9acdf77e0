#include "fault_places.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

namespace {

std::vector<fault> faults_of_rows() {
    return {
        {"a row step with another eps",
         in_row([](row_args& a) { return a.weight != nullptr && a.eps != 0 && (a.eps *= 2) > 0; })},
        {"a norm without its weight", in_row([](row_args& a) { return drop(a.weight); })},
        {"a norm with a weight of other rows",
         in_row([](row_args& a) { return shift(a.weight, 4096); })},
        {"a residual that is not added", in_row([](row_args& a) { return drop(a.residual); })},
        {"a residual of other rows",
         in_row([](row_args& a) { return shift(a.residual, 4 * a.k); })},
        {"a sum that is not written", in_row([](row_args& a) { return drop(a.sum); })},
        {"a result that is not written", in_row([](row_args& a) { return drop(a.f32); })},
        {"a result at another place", in_row([](row_args& a) { return shift(a.f32, 16); })},
        {"a sum over the residual of others",
         in_row([](row_args& a) { return a.sum != nullptr && shift(a.sum, 64); })},
        {"another function of a gate", in_row([](row_args& a) {
             if (a.function == gate_function::none) return false;
             a.function =
                 a.function == gate_function::silu ? gate_function::gelu : gate_function::silu;
             return true;
         })},
        {"a gate that is x, and x its gate", in_row([](row_args& a) {
             if (a.x == nullptr || a.gate == nullptr || a.function == gate_function::none)
                 return false;
             std::swap(a.x, a.gate);
             std::swap(a.x_at, a.gate_at);
             return true;
         })},
        {"experts without their weights",
         in_row([](row_args& a) { return drop(a.experts.weights); })},
        {"one expert less",
         in_row([](row_args& a) { return a.experts.slots > 1 && --a.experts.slots; })},
        {"experts' slots that overlap",
         in_row([](row_args& a) { return a.experts.slots > 1 && (a.experts.nb1 /= 2) > 0; })},
        {"a shared expert that is left out",
         in_row([](row_args& a) { return a.experts.results != nullptr && drop(a.x); })},
        {"a norm of the sum that is left out",
         in_row([](row_args& a) { return drop(a.next_weight); })},
        {"a norm of the sum with another eps", in_row([](row_args& a) {
             return a.next_weight != nullptr && std::exchange(a.next_eps, 2 * a.next_eps) > 0;
         })},
        {"a scaled norm",
         in_row([](row_args& a) { return a.weight != nullptr && (a.norm_scale *= 3) != 0; })},
        {"rows at other distances",
         in_row([](row_args& a) { return a.n1 > 1 && a.x != nullptr && (a.x_at.nb1 += 16) > 0; })},
        {"a row less", in_row([](row_args& a) { return a.rows > 1 && --a.n1 && --a.rows; })},
        {"rows that are shorter", in_row([](row_args& a) { return a.k > 64 && (a.k -= 32) > 0; })},
        {"a misaligned row", in_row([](row_args& a) { return shift(a.x, 4); })},
        {"a misaligned result of a row", in_row([](row_args& a) { return shift(a.f32, 4); })},
        {"rows that are padded where others are not", in_row([](row_args& a) {
             if (a.f32 != nullptr) return false;  // nobody may read what else it writes
             for (int parts = 2; a.quant_k % (32 * parts) == 0 && a.quant_k > 0; parts *= 2)
                 if (a.quant_k / parts % 512 != 0) return (a.quant_k /= parts) > 0;
             return false;
         })},
    };
}

std::vector<fault> faults_of_groups() {
    return {
        {"two results exchanged", in_two([](matvec_member& a, matvec_member& b) {
             if (a.dst == nullptr || b.dst == nullptr) return false;
             std::swap(a.dst, b.dst);
             return true;
         })},
        {"two weights exchanged", in_two([](matvec_member& a, matvec_member& b) {
             std::swap(a.weight, b.weight);
             return true;
         })},
        {"a gate and its value exchanged", in_member([](matvec_member& m) {
             if (m.up == nullptr || m.function == gate_function::none) return false;
             std::swap(m.weight, m.up);
             return true;
         })},
        {"a GLU without its second matrix", in_member([](matvec_member& m) { return drop(m.up); })},
        {"another function of a GLU", in_member([](matvec_member& m) {
             if (m.up == nullptr) return false;
             m.function =
                 m.function == gate_function::relu ? gate_function::sigmoid : gate_function::relu;
             return true;
         })},
        {"another limit of a GLU", in_member([](matvec_member& m) {
             return m.function == gate_function::swiglu_oai && (m.limit += 1) > 0;
         })},
        {"a result that is not written by its group",
         in_member([](matvec_member& m) { return drop(m.dst); })},
        {"a bias that is left out", in_member([](matvec_member& m) { return drop(m.bias); })},
        {"the bias of a GLU's other half", in_member([](matvec_member& m) {
             if (m.up_bias == nullptr) return false;
             std::swap(m.bias, m.up_bias);
             return true;
         })},
        {"one bias for all experts", in_member([](matvec_member& m) {
             return m.bias != nullptr && std::exchange(m.bias_nb1, 0) != 0;
         })},
        {"a group's residual that is left out",
         in_member([](matvec_member& m) { return drop(m.residual); })},
        {"a residual added as a bias",
         [](plan_faults& p, std::size_t s) {
             for (int m = 0; m < p.members(s); ++m) {
                 matvec_member& a = p.member(s, m);
                 if (p.head(s).columns < 2 || a.residual == nullptr || a.bias != nullptr) continue;
                 a.bias = std::exchange(a.residual, nullptr);
                 return true;
             }
             return false;
         }},
        {"a scale before what follows",
         in_member([](matvec_member& m) { return m.scale == 1 && (m.scale = 2) > 0; })},
        {"a result at other distances",
         [](plan_faults& p, std::size_t s) {
             for (int m = 0; m < p.members(s); ++m)
                 if (matvec_member& a = p.member(s, m);
                     p.head(s).columns > 1 && !p.head(s).combined && p.head(s).ids == nullptr &&
                     a.dst != nullptr)
                     return (a.dst_nb1 *= 2) > 0;
             return false;
         }},
        {"experts at other distances",
         in_member([](matvec_member& m) { return m.experts > 0 && (m.expert_bytes += 32) > 0; })},
        {"a weight that ends too late",
         in_member([](matvec_member& m) { return (m.weight_bytes += std::int64_t{1} << 40) > 0; })},
        {"a misaligned weight", in_member([](matvec_member& m) { return shift(m.weight, 1); })},
        {"a misaligned result", in_member([](matvec_member& m) { return shift(m.dst, 2); })},
        {"a misaligned residual", in_member([](matvec_member& m) { return shift(m.residual, 2); })},
        {"a misaligned bias", in_member([](matvec_member& m) { return shift(m.bias, 2); })},
        {"fewer rows of a matrix",
         in_member([](matvec_member& m) { return m.rows > 64 && (m.rows -= 32) > 0; })},
        {"a band that is left out",
         in_member([](matvec_member& m) { return m.first_band > 0 && ++m.first_band > 0; })},
        {"a matrix that is left out",
         [](plan_faults& p, std::size_t s) {
             if (p.members(s) < 2) return false;
             --p.head(s).members;
             return true;
         }},
        {"ids of other tokens",
         [](plan_faults& p, std::size_t s) {
             if (!p.is_group(s) || p.head(s).ids == nullptr) return false;
             p.head(s).ids = moved(p.head(s).ids, 4);
             return true;
         }},
        {"slots that are not weighted",
         [](plan_faults& p, std::size_t s) {
             return p.is_group(s) && drop(p.head(s).slot_weights);
         }},
        {"slots that are not added up",
         [](plan_faults& p, std::size_t s) {
             return p.is_group(s) && std::exchange(p.head(s).combined, false);
         }},
        {"an activation row for each expert",
         [](plan_faults& p, std::size_t s) {
             if (!p.is_group(s) || p.head(s).ids == nullptr || p.head(s).slots < 2) return false;
             p.head(s).x_slots = p.head(s).x_slots == 1 ? p.head(s).slots : 1;
             return true;
         }},
        {"a norm with another eps inside",
         [](plan_faults& p, std::size_t s) {
             return p.is_group(s) && p.head(s).norm_weight != nullptr && (p.head(s).eps *= 2) > 0;
         }},
        {"a norm inside that is left out",
         [](plan_faults& p, std::size_t s) {
             return p.is_group(s) && drop(p.head(s).norm_weight);
         }},
        {"a gate inside that is left out",
         in_gate([](activation_gate& gate) { return drop(gate.data); })},
        {"another gate inside",
         in_gate([](activation_gate& gate) { return shift(gate.data, 64); })},
        {"a gate inside at other distances",
         in_gate([](activation_gate& gate) { return (gate.nb1 += 16) > 0; })},
        {"another function of a gate inside", in_gate([](activation_gate& gate) {
             const auto was = std::exchange(gate.function, gate_function::gelu);
             return was != gate.function;
         })},
        {"a gate inside of shorter heads",
         in_gate([](activation_gate& gate) { return (gate.k /= 2) > 0; })},
        {"columns that are left out",
         [](plan_faults& p, std::size_t s) {
             return p.is_group(s) && p.head(s).columns > 1 && --p.head(s).columns > 0;
         }},
        {"a shorter product",
         [](plan_faults& p, std::size_t s) { return p.is_group(s) && (p.head(s).k -= 32) > 0; }},
    };
}

std::vector<fault> faults_of_plans() {
    return {
        {"a launch before its operands",
         [](plan_faults& p, std::size_t s) {
             const std::int32_t maker = p.chains()[static_cast<std::size_t>(p.at(s).chain)].made_by;
             if (!reads_workspace(p, s) || maker < 0) return false;
             p.launch_beside(s, static_cast<std::size_t>(maker));
             return true;
         }},
        {"a launch behind its readers",
         [](plan_faults& p, std::size_t s) {
             for (std::size_t r = s + 1; p.is_row(s) && r < p.steps(); ++r) {
                 if (p.at(r).chain != p.at(s).chain || !reads_workspace(p, r)) continue;
                 p.launch_beside(s, r);
                 return true;
             }
             return false;
         }},
        {"blocks that are missing",
         [](plan_faults& p, std::size_t s) {
             return p.at(s).config.blocks > 1 && --p.at(s).config.blocks > 0;
         }},
        {"two steps of one node in the other order",
         [](plan_faults& p, std::size_t s) {
             const bool reads = s > 0 && p.at(s - 1).launch_at == p.at(s).launch_at &&
                                reads_workspace(p, s) && p.at(s - 1).chain == p.at(s).chain &&
                                p.is_row(s - 1);
             if (reads) p.exchange(s - 1, s);
             return reads;
         }},
        {"an activation in the slot of another that is still read",
         [](plan_faults& p, std::size_t s) {
             const planned_chain read = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             const int layout = some_layout(read);
             if (!reads_workspace(p, s) || read.made_by < 0 || layout < 0) return false;
             for (planned_chain& c : p.chains()) {
                 const int own = some_layout(c);
                 if (own < 0 || c.made_by <= read.made_by ||
                     c.made_by >= static_cast<std::int32_t>(s) || c.activation == read.activation)
                     continue;
                 c.workspace_offset[own] = read.workspace_offset[layout];
                 return true;
             }
             return false;
         }},
        {"a result in the slot of the activation",
         [](plan_faults& p, std::size_t s) {
             if (!reads_workspace(p, s)) return false;
             const planned_chain& read = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             for (int m = 0; m < p.members(s); ++m) {
                 const std::int32_t makes = p.makes(s, m);
                 if (makes < 0) continue;
                 planned_chain& c = p.chains()[static_cast<std::size_t>(makes)];
                 const int as_read = layout_number(p.at(s).what.product().needs.activation);
                 c.workspace_offset[some_layout(c)] = read.workspace_offset[as_read];
                 return true;
             }
             return false;
         }},
        {"a misaligned slot",
         [](plan_faults& p, std::size_t s) {
             planned_chain& c = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             return reads_workspace(p, s) && (c.workspace_offset[some_layout(c)] += 8) > 0;
         }},
        {"an activation that nobody quantizes",
         [](plan_faults& p, std::size_t s) {
             planned_chain& c = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             if (p.is_group(s) || c.layouts.empty()) return false;
             c.layouts = {};
             return true;
         }},
        {"the activation of another chain",
         [](plan_faults& p, std::size_t s) {
             if (!reads_workspace(p, s)) return false;
             const planned_chain own = p.chains()[static_cast<std::size_t>(p.at(s).chain)];
             for (std::size_t c = 0; c < p.chains().size(); ++c) {
                 const planned_chain& o = p.chains()[c];
                 if (o.activation == own.activation || o.layouts != own.layouts ||
                     o.workspace_offset[some_layout(o)] == own.workspace_offset[some_layout(own)])
                     continue;
                 p.at(s).chain = static_cast<std::int32_t>(c);
                 return true;
             }
             return false;
         }},
        {"a workspace that is too small",
         [](plan_faults& p, std::size_t s) {
             if (s != 0 || p.workspace_bytes() == 0) return false;
             p.workspace_bytes() = 256;
             return true;
         }},
        {"a node of two steps",
         [](plan_faults& p, std::size_t s) {
             if (s + 1 >= p.steps() || p.at(s).node_count == 0 || p.at(s + 1).node_count == 0)
                 return false;
             p.covered()[static_cast<std::size_t>(p.at(s).first_node)] =
                 p.covered()[static_cast<std::size_t>(p.at(s + 1).first_node)];
             return true;
         }},
        {"a node that nobody runs",
         [](plan_faults& p, std::size_t s) {
             for (std::int32_t n = p.at(s).launch_at; n >= 0; --n)
                 if (p.node(n).role == role::engine) {
                     p.node(n).role = role::covered;
                     return true;
                 }
             return false;
         }},
        {"a node that is said to be another step's",
         [](plan_faults& p, std::size_t s) {
             if (p.steps() < 2 || p.at(s).node_count == 0) return false;
             const std::int32_t n = p.covered()[static_cast<std::size_t>(p.at(s).first_node)];
             p.node(n).step = s == 0 ? 1 : 0;
             return true;
         }},
        {"a node that both run",
         [](plan_faults& p, std::size_t s) {
             if (p.at(s).node_count < 2) return false;
             const std::int32_t n = p.covered()[static_cast<std::size_t>(p.at(s).first_node)];
             if (n == p.at(s).launch_at) return false;
             p.node(n).role = role::engine;
             return true;
         }},
        {"a result that is called elided",
         [](plan_faults& p, std::size_t s) {
             for (std::int32_t i = 0; i < p.at(s).node_count; ++i) {
                 const std::int32_t n =
                     p.covered()[static_cast<std::size_t>(p.at(s).first_node + i)];
                 if (!std::exchange(p.node(n).elided, true)) return true;
             }
             return false;
         }},
        {"an elided result that is called written",
         [](plan_faults& p, std::size_t s) {
             for (std::int32_t i = 0; i < p.at(s).node_count; ++i) {
                 const std::int32_t n =
                     p.covered()[static_cast<std::size_t>(p.at(s).first_node + i)];
                 if (std::exchange(p.node(n).elided, false)) return true;
             }
             return false;
         }},
        {"a row of the table that cannot do it",
         [](plan_faults& p, std::size_t s) {
             if (!p.is_group(s)) return false;
             const product_computation& own = p.p.rows().rows[p.at(s).row].computes.product();
             for (int r = 0; r < p.p.rows().row_count; ++r) {
                 const row& other = p.p.rows().rows[r];
                 if (other.computes.kind() == skeleton::row) continue;
                 const product_computation& c = other.computes.product();
                 if (c.kind != own.kind || c.weights == own.weights ||
                     c.weights.contains(own.weights))
                     continue;
                 p.at(s).row = r;
                 return true;
             }
             return false;
         }},
    };
}

}  // namespace

std::vector<fault> faults() {
    std::vector<fault> out;
    for (auto* list :
         {faults_of_rows, faults_of_heads, faults_of_convolutions, faults_of_delta_rules,
          faults_of_routing, faults_of_groups, faults_of_plans, faults_of_kernels})
        for (fault& f : list()) out.push_back(std::move(f));
    return out;
}

}  // namespace catena_test
