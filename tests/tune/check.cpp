// How a candidate's result is judged, and the operands that it is given.
#include "compare.hpp"
#include "operands.hpp"

#include "catena/format/codec.hpp"
#include "catena/pick/config.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/problems.hpp"

#include <limits>
#include <span>
#include <vector>

using namespace catena;
using namespace catena_test;
using tune::difference;

namespace {

std::span<const std::byte> bytes(const std::vector<float>& values) {
    return std::as_bytes(std::span(values));
}

struct memory {
    std::vector<std::byte> room = std::vector<std::byte>((1 << 22) + 256);
    bench::dealer deal{room.data(), 1 << 22};
};

void holds(const std::vector<bench::stretch>& all, const void* at, std::int64_t size) {
    for (const bench::stretch& s : all)
        if (s.at == at) {
            CHECK(s.bytes == size);
            return;
        }
    FAIL("no stretch begins there");
}

}  // namespace

TEST_CASE("Results of one order agree bit for bit", "[tune]") {
    const std::vector<float> a = {1, 2, 3}, nearly = {1, 2, 3.0000002f};
    CHECK(difference(bytes(a), bytes(a), format::f32, true).empty());
    CHECK_THAT(difference(bytes(nearly), bytes(a), format::f32, true), Catch::Contains("bits"));
    CHECK(difference(bytes(nearly), bytes(a), format::f32, false).empty());
}

TEST_CASE("Results of another order agree within a tolerance", "[tune]") {
    const std::vector<float> a = {1, 2, 3}, off = {1, 2, 3.1f};
    CHECK_THAT(difference(bytes(off), bytes(a), format::f32, false), Catch::Contains("NMSE"));
}

TEST_CASE("A value that was not written is found even where the reference lacks it too", "[tune]") {
    const std::vector<float> poison = {1, std::numeric_limits<float>::quiet_NaN()};
    CHECK_THAT(difference(bytes(poison), bytes(poison), format::f32, true),
               Catch::Contains("value 1"));
}

TEST_CASE("Quantized results of another order may differ by a rounding, and by no more", "[tune]") {
    std::vector<float> x(32);
    for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i * i);
    const std::vector<std::byte> a = encode_row(format::q8_1, x);
    std::vector<std::byte> rounded = a, wrong = a;
    rounded[20] = static_cast<std::byte>(static_cast<int>(rounded[20]) + 1);
    wrong[35] = std::byte{0};
    CHECK(difference(rounded, a, format::q8_1, false).empty());
    CHECK_FALSE(difference(rounded, a, format::q8_1, true).empty());
    CHECK_FALSE(difference(wrong, a, format::q8_1, false).empty());
}

TEST_CASE("A matvec's operands are whole, apart and described", "[tune]") {
    memory m;
    const product_problem p = matvec_problem(
        512,
        {{.type = format::q4_K, .rows = 64, .epilogue = epilogue_set::of(epilogue_part::glu)},
         {.type = format::q6_K, .rows = 32}},
        3);
    const bench::operands o = bench::operands_of(p, 16, m.deal);
    const matvec_args& a = o.matvec;
    REQUIRE(a.members == 2);
    CHECK(a.columns == 3);
    CHECK(a.bands == bands_of(p, 16));
    CHECK(a.member[1].first_band == bands_of(p.member[0], 16));
    holds(o.inputs, a.x, 3 * q8_1_row_bytes(512));
    holds(o.inputs, a.member[0].weight, 64 * row_bytes(format::q4_K, 512));
    holds(o.inputs, a.member[0].up, 64 * row_bytes(format::q4_K, 512));
    holds(o.outputs, a.member[1].dst, 4 * 32 * 3);
    CHECK(a.member[1].up == nullptr);
    for (const auto* list : {&o.inputs, &o.outputs})
        for (std::size_t i = 1; i < list->size(); ++i)
            CHECK((*list)[i].at >= (*list)[i - 1].at + (*list)[i - 1].bytes);
}

TEST_CASE("Operands for which there is no room beside those before are known", "[tune]") {
    memory m;
    const product_problem p = matvec_problem(1024, {{.type = format::q8_0, .rows = 512}});
    for (int i = 0; i < 3; ++i) {
        bench::operands_of(p, 32, m.deal);
        CHECK_FALSE(m.deal.started_again());
    }
    bench::operands_of(p, 32, m.deal);
    CHECK(m.deal.started_again());
}

