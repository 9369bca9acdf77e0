#include "replay_workspace.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

namespace {

std::string bytes_of(const workspace_part& p) {
    return "bytes " + std::to_string(p.first) + " to " + std::to_string(p.last) +
           " of the workspace (" + name(p.layout) + (p.begun ? ", a norm begun)" : ")");
}

/// The layouts that arguments of any skeleton name, and where.
template <class Args>
void add_layouts(const Args& a, const std::byte* workspace, std::int64_t rows, std::int64_t k,
                 std::int32_t chain, std::vector<workspace_part>& to) {
    const auto add = [&](format layout, const void* at) {
        if (at == nullptr) return;
        const std::int64_t first = static_cast<const std::byte*>(at) - workspace;
        to.push_back({first, first + rows * activation_row_bytes(layout, k), layout, chain, {}});
    };
    add(format::q8_1, a.q8_1);
    add(format::q8_1_mmq_d4, a.q8_1_mmq_d4);
    add(format::q8_1_mmq_ds4, a.q8_1_mmq_ds4);
    add(format::bf16_mma, a.bf16_mma);
    add(format::f16_mma, a.f16_mma);
    if constexpr (std::is_same_v<Args, row_args>) add(format::fp8_group, a.fp8_group.data);
}

/// Lets a part be a norm that is begun, whose squares lie behind its rows.
void begin(workspace_part& p, const float* squares, const std::byte* workspace, std::int64_t rows,
           std::int64_t k, std::string& fault) {
    if (reinterpret_cast<const std::byte*>(squares) - workspace != p.last)
        fault = "squares do not lie behind " + bytes_of(p);
    p.begun = true;
    p.last = p.first + rows * begun_row_bytes(k);
}

}  // namespace

std::string workspace_memory::launch(const workspace_use& use) {
    for (const workspace_part& r : use.reads) {
        if (std::string d = fault_of(r, use.stream); !d.empty()) return d;
        if (std::string d = read(r); !d.empty()) return d;
        for (const workspace_part& w : use.writes)
            if (w.meets(r)) return bytes_of(w) + " are written by the launch that reads them";
    }
    for (std::size_t i = 0; i < use.writes.size(); ++i) {
        const workspace_part& w = use.writes[i];
        if (std::string d = fault_of(w, use.stream); !d.empty()) return d;
        for (std::size_t o = 0; o < i; ++o)
            if (w.meets(use.writes[o])) return bytes_of(w) + " are written twice by one launch";
        parts_.erase(std::remove_if(parts_.begin(), parts_.end(),
                                    [&w](const workspace_part& p) { return p.meets(w); }),
                     parts_.end());
        parts_.push_back(w);
    }
    return "";
}

/// What is wrong with a range, whoever wrote there: its bounds, or another stream that touches it.
std::string workspace_memory::fault_of(const workspace_part& p, std::int32_t stream) {
    if (p.first < 0 || p.first % 256 != 0 || p.last > bytes_ || p.first >= p.last)
        return bytes_of(p) + " are not in it, or not aligned";
    bool known = false;
    for (const touched& t : touched_) {
        if (t.stream != stream && t.first < p.last && p.first < t.last)
            return bytes_of(p) + " are touched by launches of two streams, which nothing orders";
        known = known || (t.stream == stream && t.first <= p.first && p.last <= t.last);
    }
    if (!known) touched_.push_back({p.first, p.last, stream});
    return "";
}

std::string workspace_memory::read(const workspace_part& wanted) const {
    for (const workspace_part& p : parts_) {
        if (!p.meets(wanted)) continue;
        if (p.first != wanted.first || p.last != wanted.last || p.layout != wanted.layout ||
            p.begun != wanted.begun)
            return bytes_of(wanted) + " are read where " + bytes_of(p) + " were written";
        if (p.value != wanted.value)
            return bytes_of(wanted) + " are read for another value than they hold";
        return "";
    }
    return bytes_of(wanted) + " are read, and hold no activation";
}

workspace_use workspace_use_of(const plan& plan, int index, std::string& fault) {
    auto* const workspace = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 56);
    const step& s = plan.steps()[static_cast<std::size_t>(index)];
    const step_args args = plan.args(index, workspace);
    workspace_use out;
    if (s.what.kind() == skeleton::row) {
        const row_problem& what = s.what.row();
        const std::int64_t rows = what.quant_k > 0 ? what.rows * what.k / what.quant_k : what.rows;
        const std::int64_t k = what.quant_k > 0 ? what.quant_k : what.k;
        row_args by = args.row;
        if (attends(what.needs.stages)) by.q8_1 = args.heads.attended.q8_1;
        add_layouts(by, workspace, rows, k, s.chain, out.writes);
        return out;
    }
    const product_problem& what = s.what.product();
    const bool tiled = s.what.kind() == skeleton::matmul;
    if (what.needs.activation != format::f32 && !makes_norm(what)) {
        const int slots = tiled ? args.matmul.slots : args.matvec.slots;
        const int x_slots = tiled ? args.matmul.x_slots : args.matvec.x_slots;
        const std::int64_t rows = what.expert ? what.columns / slots * x_slots : what.columns;
        const auto* const x = static_cast<const std::byte*>(tiled ? args.matmul.x : args.matvec.x);
        const std::int64_t first = x - workspace;
        if (x == nullptr || first < 0 || first >= plan.workspace_bytes())
            fault = "its activation is not in the workspace";
        out.reads.push_back({first,
                             first + rows * activation_row_bytes(what.needs.activation, what.k),
                             what.needs.activation,
                             s.chain,
                             {}});
        if (!tiled && args.matvec.begun_squares != nullptr)
            begin(out.reads.back(), args.matvec.begun_squares, workspace, rows, what.k, fault);
    }
    if (!tiled && args.matvec.norm_q8_1 != nullptr) {
        matvec_member own;
        own.q8_1 = args.matvec.norm_q8_1;
        add_layouts(own, workspace, what.columns, what.k, s.chain, out.writes);
    }
    for (int m = 0; m < what.member_count; ++m) {
        const matvec_member& by = tiled ? args.matmul.member[m] : args.matvec.member[m];
        const std::int64_t columns = columns_of(what, what.member[m]), k = what.member[m].rows;
        const std::size_t before = out.writes.size();
        add_layouts(by, workspace, columns, k, plan.makes(index, m), out.writes);
        if (by.begun_weight == nullptr) continue;
        if (out.writes.size() == before) {
            fault = "a norm is begun and goes nowhere";
            continue;
        }
        begin(out.writes.back(), by.begun_squares, workspace, columns, k, fault);
    }
    return out;
}

}  // namespace catena_test
