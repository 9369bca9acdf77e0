// What the planner does with a view: it is indexed, built, written, counted, and proved if asked.
#pragma once

#include "catena/error/message.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/match/moe_ffn.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/detail/draft/builder.hpp"
#include "catena/plan/detail/find/premises.hpp"
#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/detail/result/fallback.hpp"
#include "catena/plan/detail/result/step_name.hpp"
#include "catena/plan/detail/result/whole_nodes.hpp"
#include "catena/plan/detail/result/writer.hpp"
#include "catena/plan/detail/switches.hpp"
#include "catena/plan/log.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// What becomes of views, with what one planner knows.
class planning {
  public:
    explicit planning(const premises& known) : known_(known) {}

    /// The plan of a view that is well-formed.
    plan of(const graph_index& index) const {
        const graph_view& view = index.view;
        const bool any = asked().enabled && index.has(op::moe_ffn);
        const plan made = any ? of_whole_nodes(view, moe_ffns(view)) : of_nodes(index);
        if (!asked().error_on_fallback || made.counters().fallbacks() == 0) return made;
        const contents none = all_to_engine(view, first_fallback(view, made));
        none->counters = made.counters();
        return plan(none);
    }

    /// The plan of a view that is malformed.
    plan of_malformed(const graph_view& view, const status& why) const {
        const status can = ready();
        return plan(all_to_engine(view, can.ok() ? why : can));
    }

  private:
    using contents = shared<plan_contents>;
    const premises& known_;

    const table& rows() const { return known_.rows.rows(); }
    const options& asked() const { return known_.asked; }

    /// The plan of a view, node by node.
    plan of_nodes(const graph_index& index) const {
        const graph_view& view = index.view;
        if (const status can = ready(); !can.ok()) return plan(all_to_engine(view, can));
        const contents out = all_to_engine(view, rows().state);  // it may say which set stands in
        const plan made(out);
        if (!asked().enabled) return made;
        status wrong = build(index, out);
        if (wrong.ok() && asked().verify) {
            const verification found = verified(view, made);
            wrong = found.state;
            out->counters.proved = found.proved;
        }
        if (!wrong.ok()) {  // the plan or its graph
            const contents none = all_to_engine(view, wrong);
            none->counters.dropped = true;
            return plan(none);
        }
        if (const status loaded = prepared(made); !loaded.ok())
            return plan(all_to_engine(view, loaded));
        return made;
    }

    /// The plan of a view with MOE_FFNs, which `whole` marks. The engine cannot run a part of one,
    /// so one that steps would not cover whole is left to it, and the rest is planned again.
    plan of_whole_nodes(const graph_view& view, std::vector<std::uint8_t>&& whole) const {
        whole_nodes taken(view, std::move(whole));
        written_out nodes;
        for (;;) {
            nodes.build(view, taken.marks());
            graph_index index;
            index.ops = rows().ops;
            const status malformed = index.build(nodes.view());
            if (!malformed.ok()) return plan(all_to_engine(view, malformed));
            const plan made = of_nodes(index);
            if (!made.state().ok()) {
                const contents none = all_to_engine(view, made.state());
                none->counters = made.counters();
                return plan(none);
            }
            if (!taken.leave_partial(nodes, index, made))
                return at_engine_nodes(view, nodes, made, taken.left());
        }
    }

    /// Can anything be planned?
    status ready() const {
        const table& t = rows();
        if (!t.state.ok()) return t.state;
        if (t.target == nullptr || t.rows == nullptr || t.row_count <= 0)
            return failure(status_code::no_instances,
                           "the table has no arch or no rows: take one from catena::instances");
        return check(asked(), t);
    }

    contents all_to_engine(const graph_view& view, const status& why) const {
        const contents out(new plan_contents);
        out->rows = rows();
        out->asked = asked();
        out->state = why;
        out->nodes.assign(view.node_count > 0 ? static_cast<std::size_t>(view.node_count) : 0, {});
        out->first_step_at.assign(out->nodes.size() + 1, 0);
        return out;
    }

    status build(const graph_index& index, const contents& out) const {
        draft drafted(index, known_);
        plan_builder(drafted).build();
        const status written = plan_writer(drafted, *out).write();
        if (!written.ok()) return written;
        out->counters = count(index, plan(out));
        if (asked().log >= log_level::steps)
            out->step_tensors = tensors_of_steps(plan(out), index.view);
        return written;
    }

    /// The proof of a plan. Tensors that only say where they lie get addresses for it, and the plan
    /// that these get, which is the same.
    verification verified(const graph_view& view, const plan& made) const {
        verification found = verify(view, made);
        if (found.proved || !found.state.ok()) return found;
        const std::vector<tensor> addressed = with_addresses(view);
        graph_view copy = view;
        copy.tensors = addressed.data();
        graph_index index;
        index.ops = rows().ops;
        if (!index.build(copy).ok()) return found;
        const contents same = all_to_engine(copy, {});
        found.state = build(index, same);
        return found.state.ok() ? verify(copy, plan(same)) : found;
    }

    /// Loads what the steps launch on the table's device, once for each kernel.
    status prepared(const plan& made) const {
        const table& t = rows();
        if (t.prepare == nullptr || t.kernels == nullptr) return {};
        for (const step& s : made.steps()) {
            const void* const kernel = t.kernels[s.row];
            if (kernel == nullptr) continue;  // plan::launch says so
            const status loaded = t.prepare(kernel, s.config, t.device_number);
            if (loaded.ok()) continue;
            const planned_chain& c = made.chains()[static_cast<std::size_t>(s.chain)];
            const char* const chain = t.chains[c.chain].name;
            return failure(
                loaded.code,
                "%.80s cannot run on device %d: %.80s; CATENA_CHAINS_OFF=%.*s does without",
                row_name(t, s.row).c_str(), t.device_number, loaded.message,
                static_cast<int>(std::min<std::size_t>(std::strcspn(chain, "."), 40)), chain);
        }
        return {};
    }
};

}  // namespace detail

void add_owner(const premises* made) noexcept { detail::count_owner(made); }
void drop_owner(const premises* made) noexcept { detail::discount_owner(made); }

planner::planner(const table& rows, const options& asked) : known_(new premises(rows, asked)) {}

plan planner::plan(const graph_view& view) const noexcept {
    graph_index index;
    index.ops = known_->rows.rows().ops;
    const status malformed = index.build(view);
    if (malformed.ok()) return plan_indexed(index);
    catena::plan out = detail::planning(*known_).of_malformed(view, malformed);
    log_as_asked(out);
    return out;
}

plan planner::plan_indexed(const graph_index& index) const noexcept {
    catena::plan out = detail::planning(*known_).of(index);
    log_as_asked(out);
    return out;
}

}  // namespace CATENA_NAMESPACE
