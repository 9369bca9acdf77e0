// A layer whose steps do all that a plan knows: gated values by a row step and by an epilogue,
// bias, scale, residual, experts, a result that is quantized where it is made. Each is run and
// compared; each damage is found.
#include "optimized.hpp"
#include "run/check.hpp"

#include "catena/kernel/args.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/problems.hpp"
#include "run_parts.hpp"
#include "tables.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

/// A feed-forward layer of two columns: gate and up with a bias each, down with a scale and the
/// residual, a head behind the next norm; a matmul of a value that is gated by a SIGMOID.
json::graph layer() {
    graph_builder b;
    const id x = b.input(format::f32, {512, 2}), z = b.input(format::f32, {512, 2});
    const id n = b.scaled_norm(x);
    const auto biased = [&b](id v) {
        return b.same_shape(op::add, v, {v, b.weight(format::f32, {b[v].ne[0]})});
    };
    const id gate = biased(b.matmul(format::q4_K, 1280, n));
    const id up = biased(b.matmul(format::q4_K, 1280, n));
    const id down = b.scale(b.matmul(format::q6_K, 512, b.glu(gate, up)), 0.5f);
    const id sum = b.add(down, x);
    b.matmul(format::q8_0, 96, b.scaled_norm(sum));
    b.matmul(format::q4_K, 64, b.mul(sum, b.unary(z, sub_op::sigmoid)));
    return as_file(b, "layer");
}

/// Experts: gate and up of 4, 2 of them used by each of 3 tokens, and the matrix behind them; added
/// up with weights and a residual, or not.
json::graph experts(bool summed = false) {
    graph_builder b;
    const id n = b.scaled_norm(b.input(format::f32, {512, 3}));
    const id ids = b.input(format::i32, {2, 3});
    const id x = b.reshape(n, {512, 1, 3});
    const id gate = b.mul_mat_id(b.weight(format::q4_K, {512, 256, 4}), x, ids);
    const id up = b.mul_mat_id(b.weight(format::q4_K, {512, 256, 4}), x, ids);
    const id down = b.mul_mat_id(b.weight(format::q6_K, {256, 96, 4}), b.glu(gate, up), ids);
    if (summed) {
        const id weighted = b.mul(down, b.input(format::f32, {1, 2, 3}));
        const auto slot = [&](std::int64_t which) {
            const id t = b.view(weighted, {96, 3}, which * b[weighted].nb[1]);
            b[t].nb[1] = b[weighted].nb[2];
            b[t].nb[2] = b[t].nb[3] = b[t].nb[1] * 3;
            return t;
        };
        const id sum = b.add(slot(0), slot(1));
        b.other({b.add(sum, b.input(format::f32, {96, 3}))});
    } else {
        b.other({down});
    }
    return as_file(b, "experts");
}

using damage = change<matvec_args>;

struct outcome {
    std::vector<step_result> results;
    std::set<std::string> compared;
    bool glu_row = false;
    epilogue_set parts;

    int failed() const {
        int n = 0;
        for (const step_result& r : results) n += !r.ok();
        return n;
    }
};

outcome run_all(const json::graph& g, const char* arch = "sm_90", const damage& behind = {}) {
    const auto on = host_machine(1);
    const placement where{g, *on};
    table t = on->equip(table_for(arch));
    if (behind) t = changed_launch<matvec_args>::table(t, {}, behind);
    const plan p = planner{t}.plan(where.view());
    REQUIRE(p.state().ok());
    CHECK(p.counters().served == p.counters().matmuls);
    checker check{p, where, *on, {}};
    outcome out;
    for (std::size_t i = 0; i < p.steps().size(); ++i) {
        const problem& what = p.steps()[i].what;
        out.glu_row = out.glu_row || stages_of(what).has(stage_kind::glu);
        out.parts = out.parts | epilogue_of(what);
        out.results.push_back(check.run(static_cast<int>(i)));
        for (const comparison& c : out.results.back().comparisons) out.compared.insert(c.of);
    }
    return out;
}

/// The build has those of sm_90 always, and those of the other archs with CATENA_EVERY_ROW.
bool has_host_kernels(const char* arch) {
    if (std::string(arch) == "sm_90") return true;
    const auto on = host_machine(1);
    const table t = on->equip(table_for(arch));
    return std::find(t.kernels, t.kernels + t.row_count, nullptr) == t.kernels + t.row_count;
}

}  // namespace

TEST_CASE("every step of a layer agrees with the reference, as allocated and reordered",
          "[run][layer]") {
    for (const char* arch : {"sm_90", "sm_80", "sm_75"}) {
        if (!has_host_kernels(arch)) continue;
        for (const json::graph& g : {layer(), optimized(layer())}) {
            INFO(arch);
            const outcome o = run_all(g, arch);
            for (const step_result& r : o.results) {
                INFO(r.fault);
                CHECK(r.ok());
                CHECK(r.computed > 0);
                CHECK(r.comparisons.size() >= 2);
            }
            CHECK(o.glu_row);
            for (const epilogue_part part :
                 {epilogue_part::scale, epilogue_part::bias, epilogue_part::glu,
                  epilogue_part::residual, epilogue_part::quantize})
                CHECK(o.parts.has(part));
            CHECK(o.compared.count("q8_1 of the product") == 1);
            CHECK(o.compared.count("product, exact activation") == 1);
        }
    }
}

