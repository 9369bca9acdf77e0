// What same_bits promises: plans of 1 to 8 columns (of experts: tokens) give a column the same
// bits, whatever stands beside it and in whichever place it stands; so do plans of 9 and more. No
// matmul is left to the engine for that.
#include "tables.hpp"

#include "catena/exec/host.hpp"
#include "catena/format/random.hpp"
#include "catena/pick/domain.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

using bytes = std::vector<std::byte>;

constexpr std::int64_t k = 1024, inner = 256, experts = 4, slots = 2;

/// A graph of some columns, and what of it is compared.
struct network {
    graph_builder g;
    std::vector<id> results;
    id unaligned = no_tensor;  ///< a weight that begins at an odd multiple of two bytes

    void compare(std::initializer_list<id> made) {
        results = made;
        g.other(made);
    }
    id biased(id product) { return g.add(product, g.weight(format::f32, {g[product].ne[0]})); }
};

/// A norm, a gated network with biases and its residual, and a norm that two matrices read, one of
/// them of another format.
network dense(format weights, format other, std::int64_t columns) {
    network n;
    graph_builder& g = n.g;
    const id x = g.input(format::f32, {k, columns}), h = g.scaled_norm(x);
    const id gate = n.biased(g.matmul(weights, inner, h)),
             up = n.biased(g.matmul(weights, inner, h));
    const id down = n.biased(g.matmul(weights, k, g.glu(gate, up)));
    const id sum = g.add(down, x), next = g.scaled_norm(sum);
    n.compare({sum, g.matmul(weights, 48, next), g.matmul(other, 16, next)});
    return n;
}

/// A norm that two matrices read, one of them unaligned, with a bias and with a residual.
network small(format weights, format, std::int64_t columns) {
    network n;
    graph_builder& g = n.g;
    const id h = g.scaled_norm(g.input(format::f32, {k, columns}));
    n.unaligned = g.weight(weights, {k, 16});
    const id q = n.biased(g.matmul(weights, 48, h)), v = g.mul_mat(n.unaligned, h);
    n.compare({q, g.add(v, g.input(format::f32, {16, columns}))});
    return n;
}

/// A value of the engine's, its product with a function, and what reads that.
network of_engine(format weights, format, std::int64_t columns) {
    network n;
    graph_builder& g = n.g;
    const id x = g.input(format::f32, {k, columns});
    const id made = g.unary(n.biased(g.matmul(weights, inner, x)), sub_op::gelu);
    n.compare({g.matmul(weights, 64, made), g.matmul(weights, 32, x)});
    return n;
}

/// The results of a token's slots, weighted and added up.
id added(graph_builder& g, id results) {
    const std::int64_t rows = g[results].ne[0], tokens = g[results].ne[2];
    const id weighted = g.mul(results, g.input(format::f32, {1, slots, tokens}));
    const auto slot = [&](std::int64_t which) {
        const id t = g.view(weighted, {rows, tokens}, which * g[weighted].nb[1]);
        g[t].nb[1] = g[weighted].nb[2];
        g[t].nb[2] = g[t].nb[3] = g[t].nb[1] * tokens;
        return t;
    };
    const id first = slot(0), second = slot(1);
    return g.add(first, second);
}

/// Two of four experts, a shared expert, their sum and the norm of it.
network of_experts(format weights, format other, std::int64_t tokens) {
    network n;
    graph_builder& g = n.g;
    const id x = g.input(format::f32, {k, tokens}), h = g.scaled_norm(x);
    const id ids = g.input(format::i32, {slots, tokens});
    const auto picked = [&](std::int64_t rows, id from) {
        return g.mul_mat_id(g.weight(weights, {g[from].ne[0], rows, experts}), from, ids);
    };
    const id each = g.reshape(h, {k, 1, tokens});
    const id down = picked(k, g.glu(picked(inner, each), picked(inner, each)));
    const id routed = added(g, down);
    const id shared = g.glu(g.matmul(weights, inner, h), g.matmul(weights, inner, h));
    const id both = g.add(routed, g.matmul(weights, k, shared));
    const id sum = g.add(both, x), next = g.scaled_norm(sum);
    n.compare({sum, g.matmul(weights, 48, next), g.matmul(other, 16, next)});
    return n;
}

