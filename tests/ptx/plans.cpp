// Plans on the interpreter of PTX: all steps of a plan as one stream, each grid launched
// programmatically behind the last, in orders of chance. They leave in memory what the host
// executor leaves, to the byte. And steps that are wrong behind one another, which are found.
#include "compiled_rows.hpp"
#include "kernels.hpp"
#include "machine.hpp"
#include "tables.hpp"
#include "warp.hpp"

#include "catena/exec/host.hpp"
#include "catena/format/random.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <memory>

using namespace catena;
using namespace catena_test;

namespace {

constexpr std::int64_t k = 512, experts = 3, slots = 2;

/// A norm, a gated network with its residual, and a norm that two matrices read.
graph_builder network(format weights, std::int64_t tokens) {
    graph_builder g;
    const id x = g.input(format::f32, {k, tokens}), h = g.scaled_norm(x);
    const id inner = g.glu(g.matmul(weights, k, h), g.matmul(weights, k, h));
    const id sum = g.add(g.matmul(weights, k, inner), x), next = g.scaled_norm(sum);
    g.other({h, sum, g.matmul(weights, 96, next), g.matmul(weights, 64, next)});
    return g;
}

/// The network is one of two experts that each token has picked.
graph_builder network_of_experts(format weights, std::int64_t tokens) {
    graph_builder g;
    const id x = g.input(format::f32, {k, tokens}), h = g.scaled_norm(x);
    const id ids = g.input(format::i32, {slots, tokens});
    const auto picked = [&](std::int64_t rows, id from) {
        return g.mul_mat_id(g.weight(weights, {k, rows, experts}), from, ids);
    };
    const id each = g.reshape(h, {k, 1, tokens});
    const id down = picked(k, g.glu(picked(k, each), picked(k, each)));
    const id weighted = g.mul(down, g.input(format::f32, {1, slots, tokens}));
    const auto slot = [&](std::int64_t which) {
        const id t = g.view(weighted, {k, tokens}, which * g[weighted].nb[1]);
        g[t].nb[1] = g[weighted].nb[2];
        g[t].nb[2] = g[t].nb[3] = g[t].nb[1] * tokens;
        return t;
    };
    const id first = slot(0), second = slot(1);
    const id sum = g.add(g.add(first, second), x), next = g.scaled_norm(sum);
    g.other({h, sum, g.matmul(weights, 96, next)});
    return g;
}

/// A norm, a matrix for each of two heads, and a matrix for what the heads make of a token.
graph_builder network_of_heads(format weights, std::int64_t tokens) {
    constexpr std::int64_t heads = 2, part = k / heads;
    graph_builder g;
    const id h = g.scaled_norm(g.input(format::f32, {k, tokens})), q = g.matmul(weights, k, h);
    const auto turned = [&g](id x, shape ne, std::int64_t nb1, std::int64_t nb2) {
        const id t = g.view(x, ne);
        g[t].kind = op::permute;
        g[t].nb[1] = nb1, g[t].nb[2] = nb2;
        return t;
    };
    const id made = g.mul_mat(g.weight(weights, {part, k, heads}),
                              turned(q, {part, tokens, heads}, 4 * k, 4 * part));
    const id all = turned(made, {k, heads, tokens}, 4 * k * tokens, 4 * k);
    const id copy = g.node(op::cont, format::f32, {k * heads, tokens}, {all});
    g.other({h, q, g.matmul(weights, 96, copy)});
    return g;
}

/// The memory of a graph and its plan.
class room {
  public:
    explicit room(graph_builder& g) {
        for (tensor& t : g.tensors) {
            if (t.view_src != no_tensor) continue;
            const std::string name = "tensor " + std::to_string(&t - g.tensors.data());
            part& p = parts_.emplace_back(part{name, kind_of(t)});
            p.initial = first_bytes(t);
            t.data = p.place();
        }
        for (tensor& t : g.tensors) {
            if (t.view_src == no_tensor) continue;
            const tensor& root = g[t.view_src];
            t.data = static_cast<std::byte*>(root.data) + (t.offset - root.offset);
        }
    }
    void* workspace(std::int64_t count) {
        part& p = parts_.emplace_back(part{"workspace", ptx::content::uninitialized});
        p.initial = bytes(static_cast<std::size_t>(count), untouched);
        return p.place();
    }

    void reset() {
        for (part& p : parts_) std::copy(p.initial.begin(), p.initial.end(), p.at);
    }
    std::vector<bytes> read() const {
        std::vector<bytes> all;
        for (const part& p : parts_) all.emplace_back(p.at, p.at + p.initial.size());
        return all;
    }

