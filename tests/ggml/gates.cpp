// The gates of ggml's CPU backend against the formulas by which the proof of a plan knows them.
#include "catena/engine/ggml.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/gate_formula.hpp"

#include <ggml-cpp.h>
#include <ggml-cpu.h>

#include <cmath>
#include <functional>

namespace {

constexpr int n = 401, middle = n / 2;
constexpr float alpha = 1.702f, limit = 7;

float x_at(int i) { return static_cast<float>(i - middle) / 20; }
float y_at(int i) { return static_cast<float>(i % 7 - 3) * 3.5f; }

/// How ggml makes a node of two operands, the second of which a UNARY does not read.
using maker = std::function<ggml_tensor*(ggml_context*, ggml_tensor* x, ggml_tensor* y)>;

/// Computes one node; false: the proof knows no formula of it. Fails where ggml computes another
/// value than the formula.
bool follows_its_formula(bool two_operands, const maker& make) {
    const ggml_context_ptr context{
        ggml_init({ggml_graph_overhead() + 8 * ggml_tensor_overhead() + 64 * n, nullptr, false})};
    ggml_tensor* const x = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, n);
    ggml_tensor* const y = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, n);
    for (int i = 0; i < n; ++i) {
        ggml_get_data_f32(x)[i] = x_at(i);
        ggml_get_data_f32(y)[i] = y_at(i);
    }
    ggml_tensor* const made = make(context.get(), x, y);
    ggml_cgraph* const graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, made);
    catena::ggml::view_builder seen;
    REQUIRE(seen.build(graph).ok());
    const auto formula = catena::proof::formula_of(seen.view().node(0).sub);
    if (!formula.known()) return false;
    REQUIRE(ggml_graph_compute_with_ctx(context.get(), graph, 1) == GGML_STATUS_SUCCESS);
    for (int i = 0; i < n; ++i) {
        const double y = two_operands ? double{y_at(i)} : 1;
        const double wanted = catena_test::value_of(formula, double{x_at(i)}, y, alpha, limit);
        const double have = ggml_get_data_f32(made)[i];
        // ggml looks GELU up in a table of f16. GELU_ERF differs from it by more than this allows.
        if (!(std::abs(have - wanted) <= 2e-3 * std::abs(wanted) + 1e-4 * (1 + std::abs(y))))
            FAIL_CHECK("at " << x_at(i) << ": " << have << ", not " << wanted);
    }
    return true;
}

}  // namespace

TEST_CASE("ggml's UNARY ops are what the proof takes them for", "[ggml]") {
    int known = 0;
    for (int op = 0; op < GGML_UNARY_OP_COUNT; ++op) {
        if (op == GGML_UNARY_OP_XIELU) continue;  // made by a function of its own
        CAPTURE(op);
        known += follows_its_formula(false, [op](ggml_context* c, ggml_tensor* x, ggml_tensor*) {
            return ggml_unary(c, x, static_cast<ggml_unary_op>(op));
        });
    }
    CHECK(known == 6);
}

TEST_CASE("ggml's GLU ops are what the proof takes them for", "[ggml]") {
    int known = 0;
    for (int op = 0; op < GGML_GLU_OP_COUNT; ++op) {
        CAPTURE(op);
        known += follows_its_formula(true, [op](ggml_context* c, ggml_tensor* x, ggml_tensor* y) {
            return op == GGML_GLU_OP_SWIGLU_OAI
                       ? ggml_swiglu_oai(c, x, y, alpha, limit)
                       : ggml_glu_split(c, x, y, static_cast<ggml_glu_op>(op));
        });
    }
    CHECK(known == 6);
}
