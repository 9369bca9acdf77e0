#include "unfused.hpp"

#include "catena/match/detail/matcher.hpp"
#include "catena/pick/pick.hpp"
#include "catena/plan/detail/find/request.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <optional>

namespace catena::bench {
namespace {

/// A tensor's rows as an operand of a node with the shape of `value`, one for each of its rows or
/// the same for all along a dimension.
std::optional<row_operand> rows_of(const graph_view& view, std::int32_t operand,
                                   const tensor& value) {
    const tensor& t = view.at(operand);
    if (plain_rows(t) != reason::none || t.ne[0] != value.ne[0]) return {};
    row_operand out{operand, 0, strides_of(t)};
    std::int64_t* const strides[] = {&out.at.nb1, &out.at.nb2, &out.at.nb3};
    for (int d = 1; d < 4; ++d) {
        if (t.ne[d] == value.ne[d]) continue;
        if (t.ne[d] != 1) return {};
        *strides[d - 1] = 0;
    }
    return out;
}

/// ADD and MUL of two tensors: a plain row with a residual, a gated one whose function is none.
match of_two(const graph_view& view) {
    match m;
    const tensor& t = view.node(0);
    m.activation = view.nodes[0];
    const auto first = rows_of(view, t.src[0], t), second = rows_of(view, t.src[1], t);
    if (!first || !second || plain_rows(t) != reason::none) {
        m.why = {0, reason::reshaped};
        return m;
    }
    m.reads[operand::x] = *first;
    m.reads[t.kind == op::add ? operand::residual : operand::gate] = *second;
    m.stages = stage_set::of(t.kind == op::mul ? stage_kind::glu : stage_kind::add_residual);
    return m;
}

/// The only node of a view as a row step.
match alone(const graph_index& g) {
    const auto made_by = [&g](stage_kind kind) {
        pattern p;
        p.known = true;
        p.stages = stage_set::of(kind);
        return matcher(g, p).at(0);
    };
    match m;
    switch (g.view.node(0).kind) {
        case op::rms_norm:
            m = made_by(stage_kind::rms_norm);
            break;
        case op::norm:
            m = made_by(stage_kind::layer_norm);
            break;
        case op::glu:
        case op::unary:
            m = made_by(stage_kind::glu);
            break;
        case op::add:
        case op::mul:
            m = of_two(g.view);
            break;
        default:
            m.why = {0, reason::no_gate};
    }
    m.f32_needed = true;
    return m;
}

}  // namespace

unfused_copies::unfused_copies(const std::vector<small_graph>& copies, const table& rows,
                               const table& sums) {
    const planner plan{rows};
    for (const small_graph& copy : copies)
        for (int i = 0; i < static_cast<int>(copy.nodes.size()); ++i) {
            const graph_view view = copy.slice(i, i + 1);
            const tensor& t = view.node(0);
            if (launches_nothing(t.kind)) continue;
            single one;
            int launches = 1;
            if (t.kind == op::mul_mat || t.kind == op::mul_mat_id) {
                one.matmul = plan.plan(view);
                launches = static_cast<int>(one.matmul.steps().size());
                workspace_bytes_ = std::max(workspace_bytes_, one.matmul.workspace_bytes());
            } else {
                graph_index g;
                const bool whole = g.build(view).ok();
                const match m = whole ? alone(g) : match{};
                one.rows = t.kind == op::add ? sums : rows;
                if (whole && m.found()) one.how = pick(problem_of(view, m, {}), one.rows);
                addresses at(view);
                if (one.how.row >= 0) one.args = row_arguments(view, m, at);
                if (one.how.row < 0) launches = 0;
            }
            if (&copy == &copies.front()) {
                launches_ += launches;
                if (launches == 0) left_ += (left_.empty() ? "" : ", ") + std::string(t.op_name);
            }
            if (launches > 0) nodes_.push_back(std::move(one));
        }
}

status unfused_copies::launch(void* stream, void* workspace) const {
    for (const single& s : nodes_) {
        status done;
        if (s.how.row < 0)
            done = s.matmul.launch(0, stream, workspace);
        else
            done = s.rows.launch(s.rows.kernels[s.how.row], s.how.config, &s.args, sizeof(s.args),
                                 stream);
        if (!done.ok()) return done;
    }
    return {};
}

}  // namespace catena::bench