/// Experts of short rows, and the norm of their sum with the residual.
network of_short_experts(format weights, format, std::int64_t tokens) {
    network n;
    graph_builder& g = n.g;
    const id x = g.input(format::f32, {inner, tokens}), ids = g.input(format::i32, {slots, tokens});
    const id down = g.mul_mat_id(g.weight(weights, {inner, inner, experts}),
                                 g.reshape(g.scaled_norm(x), {inner, 1, tokens}), ids);
    const id sum = g.add(added(g, down), x), next = g.scaled_norm(sum);
    n.compare({sum, g.matmul(weights, 32, next)});
    return n;
}

/// Columns of all that there are.
struct columns {
    std::int64_t first, count;
};

/// The initial bytes of a leaf. Columns of an input depend on their number alone.
bytes contents(const tensor& t, std::uint64_t seed, const columns& of) {
    bytes out(static_cast<std::size_t>(extent_bytes(t)));
    const auto values = static_cast<std::uint64_t>(elements(t));
    const std::uint64_t before =
        values / static_cast<std::uint64_t>(of.count) * static_cast<std::uint64_t>(of.first);
    const auto store = [&](auto value, std::uint64_t at) {
        std::memcpy(out.data() + at * sizeof value, &value, sizeof value);
    };
    if (t.weight && t.type != format::f32) {
        fill_random_blocks(t.type, seed, 0, out);
    } else if (t.type == format::i32) {  // of a token, slots with an expert each
        for (std::uint64_t i = 0; i < values; ++i) {
            const std::uint64_t at = i + before;
            store(static_cast<std::int32_t>((random_bits(seed, at / slots) + at) % experts), i);
        }
    } else {
        for (std::uint64_t i = 0; i < values; ++i)
            store(random_value(seed, t.weight ? i : before + i), i);
    }
    return out;
}

/// The bits of results, by their place among the results and their column.
using column_bits = std::map<std::pair<std::size_t, std::int64_t>, bytes>;

/// A network with memory, planned for an arch with same_bits and run on the host executor.
class run_of {
  public:
    run_of(network made, const table& rows, const columns& of)
        : net_(std::move(made)), rows_(rows), of_(of) {
        for (std::size_t i = 0; i < net_.g.tensors.size(); ++i) place(static_cast<id>(i));
        options asked;
        asked.pick.same_bits = true;
        asked.verify = true;
        plan_ = planner(rows_, asked).plan(net_.g.view());
        REQUIRE(plan_.state().ok());
    }

    /// The nodes that only an engine would compute, for a message.
    std::string left() {
        std::string out;
        for (int i = 0; i < plan_.size(); ++i) {
            const op kind = net_.g[net_.g.nodes[static_cast<std::size_t>(i)]].kind;
            const bool renames = kind == op::view || kind == op::reshape;
            if (kind == op::other || renames || plan_.at(i).role != role::engine) continue;
            out += std::to_string(i);
            for (const left_over& l : plan_.left())
                if (l.what.node == i)
                    out += std::string(" ") + name(l.what.why) + " " + name(l.nearest.why);
            out += "\n";
        }
        return out;
    }
    bool compiled() const {
        return std::all_of(plan_.steps().begin(), plan_.steps().end(),
                           [&](const step& s) { return runs(rows_, s.row); });
    }
    std::string steps() const {
        std::string out;
        for (const step& s : plan_.steps()) {
            const std::string row = row_name(rows_, s.row);
            out += row.substr(0, row.rfind('.')) + "\n";  // without the arch
        }
        return out;
    }

    void run() {
        const auto count = static_cast<std::size_t>(plan_.workspace_bytes());
        void* const workspace = count == 0 ? nullptr
                                           : machine_.allocate<std::byte>(
                                                 "workspace", count, exec::memory::uninitialized);
        for (int i = 0; i < plan_.size(); ++i) {
            if (plan_.at(i).role != role::launch) continue;
            const status done = plan_.launch(i, &machine_, workspace);
            INFO(done.message);
            REQUIRE(done.ok());
        }
    }