TEST_CASE("Experts are picked by ids that every member has", "[tune]") {
    memory m;
    product_problem p = matvec_problem(256,
                                       {{.type = format::q4_K, .rows = 32, .experts = 8},
                                        {.type = format::q4_K, .rows = 32, .experts = 6}},
                                       4);
    p.expert = true;
    p.tokens = 2;
    const bench::operands o = bench::operands_of(p, 32, m.deal);
    CHECK(o.matvec.slots == 2);
    for (const bench::stretch& s : o.inputs)
        if (s.type == format::i32) {
            CHECK(s.at == reinterpret_cast<const std::byte*>(o.matvec.ids));
            CHECK(s.id_limit == 6);
            CHECK(s.bytes == 4 * 4);
        }
    holds(o.inputs, o.matvec.member[0].weight, 8 * 32 * row_bytes(format::q4_K, 256));
}

TEST_CASE("A matmul's operands are those of its tiles, of experts too", "[tune]") {
    memory m;
    product_problem p = matvec_problem(256,
                                       {{.type = format::q8_0, .rows = 96, .experts = 8},
                                        {.type = format::q8_0, .rows = 32, .experts = 4}},
                                       32);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = format::q8_1_mmq_d4;
    p.expert = true;
    p.tokens = 16;
    const bench::operands o = bench::operands_of(p, 64, m.deal);
    const auto* a = static_cast<const matmul_args*>(o.args());
    CHECK(o.args_bytes() == sizeof *a);
    CHECK(a->tiles == 2 + 1);
    CHECK(a->member[1].first_band == 2);
    CHECK(a->columns == 32);
    CHECK(a->x_rows == 16);
    CHECK(a->slots == 2);
    CHECK(a->experts == 8);
    holds(o.inputs, a->ids, 4 * 32);
    holds(o.inputs, a->x, 16 * q8_1_row_bytes(256));
    holds(o.inputs, a->member[0].weight, 8 * 96 * row_bytes(format::q8_0, 256));
    holds(o.outputs, a->member[0].dst, 4 * 96 * 32);
}

TEST_CASE("An activation of fp8 is its rows, and numbers for scales behind them", "[tune]") {
    memory m;
    product_problem p = matvec_problem(512, {{.type = format::fp8_e4m3, .rows = 64}}, 16);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = format::fp8_group;
    const bench::operands o = bench::operands_of(p, 64, m.deal);
    const auto* x = static_cast<const std::byte*>(o.matmul.x);
    CHECK(o.matmul.x_bytes == 512);
    holds(o.inputs, x, 16 * 512);
    holds(o.inputs, x + 16 * 512, 16 * 4 * 4);
    for (const bench::stretch& s : o.inputs)
        if (s.at == x || s.at == x + 16 * 512)
            CHECK(s.type == (s.at == x ? format::fp8_e4m3 : format::f32));
}

TEST_CASE("Of what experts made a row has the results of every slot, and their weights", "[tune]") {
    memory m;
    row_problem p = norm_problem(256, 3);
    p.needs.stages = p.needs.stages | stage_kind::combine;
    p.slots = 8;
    const bench::operands o = bench::operands_of(p, 0, m.deal);
    holds(o.inputs, o.row.experts.results, 4 * 256 * 8 * 3);
    holds(o.inputs, o.row.experts.weights, 4 * 8 * 3);
    CHECK(o.row.experts.slots == 8);
    CHECK(o.row.experts.nb2 == 8 * o.row.experts.nb1);
    CHECK(o.row.x == nullptr);
}

TEST_CASE("A row's operands are those that the problem names", "[tune]") {
    memory m;
    row_problem p = norm_problem(256, 3);
    p.needs.stages = p.needs.stages | stage_kind::add_residual;
    p.sum = true;
    p.needs.emits = p.needs.emits | format::f16;
    const bench::operands o = bench::operands_of(p, 0, m.deal);
    holds(o.inputs, o.row.residual, 4 * 256 * 3);
    holds(o.inputs, o.row.weight, 4 * 256);
    holds(o.outputs, o.row.sum, 4 * 256 * 3);
    holds(o.outputs, o.row.f16, 2 * 256 * 3);
    holds(o.outputs, o.row.q8_1, 3 * q8_1_row_bytes(256));
    CHECK(o.row.f32 == nullptr);
    CHECK(o.row.gate == nullptr);
}