TEST_CASE("gated experts agree with the reference", "[run][layer]") {
    const outcome o = run_all(experts());
    CHECK(o.failed() == 0);
    CHECK(o.parts.has(epilogue_part::glu));
    CHECK(o.parts.has(epilogue_part::quantize));
    const outcome summed = run_all(experts(true));
    CHECK(summed.failed() == 0);
    CHECK(summed.parts.has(epilogue_part::combine));
    CHECK(summed.parts.has(epilogue_part::residual));
    const auto unweighted = [](matvec_args& a) {  // as if the first slot's weight were another
        if (a.combined) a.member[0].dst[0] += 1;
    };
    CHECK(run_all(experts(true), "sm_90", unweighted).failed() == 1);
}

TEST_CASE("a prompt's GLU is quantized by the matmul that makes it, as the reference says",
          "[run][layer]") {
    for (const format type : {format::q4_K, format::q8_0}) {  // a layout each, of either
        graph_builder b;
        const id n = b.scaled_norm(b.input(format::f32, {512, 40}));
        b.matmul(format::q6_K, 96, b.glu(b.matmul(type, 1280, n), b.matmul(type, 1280, n)));
        const outcome o = run_all(as_file(b, "prompt"));
        CHECK(o.results.size() == 3);
        CHECK(o.failed() == 0);
        CHECK(o.parts.has(epilogue_part::quantize));
        CHECK(o.compared.count("q8_1_mmq_d4 of the product") == 1);
    }
}

TEST_CASE("what an epilogue quantizes wrong is found, and its padding", "[run][layer]") {
    const auto each_q8_1 = [](const std::function<void(std::byte*)>& f) {
        return [f](matvec_args& a) {
            for (int m = 0; m < a.members; ++m)
                if (a.member[m].q8_1 != nullptr && a.member[m].begun_weight == nullptr)
                    f(static_cast<std::byte*>(a.member[m].q8_1));
        };
    };
    CHECK(run_all(layer(), "sm_90", each_q8_1([](std::byte*) {})).failed() == 0);
    // The scale of the first block.
    const auto scaled = each_q8_1([](std::byte* q) { q[2] ^= std::byte{64}; });
    CHECK(run_all(layer(), "sm_90", scaled).failed() == 1);
    const auto padding = each_q8_1([](std::byte* q) { q[1280 / 32 * 36 + 5] = std::byte{1}; });
    CHECK(run_all(layer(), "sm_90", padding).failed() == 1);
}

TEST_CASE("an epilogue that leaves a part out is found", "[run][layer]") {
    const auto off = [](const std::function<void(matvec_member&, float*)>& f) {
        return [f](matvec_args& a) {
            for (int m = 0; m < a.members; ++m) {
                matvec_member& w = a.member[m];
                if (w.dst == nullptr) continue;
                for (int c = 0; c < a.columns; ++c) f(w, w.dst + c * w.dst_nb1 / 4);
            }
        };
    };
    const auto unscaled = off([](matvec_member& m, float* dst) {
        for (int r = 0; r < m.rows; ++r)
            if (m.scale != 1) dst[r] *= 2;
    });
    CHECK(run_all(layer(), "sm_90", unscaled).failed() == 1);
    const auto no_residual = off([](matvec_member& m, float* dst) {
        for (int r = 0; r < m.rows; ++r)
            if (m.residual != nullptr) dst[r] -= 1;
    });
    CHECK(run_all(layer(), "sm_90", no_residual).failed() == 1);
}

TEST_CASE("the layouts of a matmul's activation are compared where a row step writes them",
          "[run][layer]") {
    graph_builder b;
    const id n = b.scaled_norm(b.input(format::f32, {512, 40}));
    b.matmul(format::q4_K, 64, n);
    b.matmul(format::q6_K, 64, n);
    const json::graph g = as_file(b, "prompt");
    const auto on = host_machine(1);
    const placement where{g, *on};
    const table t = on->equip(table_for("sm_90"));
    const plan p = planner{t}.plan(where.view());
    REQUIRE(p.steps().size() == 3);
    checker check{p, where, *on, {}};
    const step_result r = check.run(0);
    INFO(r.fault);
    CHECK(r.ok());
    std::set<std::string> compared;
    for (const comparison& c : r.comparisons) compared.insert(c.of);
    CHECK(compared == std::set<std::string>{"q8_1_mmq_d4", "q8_1_mmq_d4 padding", "q8_1_mmq_ds4",
                                            "q8_1_mmq_ds4 padding"});
    CHECK(check.run(1).ok());
}
