// An engine of its own with Catena in it: how its tensors become a graph view, and who runs what.
// The host executor takes the place of the GPU. On a GPU `machine` is a cudaStream_t, and the table
// is that of catena::instances::for_device(0).
#include "catena/exec/host.hpp"
#include "catena/format/codec.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/runtime.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <vector>

namespace {

using catena::format;
using catena::op;

/// The engine's own tensor: a row or a matrix, in memory of its own.
struct value {
    op made_by = op::none;
    format type = format::f32;
    std::int64_t k = 0, rows = 1;
    const value* sources[2] = {};
    bool is_weight = false, is_result = false;
    std::vector<std::byte> memory;

    float* numbers() { return reinterpret_cast<float*>(memory.data()); }
    const float* numbers() const { return reinterpret_cast<const float*>(memory.data()); }
};

/// The engine's own graph and its own way to run a node.
struct graph {
    std::deque<value> values;
    std::vector<value*> nodes;

    value& leaf(format type, std::int64_t k, std::int64_t rows, bool is_weight) {
        std::vector<float> numbers(static_cast<std::size_t>(k * rows));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = std::sin(static_cast<float>(i * i % 9973)) / 4;
        value& v = values.emplace_back();
        v.type = type;
        v.k = k, v.rows = rows;
        v.is_weight = is_weight;
        v.memory = catena::encode_row(type, numbers);
        return v;
    }
    value& node(op made_by, const value& a, const value* b = nullptr) {
        value& v = values.emplace_back();
        v.made_by = made_by;
        v.k = made_by == op::mul_mat ? a.rows : a.k;
        v.sources[0] = &a, v.sources[1] = b;
        v.memory.resize(static_cast<std::size_t>(v.k) * sizeof(float));
        nodes.push_back(&v);
        return v;
    }

    static void run(value& v) {
        const value& a = *v.sources[0];
        double squares = 0;
        for (std::int64_t i = 0; i < a.k; ++i) squares += std::pow(double{a.numbers()[i]}, 2);
        for (std::int64_t i = 0; i < v.k; ++i) {
            if (v.made_by == op::rms_norm)
                v.numbers()[i] = static_cast<float>(
                    a.numbers()[i] / std::sqrt(squares / static_cast<double>(a.k) + 1e-6));
            if (v.made_by == op::mul) v.numbers()[i] = a.numbers()[i] * v.sources[1]->numbers()[i];
            if (v.made_by == op::mul_mat) v.numbers()[i] = dot(a, i, *v.sources[1]);
        }
    }

    static float dot(const value& matrix, std::int64_t row, const value& x) {
        const auto bytes = static_cast<std::size_t>(catena::row_bytes(matrix.type, matrix.k));
        const std::span<const std::byte> all(matrix.memory);
        const auto w = catena::decode_row<double>(
            matrix.type, all.subspan(static_cast<std::size_t>(row) * bytes, bytes), matrix.k);
        double sum = 0;
        for (std::int64_t i = 0; i < matrix.k; ++i)
            sum += w[static_cast<std::size_t>(i)] * x.numbers()[i];
        return static_cast<float>(sum);
    }
};

/// The adapter. It makes one catena::tensor per tensor of the engine, in any order, and lists the
/// nodes in execution order.
struct adapter {
    std::vector<catena::tensor> tensors;
    std::vector<std::int32_t> nodes;

    explicit adapter(graph& g) {
        for (value& v : g.values) {
            catena::tensor& t = tensors.emplace_back();
            t.kind = v.made_by;
            t.type = v.type;
            t.ne[0] = v.k, t.ne[1] = v.rows;
            t.nb[0] = catena::info(v.type).block_bytes;
            t.nb[1] = catena::row_bytes(v.type, v.k);
            t.nb[2] = t.nb[3] = t.nb[1] * v.rows;
            t.weight = v.is_weight;
            t.flags = static_cast<std::uint8_t>(catena::flag_compute |
                                                (v.is_result ? catena::flag_output : 0));
            t.buffer = number(g, &v);  // each has its own: nothing shares memory
            t.data = v.memory.data();
            t.uses = 0;
            if (v.made_by == op::rms_norm) {
                const float eps = 1e-6f;
                std::memcpy(t.params, &eps, sizeof(eps));
            }
        }
        for (const value* v : g.nodes) {
            nodes.push_back(number(g, v));
            for (int s = 0; s < 2; ++s) {
                if (v->sources[s] == nullptr) continue;
                const std::int32_t source = number(g, v->sources[s]);
                tensors[static_cast<std::size_t>(nodes.back())].src[s] = source;
                ++tensors[static_cast<std::size_t>(source)].uses;
            }
        }
    }

    static std::int32_t number(const graph& g, const value* v) {
        std::int32_t i = 0;
        while (&g.values[static_cast<std::size_t>(i)] != v) ++i;
        return i;
    }
    catena::graph_view view() const {
        return {tensors.data(), static_cast<std::int32_t>(tensors.size()), nodes.data(),
                static_cast<std::int32_t>(nodes.size())};
    }
};

bool compute(graph& g) {
    catena::exec::host_device machine;
    for (value& v : g.values)
        machine.add(
            "a value", v.memory.data(), v.memory.size(),
            v.is_weight ? catena::exec::memory::constant : catena::exec::memory::initialized);

    const adapter adapted(g);
    const catena::planner planner{catena::instances::on_host(catena::instances::sm_90())};
    const catena::plan plan = planner.plan(adapted.view());
    void* workspace =
        machine.allocate<std::byte>("workspace", static_cast<std::size_t>(plan.workspace_bytes()),
                                    catena::exec::memory::uninitialized);
    for (int i = 0; i < plan.size(); ++i) {
        const catena::role who = plan.at(i).role;
        std::printf("node %d: %s\n", i, catena::name(who));
        if (who == catena::role::engine) graph::run(*g.nodes[static_cast<std::size_t>(i)]);
        if (who != catena::role::launch) continue;
        if (const catena::status s = plan.launch(i, &machine, workspace); !s.ok()) {
            std::fprintf(stderr, "%s\n", s.message);
            return false;
        }
    }
    return plan.counters().steps > 0;
}

}  // namespace

int main() {
    graph g;
    const value& x = g.leaf(format::f32, 512, 1, false);
    const value& norm =
        g.node(op::mul, g.node(op::rms_norm, x), &g.leaf(format::f32, 512, 1, true));
    value* results[] = {&g.node(op::mul_mat, g.leaf(format::q4_K, 512, 96, true), &norm),
                        &g.node(op::mul_mat, g.leaf(format::q6_K, 512, 64, true), &norm),
                        &g.node(op::mul_mat, g.leaf(format::f32, 512, 8, true), &norm)};
    for (value* r : results) r->is_result = true;
    if (!compute(g)) return 1;

    bool right = true;
    std::vector<std::vector<std::byte>> found;
    for (const value* r : results) found.push_back(r->memory);
    for (value* node : g.nodes) graph::run(*node);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto* numbers = reinterpret_cast<const float*>(found[i].data());
        double error = 0, size = 0;
        for (std::int64_t j = 0; j < results[i]->k; ++j) {
            error += std::pow(double{results[i]->numbers()[j]} - numbers[j], 2);
            size += std::pow(double{results[i]->numbers()[j]}, 2);
        }
        std::printf("result %zu against the engine alone: NMSE %.1e\n", i, error / size);
        right = right && error / size <= 5e-4;
    }
    return right ? 0 : 1;
}
