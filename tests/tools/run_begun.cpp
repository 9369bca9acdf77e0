// Norms of two launches: the launch that makes a norm's input begins the norm, and the launch of
// its readers ends it. Both are run and compared, also where no band is sampled; each damage is
// found.
#include "run/check.hpp"

#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/plan/step.hpp"

#include "run_parts.hpp"
#include "tables.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

/// A matrix and a residual, whose sum is normed for the gate and the value of a GLU and for a
/// matrix with a bias. The norm is of `rows` elements.
json::graph begun_layer(std::int64_t columns, std::int64_t rows = 512) {
    graph_builder b;
    const id past = b.input(format::f32, {rows, columns});
    const id x = b.scaled_norm(b.input(format::f32, {512, columns}));
    const id sum = b.add(b.matmul(format::q4_K, rows, x), past);
    const id norm = b.mul(b.rms_norm(sum, 1e-2f), b.weight(format::f32, {rows}));
    const id gated = b.glu(b.matmul(format::q4_K, 256, norm), b.matmul(format::q4_K, 256, norm));
    b.other({b.add(b.matmul(format::q4_K, 256, norm), b.weight(format::f32, {256}))});
    b.other({b.matmul(format::q4_K, rows, gated), sum});
    return as_file(b, "begun");
}

using damage = change<matvec_args>;

/// What the steps of a plan that begins a norm are found to be.
struct begun_outcome {
    std::vector<step_result> results;
    int begins = -1;        ///< the step that begins the norm
    std::vector<int> ends;  ///< those that end it

    const step_result& begun() const { return results[static_cast<std::size_t>(begins)]; }
    int failed() const {
        int n = 0;
        for (const step_result& r : results) n += !r.ok();
        return n;
    }
    bool ends_fail() const {
        for (const int step : ends)
            if (!results[static_cast<std::size_t>(step)].ok()) return true;
        return false;
    }
};

bool norm_compares(const step_result& r, const std::string& what, bool right) {
    for (const comparison& c : r.comparisons)
        if (c.of == what) return c.ok() == right;
    return false;
}

begun_outcome run_begun(const json::graph& g, const damage& before = {}, const damage& behind = {},
                        const check_options& asked = {}) {
    const auto on = host_machine(1);
    const placement where{g, *on};
    const table t =
        changed_launch<matvec_args>::table(on->equip(table_for("sm_90")), before, behind);
    const plan p = planner{t}.plan(where.view());
    REQUIRE(p.state().ok());
    checker check{p, where, *on, asked};
    begun_outcome out;
    for (int i = 0; i < static_cast<int>(p.steps().size()); ++i) {
        const problem& what = p.steps()[static_cast<std::size_t>(i)].what;
        out.results.push_back(check.run(i));
        INFO("step " << i << " " << out.results.back().fault);
        CHECK(out.results.back().fault.empty());
        if (what.kind() == skeleton::row) continue;
        if (what.product().begins_norm) out.begins = i;
        if (what.product().ends_norm) out.ends.push_back(i);
    }
    REQUIRE(out.begins >= 0);
    REQUIRE_FALSE(out.ends.empty());
    return out;
}

/// A change of the squares that a launch begins or ends, as [k / 32, columns].
damage of_squares(bool begun, const std::function<void(float*, std::int64_t count)>& change) {
    return [=](matvec_args& a) {
        if (!begun && a.begun_squares != nullptr)
            change(const_cast<float*>(a.begun_squares), std::int64_t{a.k} / 32 * a.columns);
        for (int m = 0; begun && m < a.members; ++m)
            if (a.member[m].begun_squares != nullptr)
                change(a.member[m].begun_squares, std::int64_t{a.member[m].rows} / 32 * a.columns);
    };
}

}  // namespace

TEST_CASE("both launches of a norm agree with the reference", "[run][begun]") {
    for (const std::int64_t columns : {2, 3, 4}) {
        INFO(columns << " columns");
        const begun_outcome o = run_begun(begun_layer(columns));
        CHECK(o.failed() == 0);
        CHECK(norm_compares(o.begun(), "q8_1 of the begun norm", true));
        CHECK(norm_compares(o.begun(), "squares of the begun norm", true));
        CHECK(norm_compares(o.begun(), "q8_1 padding", true));
        for (const int step : o.ends)
            for (const char* of : {"product, same activation", "product, exact activation"})
                CHECK(norm_compares(o.results[static_cast<std::size_t>(step)], of, true));
    }
}

TEST_CASE("a norm of which few bands are sampled is whole for the launch that ends it",
          "[run][begun]") {
    const begun_outcome o = run_begun(begun_layer(4, 4096), {}, {}, {.random_rows = 0});
    CHECK(o.begun().computed < o.begun().rows / 2);
    CHECK(o.failed() == 0);
}

TEST_CASE("squares that are begun wrong are found", "[run][begun]") {
    const auto first = of_squares(true, [](float* squares, std::int64_t) { squares[0] *= 1.1f; });
    const begun_outcome one = run_begun(begun_layer(4), {}, first);
    CHECK(norm_compares(one.begun(), "squares of the begun norm", false));
    CHECK(norm_compares(one.begun(), "q8_1 of the begun norm", true));
    CHECK(norm_compares(one.begun(), "product, same activation", true));
    const auto all = of_squares(true, [](float* squares, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) squares[i] *= 2;
    });
    const begun_outcome many = run_begun(begun_layer(4), {}, all);
    CHECK(norm_compares(many.begun(), "squares of the begun norm", false));
    CHECK(many.ends_fail());
}

TEST_CASE("a launch that ends another norm than its squares say is found", "[run][begun]") {
    const auto another_eps = [](matvec_args& a) {
        if (a.begun_squares != nullptr) a.eps = 1;
    };
    const auto not_ended = [](matvec_args& a) { a.begun_squares = nullptr; };
    for (const damage& by : {damage(another_eps), damage(not_ended)}) {
        const begun_outcome o = run_begun(begun_layer(3), by);
        CHECK(o.begun().ok());
        CHECK(o.ends_fail());
    }
}

TEST_CASE("a norm that is begun with another weight is found", "[run][begun]") {
    const begun_outcome o = run_begun(begun_layer(2), [](matvec_args& a) {
        for (int m = 0; m < a.members; ++m)
            if (a.member[m].begun_weight != nullptr)
                a.member[m].begun_weight = a.member[m].residual;
    });
    CHECK(norm_compares(o.begun(), "q8_1 of the begun norm", false));
    CHECK(norm_compares(o.begun(), "squares of the begun norm", true));
}
