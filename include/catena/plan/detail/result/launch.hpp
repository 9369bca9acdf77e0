// The launching half of a plan: arguments from what was stored, checks, and the table's launch
// function.
#pragma once

#include "catena/error/message.hpp"
#include "catena/pick/config.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/observer.hpp"
#include "catena/plan/plan.hpp"

#include <string>

namespace CATENA_NAMESPACE {

namespace detail {

/// The arguments of a step, from what a plan stores: the workspace is known at launch alone.
class argument_reader {
  public:
    argument_reader(const plan_contents& made, int i, void* workspace)
        : made_(made),
          step_(made.steps[static_cast<std::size_t>(i)]),
          index_(static_cast<std::size_t>(made.args[static_cast<std::size_t>(i)].index)),
          workspace_(workspace) {}

    step_args all() const {
        step_args out;
        out.kind = step_.what.kind();
        if (out.kind == skeleton::matvec)
            read(out.matvec);
        else if (out.kind == skeleton::matmul)
            read(out.matmul);
        else if (has_heads(step_.what.row().needs.stages))
            read(out.heads);
        else if (routes(step_.what.row().needs.stages))
            out.route = made_.route_launches[index_];
        else
            read(out.row);
        return out;
    }

  private:
    const plan_contents& made_;
    const step& step_;
    const std::size_t index_;
    void* const workspace_;

    void* activation(std::int32_t chain, format layout) const {
        const planned_chain& c = made_.chains[static_cast<std::size_t>(chain)];
        if (workspace_ == nullptr || !c.layouts.has(layout)) return nullptr;
        return static_cast<std::byte*>(workspace_) + c.workspace_offset[layout_number(layout)];
    }
    /// The squares of a norm that is begun lie behind its rows.
    float* squares(std::int32_t chain, std::int64_t k, std::int64_t rows) const {
        void* const at = activation(chain, format::q8_1);
        if (at == nullptr) return nullptr;
        return reinterpret_cast<float*>(static_cast<std::byte*>(at) + rows * q8_1_row_bytes(k));
    }
    template <class Args>
    void quantize_to(Args& a, std::int32_t chain) const {
        for (const layout_field<Args>& f : layout_fields<Args>) a.*f.to = activation(chain, f.type);
    }

    void read(heads_args& out) const {
        out = made_.head_launches[index_];
        if (attends(step_.what.row().needs.stages))
            out.attended.q8_1 = activation(step_.chain, format::q8_1);
    }

    void read(row_args& out) const {
        out = made_.row_launches[index_];
        quantize_to(out, step_.chain);
        for (const scaled_output_field& f : scaled_output_fields) {
            void* const data =
                layout_number(f.type) < 0 ? nullptr : activation(step_.chain, f.type);
            if (data == nullptr) continue;
            const std::int64_t values = out.rows * row_bytes(f.type, out.k);
            out.*f.to = {data, static_cast<std::byte*>(data) + values};  // its scales lie behind
        }
    }

    const stored_group& head() const { return made_.groups[index_]; }

    /// What matvecs and matmuls are told alike.
    template <class Args>
    void read_group(Args& a) const {
        a.x = head().x != nullptr ? head().x
                                  : activation(step_.chain, step_.what.product().needs.activation);
        a.x_bytes = head().x_bytes;
        a.ids = head().ids;
        a.ids_nb1 = head().ids_nb1;
        a.k = head().k;
        a.columns = head().columns;
        a.slots = head().slots;
        a.x_slots = head().x_slots;
        a.members = head().members;
        for (std::int32_t m = 0; m < head().members; ++m) {
            const stored_member& stored =
                made_.members[static_cast<std::size_t>(head().first_member + m)];
            a.member[m] = stored.args;
            if (stored.makes < 0) continue;
            quantize_to(a.member[m], stored.makes);
            if (a.member[m].begun_weight != nullptr)
                a.member[m].begun_squares = squares(stored.makes, a.member[m].rows, a.columns);
        }
    }

    void read(matmul_args& a) const {
        read_group(a);
        a.x_rows = head().x_rows;
        a.experts = head().experts;
        a.tiles = head().bands;
    }