    ptx::global_memory as_global(ptx::content made) const {
        ptx::global_memory m;
        for (const part& p : parts_)
            m.add(p.name, p.at, p.initial.size(),
                  p.kind == ptx::content::uninitialized ? made : p.kind);
        return m;
    }
    void declare(exec::host_device& device) const {
        for (const part& p : parts_)
            device.add(p.name, p.at, p.initial.size(),
                       p.kind == ptx::content::constant      ? exec::memory::constant
                       : p.kind == ptx::content::initialized ? exec::memory::initialized
                                                             : exec::memory::uninitialized);
    }

  private:
    struct part {
        std::string name;
        ptx::content kind;
        bytes initial = {}, memory = {};
        std::byte* at = nullptr;

        std::byte* place() {
            memory.resize(initial.size() + workspace_alignment);
            void* from = memory.data();
            std::size_t space = memory.size();
            return at = static_cast<std::byte*>(
                       std::align(workspace_alignment, initial.size(), from, space));
        }
    };

    static ptx::content kind_of(const tensor& t) {
        return t.weight             ? ptx::content::constant
               : t.kind == op::none ? ptx::content::initialized
                                    : ptx::content::uninitialized;
    }
    bytes first_bytes(const tensor& t) {
        bytes out(static_cast<std::size_t>(extent_bytes(t)), untouched);
        const std::uint64_t seed = parts_.size();
        if (t.type == format::i32) {
            std::vector<std::int32_t> ids(out.size() / sizeof(std::int32_t));
            for (std::size_t i = 0; i < ids.size(); ++i)
                ids[i] = static_cast<std::int32_t>(random_bits(seed, i) % experts);
            return to_bytes(ids);
        }
        if (t.kind == op::none) fill_random_blocks(t.type, seed, 0, out);
        return out;
    }

    std::deque<part> parts_;
};

/// The kernels of sm_90 as nvcc made them, each read when it is first asked for.
class compiled_kernels {
  public:
    const ptx::program* find(const std::string& entry) {
        const auto known = programs_.find(entry);
        if (known != programs_.end()) return &known->second;
        const ptx::module* in = module_with(entry);
        return in == nullptr ? nullptr
                             : &programs_.emplace(entry, ptx::bind(*in, entry)).first->second;
    }

    const ptx::module* module_with(const std::string& entry) {
        for (const std::string& file : made_for("sm_90", "")) {
            if (!modules_.contains(file)) modules_.emplace(file, read_ptx(file));
            if (modules_.at(file).find(entry) != nullptr) return &modules_.at(file);
        }
        return nullptr;
    }

  private:
    std::map<std::string, ptx::module> modules_;
    std::map<std::string, ptx::program> programs_;
};
compiled_kernels& kernels() {
    static compiled_kernels all;
    return all;
}

/// A launch as the table would make it.
struct ready {
    int row;
    launch_config config;
    step_args args;
    const ptx::program* code;

    ptx::launch as_ptx(bool dependent) const {
        const auto* first = static_cast<const std::byte*>(args.data());
        return {.code = *code,
                .parameters = {first, first + args.size()},
                .blocks = static_cast<int>(config.blocks),
                .threads = static_cast<int>(config.threads),
                .shared_bytes = config.shared_bytes,
                .cluster_blocks = static_cast<int>(config.cluster),
                .dependent = dependent};
    }
};

/// A graph planned for sm_90 in its memory.
struct planned {
    graph_builder g;
    room in{g};
    table rows = instances::on_host(instances::table_named("sm_90"));
    catena::plan plan;
    std::vector<ready> steps;
    bool compiled = true;  ///< the build has all kernels: CATENA_WEIGHTS can leave some out

    explicit planned(graph_builder of) : g(std::move(of)), plan(planner(rows).plan(g.view())) {
        REQUIRE(plan.state().ok());
        void* workspace =
            plan.workspace_bytes() > 0 ? in.workspace(plan.workspace_bytes()) : nullptr;
        for (int i = 0; i < std::ssize(plan.steps()); ++i) {
            const step& s = plan.steps()[static_cast<std::size_t>(i)];
            const ptx::program* code = kernels().find(entry_of(rows, s.row));
            compiled = compiled && code != nullptr;
            REQUIRE(s.config.dependent);
            steps.push_back({s.row, s.config, plan.args(i, workspace), code});
        }
    }

