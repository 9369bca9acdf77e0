// Everything that the row skeleton can make of a row, whether or not a table has it: each norm with
// all that may stand around it, every format, rows that share a block.
#include "every_case.hpp"
#include "row_data.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr format_set plain = format_set::of(format::f32) | format::f16 | format::bf16;
constexpr format_set for_ggml = plain | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 |
                                format::bf16_mma | format::f16_mma;
constexpr format_set for_engines = plain | format::int8_token | format::fp8_tensor |
                                   format::fp8_token | format::fp8_group | format::mxfp8_rows |
                                   format::mxfp4_rows | format::nvfp4_rows;

constexpr row_computation norm_of(stage_kind norm, format_set emits) {
    return {.stages = stage_kind::combine | stage_kind::scale | stage_kind::add_residual | norm |
                      stage_kind::mul_weight | stage_kind::add_bias | stage_kind::gate,
            .emits = emits};
}

constexpr row_computation joined(format_set emits) {
    return {.stages = stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::join_residual |
                      stage_kind::next_norm | stage_kind::mul_next_weight,
            .emits = emits};
}

constexpr row_policy usual{.threads = 128, .values = 8, .vector = true};
constexpr row_policy any{.threads = 64};
constexpr row_policy long_rows{.threads = 64, .vector = true};
constexpr row_policy short_rows{.threads = 128, .values = 8, .rows = 4, .vector = true};
constexpr row_policy shared_and_long{.threads = 96, .rows = 3};

}  // namespace

TEST_CASE("Every norm, with all that may stand around it, in every format of ggml") {
    stands_every_case<norm_of(stage_kind::rms_norm, for_ggml), usual>();
    stands_every_case<norm_of(stage_kind::layer_norm, for_ggml), usual>();
    stands_every_case<norm_of(stage_kind::l2_norm, for_ggml), usual>();
    stands_every_case<norm_of(stage_kind::layer_norm, for_ggml), any>();
}

TEST_CASE("Every format of other engines, and a row without anything else") {
    stands_every_case<norm_of(stage_kind::rms_norm, for_engines), usual>();
    stands_every_case<norm_of(stage_kind::layer_norm, for_engines), any>();
    stands_every_case<norm_of(stage_kind::l2_norm, for_engines), long_rows>();
    stands_every_case<row_computation{.emits = for_engines}, usual>();
    stands_every_case<row_computation{.emits = for_engines}, any>();
    stands_every_case<row_computation{.stages = stage_set::of(stage_kind::glu),
                                      .emits = for_engines},
                      long_rows>();
    stands_every_case<row_computation{.emits = format_set::of(format::q8_1_mmq_ds4)}, usual>();
}

TEST_CASE("Rows that share a block, a warp each") {
    stands_every_case<norm_of(stage_kind::rms_norm, for_ggml), short_rows>();
    stands_every_case<norm_of(stage_kind::layer_norm, for_engines), short_rows>();
    stands_every_case<row_computation{.stages = stage_set::of(stage_kind::glu), .emits = for_ggml},
                      short_rows>();
    stands_every_case<norm_of(stage_kind::rms_norm, for_engines), shared_and_long>();
}

TEST_CASE("A norm that a residual joins, and the norm of their sum") {
    stands_every_case<joined(for_ggml), usual>();
    stands_every_case<joined(for_ggml), any>();
    stands_every_case<joined(for_engines), long_rows>();
    stands_every_case<joined(for_engines), short_rows>();
}

TEST_CASE("One launch of two norms has the bits of the ops one after the other") {
    static constexpr row_computation both = joined(plain),
                                     one = norm_of(stage_kind::rms_norm, plain);
    const auto same = [](const void* joins, const void* norms, const row_policy& how) {
        const instance on = on_host(both, how, joins, "");
        const instance apart = on_host(one, how, norms, "");
        const row_case c = {.what = "",
                            .k = 480,
                            .n1 = 3,
                            .emits = plain,
                            .residual = true,
                            .sum = true,
                            .scale = true,
                            .again = true};
        const row_outputs made = run(on, c);
        row_case norm = c;
        norm.residual = norm.sum = norm.again = false;
        const std::vector<float> weighted = from_bytes<float>(run(apart, norm).f32);
        norm.x = residual_of(c);
        for (std::size_t i = 0; i < norm.x.size(); ++i) norm.x[i] += weighted[i];
        CHECK(made.sum == to_bytes(norm.x));
        norm.weight = next_weight_of(c);
        norm.eps = c.next_eps;
        const row_outputs wanted = run(apart, norm);
        CHECK(made.f32 == wanted.f32);
        CHECK(made.emits == wanted.emits);
    };
    same(reinterpret_cast<const void*>(&instances::run_on_host<both, usual>),
         reinterpret_cast<const void*>(&instances::run_on_host<one, usual>), usual);
    same(reinterpret_cast<const void*>(&instances::run_on_host<both, any>),
         reinterpret_cast<const void*>(&instances::run_on_host<one, any>), any);
}

TEST_CASE("A warp's row has the bits of a block of one warp") {
    static constexpr row_computation norm = norm_of(stage_kind::rms_norm, for_ggml);
    constexpr row_policy lone{.threads = 32, .values = 8, .vector = true};
    CHECK(order_of(lone) == order_of(short_rows));
    const auto outputs = [](const void* kernel, const row_policy& how) {
        const instance on = on_host(norm, how, kernel, "");
        return run(on, {.what = "", .k = 224, .n1 = 7, .emits = for_ggml, .scale = true});
    };
    CHECK(outputs(reinterpret_cast<const void*>(&instances::run_on_host<norm, lone>), lone) ==
          outputs(reinterpret_cast<const void*>(&instances::run_on_host<norm, short_rows>),
                  short_rows));
}