    column_bits read() const {
        column_bits out;
        for (std::size_t r = 0; r < net_.results.size(); ++r) {
            const tensor& t = net_.g.tensors[static_cast<std::size_t>(net_.results[r])];
            const auto* from = static_cast<const std::byte*>(t.data);
            const std::int64_t each = extent_bytes(t) / of_.count;
            for (std::int64_t c = 0; c < of_.count; ++c, from += each)
                out[{r, of_.first + c}] = bytes(from, from + each);
        }
        return out;
    }

  private:
    network net_;
    const table& rows_;
    columns of_;
    exec::host_device machine_;
    plan plan_;

    void place(id i) {
        tensor& t = net_.g[i];
        if (t.view_src != no_tensor) {
            const tensor& root = net_.g[t.view_src];
            t.data = static_cast<std::byte*>(root.data) + (t.offset - root.offset);
            return;
        }
        const std::size_t off = i == net_.unaligned ? 2 : 0;
        const auto count = static_cast<std::size_t>(extent_bytes(t));
        const bool leaf = t.kind == op::none;
        auto* const at = machine_.allocate<std::byte>("tensor " + std::to_string(i), count + off,
                                                      t.weight ? exec::memory::constant
                                                      : leaf   ? exec::memory::initialized
                                                               : exec::memory::uninitialized);
        t.data = at + off;
        if (!leaf) return;
        const bytes initial = contents(t, static_cast<std::uint64_t>(i), of_);
        std::copy(initial.begin(), initial.end(), at + off);
    }
};

using make = network (*)(format, format, std::int64_t);

/// The results of kernels that have run: archs share many.
using known_runs = std::map<std::string, column_bits>;

/// Runs the network of each of these columns; a column has the bits that it had before.
void same_in_all(make graph, format weights, format other, const table& rows,
                 std::initializer_list<columns> all, known_runs& done) {
    column_bits known;
    for (const columns& of : all) {
        run_of one(graph(weights, other, of.count), rows, of);
        const std::string what = std::to_string(of.count) + " columns from " +
                                 std::to_string(of.first) + " by\n" + one.steps();
        INFO(rows.target->name << ": " << what);
        const std::string left = one.left();
        CHECK(left == "");
        if (left != "" || !one.compiled()) continue;
        const auto [run, is_new] = done.emplace(what, column_bits{});
        if (is_new) {
            one.run();
            run->second = one.read();
        }
        for (const auto& [where, bits] : run->second) {
            INFO("result " << where.first << ", column " << where.second);
            const auto [before, first] = known.emplace(where, bits);
            if (!first && before->second != bits) CHECK(before->second == bits);
        }
    }
}

/// Another format that files have beside these weights, in a group with them or not.
format beside(format weights) { return weights == format::q4_K ? format::q6_K : weights; }

void on_every_arch(make graph, format weights) {
    known_runs done;
    for (const arch& a : arch_registry) {
        const table rows = instances::on_host(instances::table_named(a.name));
        same_in_all(graph, weights, beside(weights), rows,
                    {{0, 1}, {1, 1}, {7, 1}, {0, 2}, {0, 3}, {1, 4}, {3, 5}, {0, 8}}, done);
        if (absence_of(weights, min_matmul_columns, a) == nullptr)
            same_in_all(graph, weights, beside(weights), rows, {{0, 9}, {5, 9}, {0, 16}, {0, 64}},
                        done);
    }
}

}  // namespace

TEST_CASE("same_bits: a column has the bits that it has alone, with weights of any format") {
    for (int i = 1; i < format_count; ++i) {
        const auto f = static_cast<format>(i);
        if (info(f).role == format_role::weight || is_float(f)) on_every_arch(small, f);
    }
}

TEST_CASE("same_bits: so has one that goes through a network, its groups and epilogues") {
    for (const format f : {format::q4_K, format::q8_0, format::f16}) on_every_arch(dense, f);
}

TEST_CASE("same_bits: so has one that the engine computed") {
    for (const format f : {format::q4_K, format::f16}) on_every_arch(of_engine, f);
}

TEST_CASE("same_bits: so has a token of experts") {
    for (const format f : {format::q4_K, format::mxfp4}) on_every_arch(of_experts, f);
    on_every_arch(of_short_experts, format::q4_K);
}
