// What a launch that does more should take beside two launches: by medians if all three have one,
// else by the cost model.
#pragma once

#include "catena/plan/detail/find/choices.hpp"
#include "catena/plan/detail/order/schedule.hpp"

#include <tuple>
#include <utility>

namespace CATENA_NAMESPACE {

class weigher {
  public:
    weigher(const graph_index& g, schedule& accepted, choices& rows)
        : g_(g), view_(g.view), accepted_(accepted), rows_(rows) {}

    /// Why a group that computes its activation is not better than the group behind a row step, or
    /// reason::none.
    obstacle inside(const match& m, const product_problem& group) {
        obstacle why = inside_.of({group, m.stages}, [&] { return weighed_inside(m, group); });
        why.node = m.node;
        return why;
    }

    /// Does a norm of an output take less time if the output's launch begins it and its readers'
    /// launch ends it, than in a launch between the two? `group` has not the output yet.
    bool beginning_pays(const match& m, const product_problem& group, const output& o) {
        product_problem reads;
        for (const reader& r : m.readers) {
            if (reads.member_count == max_members) return false;
            if (reads.member_count == 0)
                reads = empty_group(view_, skeleton::matvec, format::q8_1, r.node);
            add_member(view_, reads, plain_output(view_, r.node), false, true);
        }
        product_problem makes = group;
        add_member(view_, makes, o, false, true);
        return beginning_.of({makes, reads}, [&] {
            product_problem begins = group, ends = reads;
            add_member(view_, begins, o, true, true);
            begins.begins_norm = ends.ends_norm = true;
            if (rows_.pick(begins).row < 0 || rows_.pick(ends).row < 0) return false;
            const expected_time norm = rows_.time(problem_of(view_, m, m.layouts()));
            return shorter(rows_.time(begins) + rows_.time(ends),
                           rows_.time(makes) + norm + rows_.time(reads));
        });
    }

    /// Does a value take less time if the launch that reads it quantizes it, than if the launch
    /// that makes it does? `group` has not the output yet. The readers' launch: `reads` what is
    /// quantized, or `quantizes`.
    bool quantizing_pays(const product_problem& group, const output& o,
                         const product_problem& reads, const product_problem& quantizes) {
        product_problem makes = group, writes = group;
        add_member(view_, makes, o, true, false);
        add_member(view_, writes, o, false, true);
        return quantizing_.of({makes, reads}, [&] {
            if (rows_.pick(writes).row < 0 || rows_.pick(quantizes).row < 0) return false;
            return shorter(rows_.time(writes) + rows_.time(quantizes),
                           rows_.time(makes) + rows_.time(reads));
        });
    }

    /// Does the launch of these experts with their sum, and a norm of it, take less time than the
    /// launch without the sum, and a norm that adds it up? In both cases the norm is taken to add
    /// what else joins the sum: a shared expert's result and a residual. (With few tokens the
    /// shared expert's launch may, which takes less time.) If nothing joins, the norm's readers may
    /// compute it. `group` has no members yet. If no norm reads the sum, the engine adds it up.
    /// The answer depends on the tokens, and with it what the norm adds up, so it is no where bits
    /// must not depend on them.
    bool combining_pays(const product_problem& group, const output& apart, const output& together) {
        if (rows_.same_bits()) return false;
        product_problem with = group, without = group;
        add_member(view_, with, together, false, true);
        add_member(view_, without, apart, false, true);
        std::int32_t value = together.result;
        int joins = 0;  // ADDs to the norm's input
        while (!g_.read_by(value, op::rms_norm) && joins < 2) {
            const use u = reader_past_scale(g_, value);
            if (u.node < 0 || g_.kind(u.node) != op::add) break;
            value = view_.nodes[u.node];
            ++joins;
        }
        if (!g_.read_by(value, op::rms_norm)) return rows_.pick(with).row >= 0;
        const product_problem inside = joins == 0 ? inside_readers(value) : product_problem{};
        return combining_.of({with, inside, joins}, [&] {
            constexpr stage_set sum_of_experts = stage_kind::combine | stage_kind::add_residual;
            row_problem reads;
            reads.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
            reads.needs.emits = format_set::of(format::q8_1);
            reads.k = reads.quant_k = view_.at(together.result).ne[0];
            reads.rows = with.tokens;
            row_problem adds = reads;
            const int shared = joins > 1 ? 1 : 0;
            if (joins > 0) {
                reads.needs.stages = reads.needs.stages | sum_of_experts;
                reads.sum = true;
                reads.slots = 1 + shared;
            }
            adds.needs.stages = adds.needs.stages | stage_kind::combine;
            if (joins > 0 || together.parts.has(epilogue_part::residual))
                adds.needs.stages = adds.needs.stages | stage_kind::add_residual;
            adds.sum = true;
            adds.slots = slots_of(with) + shared;
            if (rows_.pick(with).row < 0) return false;
            for (const problem& p : {problem(without), problem(reads), problem(adds)})
                if (rows_.pick(p).row < 0) return true;
            const expected_time launch = rows_.time(with),
                                two_launches = rows_.time(without) + rows_.time(adds);
            if (shorter(launch + rows_.time(reads), two_launches)) return true;
            product_problem behind = inside;  // which reads the norm of a row step
            behind.needs.stages = {};
            return inside.member_count > 0 && rows_.pick(behind).row >= 0 &&
                   shorter(launch + rows_.time(inside), two_launches + rows_.time(behind));
        });
    }

