#include "catena/plan/step.hpp"

#include "replay.hpp"

#include "replay_workspace.hpp"

#include <algorithm>
#include <set>

namespace catena_test {

using namespace catena;

void symbolic_memory::write(const tensor& t, std::int32_t writer, std::uint64_t version) {
    write(t.buffer, t.offset,
          {t.offset + static_cast<std::uint64_t>(extent_bytes(t)), writer, version});
}

void symbolic_memory::write_scratch(const tensor& t, std::int32_t writer, std::uint64_t version) {
    const std::uint64_t first = t.offset + static_cast<std::uint64_t>(extent_bytes(t));
    const std::uint64_t last = t.offset + static_cast<std::uint64_t>(t.allocated);
    if (first < last) write(t.buffer, first, {last, writer, version});
}

void symbolic_memory::write(std::int32_t buffer, std::uint64_t first, const written& w) {
    const std::uint64_t last = w.last;
    if (first == last) return;
    // Cut what lies across either end, then replace what lies between.
    for (const std::uint64_t cut : {first, last}) {
        auto after = runs_.lower_bound({buffer, cut});
        if (after == runs_.begin()) continue;
        auto before = std::prev(after);
        if (before->first.first != buffer || before->second.last <= cut) continue;
        const written tail = before->second;
        before->second.last = cut;
        runs_[{buffer, cut}] = tail;
    }
    runs_.erase(runs_.lower_bound({buffer, first}), runs_.lower_bound({buffer, last}));
    runs_[{buffer, first}] = w;
}

std::vector<symbolic_memory::run> symbolic_memory::read(const tensor& t) const {
    std::vector<run> out;
    std::uint64_t at = t.offset;
    const std::uint64_t last = at + static_cast<std::uint64_t>(extent_bytes(t));
    const auto add = [&](std::uint64_t first, std::uint64_t end, std::int32_t writer,
                         std::uint64_t version) {
        if (!out.empty() && out.back().writer == writer && out.back().version == version &&
            out.back().last == first)
            out.back().last = end;
        else
            out.push_back({first, end, writer, version});
    };
    auto it = runs_.upper_bound({t.buffer, at});
    if (it != runs_.begin() && std::prev(it)->first.first == t.buffer) --it;
    for (; at < last && it != runs_.end() && it->first.first == t.buffer && it->first.second < last;
         ++it) {
        if (it->second.last <= at) continue;
        if (it->first.second > at) add(at, it->first.second, nobody, 0);
        at = std::max(at, it->first.second);
        const std::uint64_t end = std::min(last, it->second.last);
        add(at, end, it->second.writer, it->second.version);
        at = end;
    }
    if (at < last) add(at, last, nobody, 0);
    return out;
}

namespace {

using run = symbolic_memory::run;

std::uint64_t mixed(std::uint64_t h, std::uint64_t v) {
    return (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29);
}

/// What one order of execution read and left behind.
struct replay {
    const graph_view& view;
    symbolic_memory memory;
    /// Per node, per source: what was there.
    std::vector<std::vector<std::vector<run>>> seen;
    std::vector<std::uint64_t> version;

    explicit replay(const graph_view& v)
        : view(v), seen(static_cast<std::size_t>(v.size())), version(seen.size(), 0) {}