    std::string names() const {
        std::string out;
        for (const ready& r : steps) out += row_name(rows, r.row) + "\n";
        return out;
    }
    /// The first is launched behind all that came before; `overlap`: the others as the plan has
    /// them. `made`: what steps write is that before.
    std::string run(bool overlap, std::uint64_t seed,
                    ptx::content made = ptx::content::uninitialized) {
        ptx::global_memory memory = in.as_global(made);
        std::vector<ptx::launch> launches;
        for (const ready& r : steps) {
            launches.push_back(r.as_ptx(overlap && !launches.empty()));
            for (const auto& g : r.code->globals)
                if (memory.find(g.at, g.size, 0) < 0)
                    memory.add(g.name, g.at, g.size, ptx::content::constant);
        }
        in.reset();
        try {
            ptx::run(launches, memory, std::mt19937_64(seed));
            return "";
        } catch (const ptx::finding& what) {
            return what.what();
        }
    }
    std::string run_on_host() {
        exec::host_device device;
        in.declare(device);
        in.reset();
        for (const ready& r : steps) {
            const status done =
                rows.launch(rows.kernels[r.row], r.config, r.args.data(), r.args.size(), &device);
            if (!done.ok()) return done.message;
        }
        return "";
    }
    /// The host executor rounds as the device does in all of them.
    bool same_on_host() const {
        return std::ranges::none_of(
            steps, [&](const ready& r) { return bits_of_device(rows.rows[r.row].computes); });
    }
};

/// False: the build lacks kernels for it.
bool overlaps(graph_builder g) {
    planned p(std::move(g));
    if (!p.compiled) return false;
    INFO(p.names());
    REQUIRE(p.steps.size() > 1);
    REQUIRE((p.same_on_host() ? p.run_on_host() : p.run(false, 0)) == "");
    const std::vector<bytes> wanted = p.in.read();
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        REQUIRE(p.run(true, seed) == "");
        CHECK(p.in.read() == wanted);
    }
    return true;
}

/// That kernel without its waits for the grid before.
ptx::program without_waits(const std::string& entry) {
    ptx::module lacking = *kernels().module_with(entry);
    for (ptx::function& f : lacking.functions)
        if (f.name == entry)
            std::erase_if(f.body,
                          [](const ptx::statement& s) { return s.op == "griddepcontrol.wait"; });
    return ptx::bind(lacking, entry);
}

/// In every order.
void finds_no_wait(planned& p) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const std::string found = p.run(true, seed, ptx::content::initialized);
        INFO(found);
        CHECK(found.find("no griddepcontrol.wait is in between") != std::string::npos);
    }
}

}  // namespace

TEST_CASE("steps of plans for sm_90 that overlap leave what they leave one after the other",
          "[sm_90_plan]") {
    int networks = 0;
    for (const format weights : {format::q4_K, format::q6_K, format::q8_0, format::mxfp4,
                                 format::iq3_s, format::f16, format::f32})
        for (const std::int64_t tokens : {1, 4, 16}) {
            CAPTURE(name(weights), tokens);
            networks += overlaps(network(weights, tokens));
            networks += overlaps(network_of_experts(weights, tokens));
            if (info(weights).role == format_role::weight)
                networks += overlaps(network_of_heads(weights, tokens));
        }
    CHECK(networks > 0);
}

TEST_CASE("a step of a plan for sm_90 that lacks its wait for the grid before is found",
          "[sm_90_plan]") {
    const std::int64_t tokens = GENERATE(1, 4);  // a norm inside, and one of two launches
    planned p(network(format::q4_K, tokens));
    INFO(p.names());
    const auto ends_norm = [](const step& s) {
        return s.what.kind() == skeleton::matvec && s.what.product().ends_norm;
    };
    const array_view<step> steps = p.plan.steps();
    REQUIRE(std::any_of(steps.begin(), steps.end(), ends_norm) == (tokens > 1));
    const std::vector<ready> right = p.steps;
    for (std::size_t i = 1; i < right.size(); ++i) {
        p.steps = right;
        const ptx::program lacking = without_waits(entry_of(p.rows, right[i].row));
        p.steps[i].code = &lacking;
        finds_no_wait(p);
    }
}

TEST_CASE("a step for sm_90 that writes before its wait what the grid before reads is found",
          "[sm_90_plan]") {
    planned p(network(format::q4_K, 1));
    const ready norm = p.steps[0];
    p.steps = {norm, norm};
    row_args& in_place = p.steps[1].args.row;  // of the same x
    in_place.q8_1 = nullptr;
    in_place.f32 = const_cast<float*>(in_place.x);
    in_place.f32_at = in_place.x_at;
    CHECK(p.run(true, 0) == "");
    const ptx::program lacking = without_waits(entry_of(p.rows, norm.row));
    p.steps[1].code = &lacking;
    finds_no_wait(p);
}

TEST_CASE("a weight of a step for sm_90 that the grid before makes is found", "[sm_90_plan]") {
    planned p(network(format::f32, 5));  // whose norms are launches of their own
    p.steps = {p.steps[3], p.steps[4]};
    matvec_args& a = p.steps[1].args.matvec;
    REQUIRE(p.steps[0].args.kind == skeleton::row);
    REQUIRE(a.x == p.steps[0].args.row.f32);
    REQUIRE(a.weights_early);
    a.member[0].weight = a.x;
    a.member[0].rows = a.columns;
    a.member[0].weight_bytes = a.columns * a.x_bytes;
    finds_no_wait(p);
    a.weights_early = false;
    CHECK(p.run(true, 1, ptx::content::initialized) == "");
}
