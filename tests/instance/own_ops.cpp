// Kernels with ops of an engine's own: every place that such an op may have, in every case that
// instances stand.
#include "order.hpp"

#include "catena/kernel/own_ops.hpp"
#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

struct shifted {  // makes much of a zero, also of those behind a row
    static constexpr const char* name = "shifted";
    static double reference(double v, const op_numbers& n) { return v + 1000 * double{n.a}; }
    CATENA_FN static real compute(real v, const op_numbers& n) {
        return v + real{1000} * real{n.a};
    }
    static bool match(const tensor&, op_numbers&) { return false; }
};

struct bounded {
    static constexpr const char* name = "bounded";
    static double reference(double v, const op_numbers& n) {
        return v < double{n.a} ? double{n.a} : v > double{n.b} ? double{n.b} : v;
    }
    CATENA_FN static real compute(real v, const op_numbers& n) {
        return clamp(v, real{n.a}, real{n.b});
    }
    static bool match(const tensor&, op_numbers&) { return false; }
};

struct inverse {  // makes an infinity of a zero, and a NaN of the infinity times zero
    static constexpr const char* name = "inverse";
    static double reference(double v, const op_numbers&) { return 1 / v; }
    CATENA_FN static real compute(real v, const op_numbers&) { return real{1} / v; }
    static bool match(const tensor&, op_numbers&) { return false; }
};

using usual_ops = own_op_list<shifted, bounded>;

template <auto C, policy_of<C.kind> P, class ops = usual_ops>
void stands_every_case() {
    using executor = exec::with_ops<exec::host, ops>;
    instance on =
        on_host(C, P, reinterpret_cast<const void*>(&instances::run_on_host<C, P, executor>),
                row_name(C, P, "test"));
    on.ops = &ops::listed;
    INFO(row_name(C, P, "test"));
    sweep(on);
}

constexpr product_computation with_ops(product_computation c) {
    c.own = true;
    c.epilogue = c.epilogue | epilogue_part::own;
    return c;
}

constexpr format_set for_ggml =
    format_set::of(format::f32) | format::q8_1 | format::q8_1_mmq_ds4 | format::bf16_mma;
constexpr format_set for_engines =
    format_set::of(format::f32) | format::int8_token | format::fp8_token | format::mxfp8_rows;

/// A function of a gate may be an own op where the finished value has none.
constexpr row_computation gated(format_set emits) {
    return {.stages = stage_set::of(stage_kind::glu), .emits = emits, .own = true};
}

constexpr row_computation row_of(stage_set stages, format_set emits) {
    return {.stages = stages | stage_kind::own, .emits = emits, .own = true};
}

constexpr row_policy kept{.threads = 128, .values = 8, .vector = true};
constexpr row_policy passes{.threads = 64};
constexpr matvec_policy matvec = {
    .threads = 64, .rows = 2, .columns = 1, .piece = 1024, .stages = 2};
constexpr matvec_policy wide_matvec = {
    .threads = 64, .rows = 2, .columns = 4, .piece = 1024, .stages = 2};
constexpr matmul_policy tile = {
    .threads = 64, .rows = 32, .columns = 16, .piece = 256, .stages = 3};

}  // namespace

TEST_CASE("A row applies ops of an engine's own to its value, and to a gate") {
    constexpr stage_set norm = stage_kind::rms_norm | stage_kind::mul_weight;
    constexpr stage_set again =
        norm | stage_kind::join_residual | stage_kind::next_norm | stage_kind::mul_next_weight;
    stands_every_case<row_of(norm, for_ggml), kept>();
    stands_every_case<row_of(norm | stage_kind::gate, for_engines), passes>();
    stands_every_case<row_of(again, for_engines), kept>();
    stands_every_case<row_of(stage_set::of(stage_kind::glu), for_ggml), kept>();
}

TEST_CASE("An own op makes nothing of what lies behind a row, which scales of the row would see") {
    stands_every_case<gated(for_engines), kept, own_op_list<inverse>>();
    stands_every_case<gated(for_engines), passes, own_op_list<inverse>>();
}

TEST_CASE("A matvec and a matmul apply ops of an engine's own to their results") {
    constexpr epilogue_set parts = every_part | epilogue_part::act;
    stands_every_case<with_ops(products<format::q8_0>), matvec>();
    stands_every_case<with_ops(products<format::q8_0>), wide_matvec>();
    stands_every_case<with_ops(product_computation{.kind = skeleton::matmul,
                                                   .activation = format::q8_1_mmq_d4,
                                                   .weights = format_set::of(format::q8_0),
                                                   .epilogue = parts}),
                      tile>();
}
