// What the planner does with a view: it is indexed, built, written, counted, and proved if asked.
#pragma once

#include "catena/config.hpp"
#include "catena/error/message.hpp"
#include "catena/plan/build/builder.hpp"
#include "catena/plan/environment.hpp"
#include "catena/plan/log.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/result/fallback.hpp"
#include "catena/plan/result/launch.hpp"
#include "catena/plan/result/report.hpp"
#include "catena/plan/result/step_name.hpp"
#include "catena/plan/result/writer.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

CATENA_PLANNING planner::planner(const table& rows, const options& asked) : known_(rows, asked) {}

CATENA_PLANNING plan planner::plan(const graph_view& view) const noexcept {
    graph_index index;
    index.ops = rows().ops;
    const status malformed = index.build(view);
    if (malformed.ok()) return plan_indexed(index);
    catena::plan out = all_to_engine(view);
    out.state_ = ready();
    if (out.state_.ok()) out.state_ = malformed;
    log_as_asked(out);
    return out;
}

CATENA_PLANNING plan planner::plan_indexed(const graph_index& index) const noexcept {
    catena::plan out = planned(index);
    log_as_asked(out);
    return out;
}

CATENA_PLANNING plan planner::planned(const graph_index& index) const {
    const graph_view& view = index.view;
    catena::plan out = all_to_engine(view);
    out.state_ = ready();
    if (!out.state_.ok()) return out;
    out.state_ = rows().state;  // it may say which set stands in
    if (!known_.asked.enabled) return out;
    status wrong = build(index, out);
    if (wrong.ok() && known_.asked.verify) {
        const verification found = verified(view, out);
        wrong = found.state;
        out.counters_.proved = found.proved;
    }
    if (!wrong.ok()) return dropped(view, wrong);
    if (const status ready = prepared(out); !ready.ok()) {
        catena::plan none = all_to_engine(view);
        none.state_ = ready;
        return none;
    }
    if (!known_.asked.error_on_fallback || out.counters_.fallbacks() == 0) return out;
    catena::plan none = all_to_engine(view);
    none.counters_ = out.counters_;
    none.state_ = first_fallback(view, out);
    return none;
}

CATENA_PLANNING status planner::build(const graph_index& index, catena::plan& out) const {
    plan_builder builder(index, known_);
    const status written = plan_writer(builder.build(), out).write();
    if (!written.ok()) return written;
    out.counters_ = count(index, out);
    if (known_.asked.log >= log_level::steps)
        out.step_tensors_ = detail::tensors_of_steps(out, index.view);
    return written;
}

// What the steps launch is loaded on the table's device, once for each kernel.
CATENA_PLANNING status planner::prepared(const catena::plan& made) const {
    const table& t = rows();
    if (t.prepare == nullptr || t.kernels == nullptr) return {};
    for (const step& s : made.steps()) {
        const void* const kernel = t.kernels[s.row];
        if (kernel == nullptr) continue;  // plan::launch says so
        const status ready = t.prepare(kernel, s.config, t.device_number);
        if (ready.ok()) continue;
        const planned_chain& c = made.chains()[static_cast<std::size_t>(s.chain)];
        const char* const chain = t.chains[c.chain].name;
        return failure(
            ready.code, "%.80s cannot run on device %d: %.80s; CATENA_CHAINS_OFF=%.*s does without",
            row_name(t, s.row).c_str(), t.device_number, ready.message,
            static_cast<int>(std::min<std::size_t>(std::strcspn(chain, "."), 40)), chain);
    }
    return {};
}

// All is left to the engine in place of a plan that turned out to be wrong, or whose graph did.
CATENA_PLANNING plan planner::dropped(const graph_view& view, const status& why) const {
    catena::plan out = all_to_engine(view);
    out.state_ = why;
    out.counters_.dropped = true;
    return out;
}

// The proof of a plan. Tensors that only say where they lie get addresses for it, and the plan
// that these get, which is the same.
CATENA_PLANNING verification planner::verified(const graph_view& view,
                                               const catena::plan& made) const {
    verification found = verify(view, made);
    if (found.proved || !found.state.ok()) return found;
    const std::vector<tensor> addressed = with_addresses(view);
    graph_view copy = view;
    copy.tensors = addressed.data();
    graph_index index;
    index.ops = rows().ops;
    if (!index.build(copy).ok()) return found;
    catena::plan same = all_to_engine(copy);
    found.state = build(index, same);
    return found.state.ok() ? verify(copy, same) : found;
}

CATENA_PLANNING plan planner::all_to_engine(const graph_view& view) const {
    catena::plan out;
    out.table_ = rows();
    out.options_ = known_.asked;
    out.nodes_.assign(view.node_count > 0 ? static_cast<std::size_t>(view.node_count) : 0, {});
    out.first_step_at_.assign(out.nodes_.size() + 1, 0);
    return out;
}

CATENA_PLANNING status planner::ready() const {
    const table& t = rows();
    if (!t.state.ok()) return t.state;
    if (t.target == nullptr || t.rows == nullptr || t.row_count <= 0)
        return failure(status_code::no_instances,
                       "the table has no arch or no rows: take one from catena::instances");
    return check(known_.asked, t);
}

}  // namespace CATENA_NAMESPACE