    /// Does the last member take less time beside the others than in a launch of its own, if it is
    /// a dense matrix beside experts? The blocks of each token read it again, if from L2, so with
    /// one token it does. With several its bits are others.
    bool beside_pays(const product_problem& together) {
        const int last = together.member_count - 1;
        if (!together.expert || together.member[last].experts > 0 || together.tokens == 1)
            return true;
        return !rows_.same_bits() && beside_.of(together, [&] {
            product_problem alone = members_of(together, last, 1);
            alone.expert = false;
            alone.columns = std::exchange(alone.tokens, 0);
            const product_problem experts = members_of(together, 0, last);
            if (rows_.pick(experts).row < 0 || rows_.pick(alone).row < 0) return true;
            return shorter(rows_.time(together), rows_.time(experts) + rows_.time(alone));
        });
    }

  private:
    const graph_index& g_;
    const graph_view& view_;
    schedule& accepted_;
    choices& rows_;
    trial_step together_;  // scratch: a norm and its readers
    /// By the group that makes its activation and what that is: the row step in its stead follows.
    memo<std::tuple<product_problem, stage_set>, obstacle> inside_;
    /// By the experts that would be added up, the readers of a norm of that which may compute it,
    /// and how many ADDs follow before the norm: does it pay?
    memo<std::tuple<product_problem, product_problem, int>, bool> combining_;

    /// By a launch of experts and dense matrices: do these pay there?
    memo<product_problem, bool> beside_;

    /// By the launch that makes a norm's input and the one that reads the norm: does it pay to
    /// begin the norm in the first and to end it in the second?
    memo<std::tuple<product_problem, product_problem>, bool> beginning_;

    /// By the launch that makes a value and quantizes it, and the one that reads that: do readers
    /// that quantize take less time?
    memo<std::tuple<product_problem, product_problem>, bool> quantizing_;

    /// Some members of a launch, as a launch.
    static product_problem members_of(const product_problem& all, int first, int count) {
        product_problem out = all;
        out.member_count = count;
        out.needs.weights = {};
        out.needs.epilogue = {};
        for (int i = 0; i < count; ++i) {
            const problem_member& m = out.member[i] = all.member[first + i];
            out.needs.weights = out.needs.weights | m.type;
            out.needs.epilogue = out.needs.epilogue | m.epilogue;
        }
        return out;
    }

    /// The matrices that read the norm of a value, as the launch that computes the norm. Without
    /// members: they cannot be one launch.
    product_problem inside_readers(std::int32_t value) {
        product_problem out;
        together_.nodes.clear();
        for (const use& norm : g_.readers(value)) {
            if (g_.kind(norm.node) != op::rms_norm) continue;
            const use times = g_.only_reader(view_.nodes[norm.node]);
            if (times.node < 0 || g_.kind(times.node) != op::mul) return {};
            together_.nodes.push_back({norm.node, true, 0, 0});
            together_.nodes.push_back({times.node, true, 1u << times.slot, 0});
            for (const use& u : g_.readers(view_.nodes[times.node])) {
                const tensor& t = view_.node(u.node);
                const bool multiplied =
                    t.kind == op::mul_mat && u.slot == 1 && t.src[0] != no_tensor;
                if (!multiplied || out.member_count == max_members) return {};
                if (out.member_count == 0)
                    out = empty_group(view_, skeleton::matvec, format::q8_1, u.node);
                add_member(view_, out, plain_output(view_, u.node), false, true);
                together_.nodes.push_back({u.node, false, 1u << u.slot, 0});
            }
        }
        if (out.member_count == 0) return {};
        out.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
        together_.launch_at = (together_.nodes.end() - out.member_count)->node;
        return accepted_.blocker(together_) < 0 ? out : product_problem{};
    }

    obstacle weighed_inside(const match& m, const product_problem& inside) {
        const picked in = rows_.pick(inside);
        if (in.row < 0) return {m.node, reason::no_norm_inside};
        const bool float_weights = has_float_weights(inside.needs.weights);
        product_problem group = inside;
        group.needs.stages = {};
        group.needs.emits = {};
        group.gate_k = 0;
        group.needs.activation = float_weights ? format::f32 : format::q8_1;
        const picked behind = rows_.pick(group);
        row_problem made = problem_of(view_, m, m.layouts());
        if (float_weights) made.needs.emits = made.needs.emits | format::f32;
        const picked row = rows_.pick(made);
        if (behind.row < 0 || row.row < 0) return {};
        const auto [inside_us, apart_us] =
            comparable(expected_time(in), expected_time(behind) + expected_time(row));
        if (inside_us < apart_us) return {};
        return {m.node, reason::norm_slower, static_cast<std::int64_t>(inside_us * 1000),
                static_cast<std::int64_t>(apart_us * 1000)};
    }
};

}  // namespace CATENA_NAMESPACE