    void read(matvec_args& a) const {
        read_group(a);
        a.norm_weight = head().norm_weight;
        a.gate = head().gate;
        a.norm_f32 = head().norm_f32;
        if (makes_norm(step_.what)) a.norm_q8_1 = activation(step_.chain, format::q8_1);
        a.eps = head().eps;
        if (step_.what.product().ends_norm) a.begun_squares = squares(step_.chain, a.k, a.columns);
        a.combined = head().combined;
        a.routing = head().routing;
        if (head().heads >= 0)
            a.heads = made_.head_launches[static_cast<std::size_t>(head().heads)];
        a.slot_weights = head().slot_weights;
        a.band_rows = step_.band_rows;
        a.finished =
            static_cast<std::int32_t>(finished_results(step_.what.product(), step_.band_rows));
        a.bands = head().bands;
        a.dense_bands = head().dense_bands;
        a.weights_early = true;  // weights alone become members
    }
};

}  // namespace detail

step_args plan::args(int i, void* workspace) const {
    return detail::argument_reader(*made_, i, workspace).all();
}

status plan::launchable(const step& s, std::int32_t missing, int node,
                        const void* workspace) const noexcept {
    const void* kernel = made_->rows.kernels == nullptr ? nullptr : made_->rows.kernels[s.row];
    if (kernel == nullptr || made_->rows.launch == nullptr)
        return failure(status_code::no_kernel,
                       "node %d: row %d of the %s table has no code here: link its instances "
                       "(Catena's own build has all with CATENA_WEIGHTS=all and CATENA_EVERY_ROW)",
                       node, s.row, made_->rows.target->name);
    if (workspace_bytes() > 0 && workspace == nullptr)
        return failure(status_code::invalid_argument,
                       "node %d: the workspace is null; the plan needs %lld bytes", node,
                       static_cast<long long>(workspace_bytes()));
    if (reinterpret_cast<std::uintptr_t>(workspace) % workspace_alignment != 0)
        return failure(status_code::invalid_argument,
                       "node %d: the workspace at %p is not aligned to %d bytes", node, workspace,
                       static_cast<int>(workspace_alignment));
    if (missing >= 0)
        return failure(status_code::invalid_argument,
                       "node %d: an operand of node %d has no address (tensor::data is null): plan "
                       "the graph after allocating it",
                       node, missing);
    return {};
}

status plan::launch(int i, void* stream, void* workspace, const observer* watch) const noexcept {
    if (i < 0 || i >= size())
        return failure(status_code::invalid_argument,
                       "node %d is not in the plan, which has %d nodes", i, size());
    const std::int32_t first = made_->first_step_at[static_cast<std::size_t>(i)];
    const std::int32_t end = made_->first_step_at[static_cast<std::size_t>(i) + 1];
    for (std::int32_t n = first; n < end; ++n)
        if (status s = launchable(made_->steps[static_cast<std::size_t>(n)],
                                  made_->args[static_cast<std::size_t>(n)].missing, i, workspace);
            !s.ok())
            return s;
    for (std::int32_t n = first; n < end; ++n) {
        const status result = watch == nullptr ? launch_step(n, stream, workspace)
                                               : launch_watched(n, stream, workspace, *watch);
        if (!result.ok()) return result;
    }
    return {};
}

status plan::launch_step(int n, void* stream, void* workspace) const noexcept {
    const step& s = made_->steps[static_cast<std::size_t>(n)];
    const step_args a = args(n, workspace);
    return made_->rows.launch(made_->rows.kernels[s.row], s.config, a.data(), a.size(), stream);
}

status plan::launch_watched(int n, void* stream, void* workspace,
                            const observer& watch) const noexcept {
    const std::string row = row_name(made_->rows, made_->steps[static_cast<std::size_t>(n)].row);
    const launch_event event{this, n, row.c_str(), stream};
    if (watch.before != nullptr) watch.before(event, watch.user);
    const status result = launch_step(n, stream, workspace);
    if (watch.after != nullptr) watch.after(event, result, watch.user);
    return result;
}

}  // namespace CATENA_NAMESPACE