    bool runs(int i) const {
        const tensor& t = view.node(i);
        return !launches_nothing(t.kind) && elements(t) != 0;
    }
    void read(int i, std::uint32_t skip = 0) {
        auto& sources = seen[static_cast<std::size_t>(i)];
        sources.resize(max_src);
        for (int s = 0; s < max_src; ++s) {
            const std::int32_t t = view.node(i).src[s];
            if (t == no_tensor || is_own_destination(view.node(i), view.nodes[i], t)) continue;
            if ((skip >> s & 1u) == 0)
                sources[static_cast<std::size_t>(s)] = memory.read(view.at(t));
        }
    }
    void write(int i) { memory.write(view.node(i), i, version[static_cast<std::size_t>(i)]); }
    /// The engine's own kernel also writes what was set aside behind the result.
    void write_by_engine(int i) {
        write(i);
        memory.write_scratch(view.node(i), i, ~version[static_cast<std::size_t>(i)]);
    }
};

bool overlap(const tensor& a, const tensor& b) {
    const auto end = [](const tensor& t) {
        return t.offset + static_cast<std::uint64_t>(extent_bytes(t));
    };
    return a.buffer == b.buffer && a.offset < end(b) && b.offset < end(a);
}

/// Element upon element: whoever writes it has read it.
bool same_elements(const tensor& a, const tensor& b) {
    if (a.offset != b.offset) return false;
    for (int d = 0; d < 4; ++d)
        if (a.ne[d] != b.ne[d] || (a.ne[d] > 1 && a.nb[d] != b.nb[d])) return false;
    return true;
}

/// Do the two add to the same elements, node `w` to what node `n` makes? Then one thread of a step
/// does both for an element.
bool add_in_turn(const graph_view& view, std::int32_t n, std::int32_t w) {
    const tensor& t = view.node(w);
    return view.node(n).kind == op::add && t.kind == op::add &&
           (t.src[0] == view.nodes[n] || t.src[1] == view.nodes[n]);
}

/// A convolution, the delta rule or a scan replaces some of the states that lie behind each other:
/// the block that writes an element has read that of all states that were picked.
bool replaces_some_of(const step& s, const tensor& states, const tensor& written) {
    const stage_set stages = stages_of(s.what);
    const auto bytes = static_cast<std::uint64_t>(states.nb[scans(stages) ? 3 : 1]);
    const auto all = static_cast<std::uint64_t>(extent_bytes(written));
    return (convolves(stages) || recalls(stages) || scans(stages)) && written.kind == op::cpy &&
           contiguous(states) && contiguous(written) && all % bytes == 0 &&
           (written.offset - states.offset) % bytes == 0;
}

/// A norm of one row has a barrier behind all that it reads, and writes nothing before, if
/// registers hold all of that. The routing of a token always has one.
bool read_at_once(const plan& plan, const step& s) {
    if (s.what.kind() != skeleton::row) return false;
    const row_policy& p = plan.rows().rows[s.row].policy.row();
    if (routes(stages_of(s.what))) return s.what.row().rows == 1;
    return has_norm(stages_of(s.what)) && s.what.row().rows == 1 && p.rows == 0 && p.threads > 32 &&
           p.values > 0 && p.values <= 8;
}

std::string at_node(int i, const std::string& what) {
    return "node " + std::to_string(i) + ": " + what;
}

/// Does attention read a cache in which its step has stored keys or values?
bool reads_what_it_stores(const graph_view& view, const step& s,
                          const array_view<std::int32_t>& covered, const tensor& cache) {
    return attends(stages_of(s.what)) &&
           std::any_of(covered.begin(), covered.end(), [&](std::int32_t n) {
               return view.node(n).kind == op::set_rows && overlap(view.node(n), cache);
           });
}

/// The sources of a covered node that its step does not read from the graph's memory: results of
/// the step itself, and a matmul's activation that is not f32.
std::uint32_t internal_sources(const graph_view& view, const step& s,
                               const array_view<std::int32_t>& covered, std::int32_t n) {
    const tensor& t = view.node(n);
    std::uint32_t bits =
        is_matmul(t.kind) && s.what.product().needs.activation != format::f32 ? 2u : 0u;
    for (int slot = 0; slot < max_src; ++slot) {
        std::int32_t source = t.src[slot];
        while (source != no_tensor && named_by(view.at(source)) != no_tensor)
            source = named_by(view.at(source));
        for (const std::int32_t other : covered)
            if (source != no_tensor && source == view.nodes[other]) bits |= 1u << slot;
        if (t.kind == op::flash_attn_ext && source != no_tensor &&
            reads_what_it_stores(view, s, covered, view.at(t.src[slot])))
            bits |= 1u << slot;
    }
    return bits;
}

/// What a chain quantizes: the value that its steps make or, where the engine makes it, what lies
/// in memory now.
std::vector<run> value_of(const replay& engine, const replay& now, const plan& plan,
                          std::int32_t chain) {
    const graph_view& view = engine.view;
    const planned_chain& c = plan.chains()[static_cast<std::size_t>(chain)];
    const tensor& value = view.at(c.activation);
    const bool by_step =
        !c.stages.empty() || c.made_by < 0 ||
        plan.steps()[static_cast<std::size_t>(c.made_by)].what.kind() != skeleton::row;
    if (!by_step) return now.memory.read(value);
    for (int i = 0; i < view.size(); ++i)
        if (view.nodes[i] == c.activation)
            return {{value.offset, value.offset + static_cast<std::uint64_t>(extent_bytes(value)),
                     i, engine.version[static_cast<std::size_t>(i)]}};
    return {};
}

/// Lets step `index` use the workspace: its matmuls must multiply what they read in the engine's
/// order.
std::string use_workspace(workspace_memory& memory, const replay& engine, const replay& now,
                          const plan& plan, int index) {
    const graph_view& view = engine.view;
    const step& s = plan.steps()[static_cast<std::size_t>(index)];
    std::string fault;
    workspace_use use = workspace_use_of(plan, index, fault);
    if (!fault.empty()) return at_node(s.launch_at, fault);
    use.stream = view.node(s.launch_at).stream;
    for (workspace_part& w : use.writes) {
        if (w.chain < 0) return at_node(s.launch_at, "it quantizes a value of no chain");
        w.value = value_of(engine, now, plan, w.chain);
    }
    std::vector<workspace_part> reads = std::move(use.reads);
    use.reads.clear();
    for (const std::int32_t n : plan.covered(s)) {
        if (reads.empty() || !is_matmul(view.node(n).kind)) continue;
        use.reads.push_back(reads[0]);
        use.reads.back().value = engine.seen[static_cast<std::size_t>(n)][1];
    }
    const std::string d = memory.launch(use);
    return d.empty() ? "" : at_node(s.launch_at, "its step: " + d);
}

/// The footprint of an action: the tensors that it really reads and writes.
struct footprint {
    std::int32_t node = -1;
    std::vector<std::int32_t> reads;
    std::int32_t written = no_tensor;
};

bool conflict(const graph_view& view, const footprint& a, const footprint& b) {
    const auto meets = [&view](std::int32_t w, std::int32_t t) {
        return w != no_tensor && t != no_tensor && overlap(view.at(w), view.at(t));
    };
    bool met = meets(a.written, b.written);
    for (const std::int32_t r : b.reads) met = met || meets(a.written, r);
    for (const std::int32_t r : a.reads) met = met || meets(b.written, r);
    return met;
}

/// The engine orders its streams by the nodes of its own order. So a node that a step moves must
/// touch nothing that a node of another stream touches.
std::string crossed_stream(const replay& engine, const plan& plan) {
    const graph_view& view = engine.view;
    std::vector<footprint> actions;
    for (int i = 0; i < view.size(); ++i) {
        if (!engine.runs(i)) continue;
        footprint f;
        f.node = i;
        const std::int32_t by = plan.at(i).step;
        std::uint32_t skip = 0;
        if (by >= 0) {
            const step& s = plan.steps()[static_cast<std::size_t>(by)];
            if (view.node(i).stream != view.node(s.launch_at).stream)
                return at_node(i, "its step is launched on another stream");
            skip = internal_sources(view, s, plan.covered(s), i);
        }
        for (int s = 0; s < max_src; ++s)
            if (view.node(i).src[s] != no_tensor && (skip >> s & 1u) == 0)
                f.reads.push_back(view.node(i).src[s]);
        if (!plan.at(i).elided) f.written = view.nodes[i];
        actions.push_back(std::move(f));
    }
    for (const footprint& moved : actions) {
        const std::int32_t by = plan.at(moved.node).step;
        if (by < 0 || plan.steps()[static_cast<std::size_t>(by)].launch_at == moved.node) continue;
        for (const footprint& other : actions)
            if (view.node(other.node).stream != view.node(moved.node).stream &&
                conflict(view, moved, other))
                return at_node(moved.node, "it moves, and meets node " +
                                               std::to_string(other.node) + " of another stream");
    }
    return "";
}

}  // namespace

std::string difference(const graph_view& view, const plan& plan) {
    replay engine(view);
    for (int i = 0; i < view.size(); ++i) {
        if (!engine.runs(i)) continue;
        engine.read(i);
        std::uint64_t h = static_cast<std::uint64_t>(i) + 1;
        for (const auto& source : engine.seen[static_cast<std::size_t>(i)])
            for (const run& r : source) h = mixed(mixed(h, r.first - r.last), r.version);
        engine.version[static_cast<std::size_t>(i)] = h;
        engine.write_by_engine(i);
    }

    replay planned(view);
    planned.version = engine.version;  // a node that reads the same makes the same
    workspace_memory workspace(plan.workspace_bytes());
    const auto compare = [&](int i) -> std::string {
        const auto node = static_cast<std::size_t>(i);
        for (std::size_t s = 0; s < planned.seen[node].size(); ++s)
            if (!planned.seen[node][s].empty() && planned.seen[node][s] != engine.seen[node][s])
                return at_node(i, "source " + std::to_string(s) +
                                      " reads other bytes than in the engine's order");
        return "";
    };

    std::size_t next = 0;
    for (int i = 0; i < view.size(); ++i) {
        for (; next < plan.steps().size() && plan.steps()[next].launch_at == i; ++next) {
            const step& s = plan.steps()[next];
            const array_view<std::int32_t> covered = plan.covered(s);
            const bool is_row = s.what.kind() == skeleton::row;
            for (const std::int32_t n : covered) {
                const std::uint32_t skip = internal_sources(view, s, covered, n);
                planned.read(n, skip);
                for (int src = 0; src < max_src; ++src) {
                    const std::int32_t t = view.node(n).src[src];
                    if (t == no_tensor || (skip >> src & 1u) != 0) continue;
                    for (const std::int32_t w : covered)
                        if (!plan.at(w).elided && overlap(view.at(t), view.node(w)) &&
                            !((is_row || w == n || add_in_turn(view, n, w)) &&
                              same_elements(view.at(t), view.node(w))) &&
                            !replaces_some_of(s, view.at(t), view.node(w)) &&
                            !read_at_once(plan, s))
                            return at_node(
                                w, "its step writes over what another of its threads reads");
                }
                if (std::string d = compare(n); !d.empty()) return d;
            }
            if (std::string d =
                    use_workspace(workspace, engine, planned, plan, static_cast<int>(next));
                !d.empty())
                return d;
            for (const std::int32_t n : covered)
                if (!plan.at(n).elided) planned.write(n);
            for (const std::int32_t n :
                 covered) {  // nothing written by this step may lie over another result
                if (plan.at(n).elided) continue;
                for (const run& r : planned.memory.read(view.node(n)))
                    if (r.writer != n) return at_node(n, "two results of one step share memory");
            }
        }
        if (plan.at(i).role != role::engine || !planned.runs(i)) continue;
        planned.read(i);
        if (std::string d = compare(i); !d.empty()) return d;
        planned.write_by_engine(i);
    }

    for (int i = 0; i < view.size(); ++i)
        if (view.node(i).stream != view.node(0).stream) {
            if (std::string d = crossed_stream(engine, plan); !d.empty()) return d;
            break;
        }

    std::vector<int> edges(static_cast<std::size_t>(view.tensor_count), 0);
    for (int i = 0; i < view.size(); ++i)
        for (const std::int32_t src : view.node(i).src)
            if (src != no_tensor) ++edges[static_cast<std::size_t>(src)];
    for (int i = 0; i < view.size(); ++i) {
        const tensor& t = view.node(i);
        const int inside = edges[static_cast<std::size_t>(view.nodes[i])];
        const bool wanted = t.uses == unknown_uses || t.uses == 0 || t.uses > inside ||
                            (t.flags & flag_output) != 0;
        const std::vector<run> left = engine.memory.read(t);
        if (!wanted || left.size() != 1 || left[0].writer == symbolic_memory::nobody) continue;
        const std::int32_t writer = view.nodes[left[0].writer];
        if (writer != view.nodes[i] && writer != t.view_src)
            continue;  // the engine itself did not keep it
        if (planned.memory.read(t) != left)
            return at_node(i, "its result is wanted outside and is not left behind");
    }
    return "";
}

std::string inconsistency(const graph_view& view, const plan& plan) {
    if (plan.size() != view.size()) return "the plan has another size than the view";
    std::vector<std::int32_t> step_of(static_cast<std::size_t>(view.size()), -1);
    std::set<std::int32_t> launches;
    std::int32_t last = -1;
    for (std::size_t s = 0; s < plan.steps().size(); ++s) {
        const step& step = plan.steps()[s];
        if (step.launch_at < last) return "the steps are not in launch order";
        last = step.launch_at;
        launches.insert(step.launch_at);
        for (const std::int32_t n : plan.covered(step)) {
            if (step_of[static_cast<std::size_t>(n)] >= 0) return at_node(n, "two steps cover it");
            step_of[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(s);
        }
        if (step.what.kind() != skeleton::row) {
            const product_problem& what = step.what.product();
            int outputs = 0;
            for (const std::int32_t n : plan.covered(step)) outputs += plan.at(n).elided ? 0 : 1;
            for (int m = 0; m < what.member_count; ++m) outputs += what.member[m].written ? 0 : 1;
            const int norm = what.needs.emits.has(format::f32) ? 1 : 0;  // its own
            const int routing = routes(what) ? 2 : 0;                    // experts and weights
            int stored = 0;                                              // in caches
            for (const std::int32_t n : plan.covered(step))
                stored += view.node(n).kind == op::set_rows && !plan.at(n).elided ? 1 : 0;
            if (outputs != what.member_count + norm + routing + stored)
                return "a group writes other results than its members'";
        }
        if (step.row < 0 || step.row >= plan.rows().row_count) return "a step has no row";
    }
    for (int i = 0; i < view.size(); ++i) {
        const node_plan& n = plan.at(i);
        const bool launched = launches.count(i) != 0;
        if (n.step != step_of[static_cast<std::size_t>(i)])
            return at_node(i, "its step does not cover it");
        const role expected = launched ? role::launch : n.step >= 0 ? role::covered : role::engine;
        if (n.role != expected) return at_node(i, std::string("its role is ") + name(n.role));
        if (launched && n.step < 0)
            return at_node(i, "a step is launched in place of a node that it leaves out");
        if (n.elided && n.step < 0) return at_node(i, "it is elided, and nobody covers it");
    }
    return "";
}

}  // namespace catena_test
