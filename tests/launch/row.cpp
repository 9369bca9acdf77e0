// Rows launched by hand on the host executor: every format that an engine's own matmuls read, and
// what is said about wrong arguments.
#include "catena/launch/row.hpp"

#include "catena/format/codec.hpp"
#include "catena/format/scaled.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace catena;

namespace {

constexpr int k = 512, rows = 3;
constexpr float given = 0.02f;  ///< the scale of fp8_tensor and nvfp4

const row_launcher& launcher() {
    static const row_launcher of_sm_90(instances::on_host(instances::sm_90()));
    return of_sm_90;
}

/// x, a weight and a bias, and room for what is written.
struct memory {
    exec::host_device machine;
    std::vector<float> x, weight, bias;
    row_args a;

    memory() {
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (int i = 0; i < k * rows; ++i) x.push_back(normal(random));
        for (int i = 0; i < k; ++i) weight.push_back(normal(random) / 8);
        for (int i = 0; i < k; ++i) bias.push_back(normal(random) / 8);
        a.k = k;
        a.n1 = a.rows = rows;
        a.eps = 1e-6f;
        a.x = put(x);
        a.x_at = a.f32_at = {.nb1 = 4 * k};
        a.f16_at = a.bf16_at = {.nb1 = 2 * k};
        a.f32 = room<float>(k * rows);
    }

    const float* put(const std::vector<float>& values) {
        const auto count = static_cast<std::int64_t>(values.size());
        float* to = machine.allocate<float>("operand", count, exec::memory::initialized);
        std::copy(values.begin(), values.end(), to);
        return to;
    }
    template <class T>
    T* room(std::int64_t count) {
        T* to = machine.allocate<T>("output", count, exec::memory::initialized);
        for (std::int64_t i = 0; i < count; ++i) to[i] = T{};
        return to;
    }
    status launch(stage_set stages) { return launcher().launch(stages, a, &machine); }

    /// The f32 that the launch wrote, which what is rounded is made of.
    std::span<const float> value(int row) const { return {a.f32 + row * k, k}; }
};

/// Not inlined: of a length that it knows GCC 12 warns of an overflow that there is not.
[[gnu::noinline]] std::vector<std::byte> encoded(format f, std::span<const float> values) {
    return encode_row(f, values);
}

void add_norm(memory& m) {
    m.a.weight = m.put(m.weight);
    m.a.bias = m.put(m.bias);
    m.a.one_plus_weight = true;
}
constexpr stage_set norm =
    stage_kind::rms_norm | stage_kind::mul_weight | stage_set::of(stage_kind::add_bias);

void check_norm(const memory& m) {
    for (int row = 0; row < rows; ++row) {
        double squares = 0;
        for (int i = 0; i < k; ++i)
            squares += std::pow(m.x[static_cast<std::size_t>(row * k + i)], 2.0);
        const double scale = 1 / std::sqrt(squares / k + 1e-6);
        for (int i = 0; i < k; ++i) {
            const double wanted = m.x[static_cast<std::size_t>(row * k + i)] * scale *
                                      (1 + double{m.weight[static_cast<std::size_t>(i)]}) +
                                  m.bias[static_cast<std::size_t>(i)];
            CHECK(std::fabs(m.value(row)[static_cast<std::size_t>(i)] - wanted) <= 1e-5);
        }
    }
}

}  // namespace

TEST_CASE("A norm times 1 + weight, with a bias, is written as f32, f16 and bf16") {
    memory m;
    add_norm(m);
    auto* f16 = m.room<std::uint16_t>(k * rows);
    auto* bf16 = m.room<std::uint16_t>(k * rows);
    m.a.f16 = f16, m.a.bf16 = bf16;
    const status said = m.launch(norm);
    INFO(said.message);
    REQUIRE(said.ok());
    check_norm(m);
    for (int i = 0; i < k * rows; ++i) {
        CHECK(f16[i] == f16_from_f32(m.a.f32[i]));
        CHECK(bf16[i] == bf16_from_f32(m.a.f32[i]));
    }
}

TEST_CASE("A norm is quantized to each format whose scales lie apart, by the rule to the bit") {
    const struct {
        format type;
        scaled_output row_args::*to;
    } formats[] = {
        {format::int8_token, &row_args::int8_token}, {format::fp8_tensor, &row_args::fp8_tensor},
        {format::fp8_token, &row_args::fp8_token},   {format::fp8_group, &row_args::fp8_group},
        {format::mxfp8_rows, &row_args::mxfp8},      {format::mxfp4_rows, &row_args::mxfp4},
        {format::nvfp4_rows, &row_args::nvfp4}};
    for (const auto& [type, to] : formats) {
        INFO(name(type));
        memory m;
        add_norm(m);
        const std::int64_t data_bytes = row_bytes(type, k);
        auto* data = m.room<std::uint8_t>(data_bytes * rows);
        const std::int64_t scale_size = scale_bytes(type, k);
        auto* scales = m.room<std::uint8_t>((scale_size + 4) * rows);
        (m.a.*to) = {data, type == format::fp8_tensor ? nullptr : scales};
        if (type == format::fp8_tensor) m.a.fp8_scale = m.put({given});
        if (type == format::nvfp4_rows) m.a.nvfp4_scale = m.put({given});
        if (type == format::int8_token) m.a.int8_sums = m.room<std::int32_t>(rows);
        const status said = m.launch(norm);
        INFO(said.message);
        REQUIRE(said.ok());
        check_norm(m);
        for (int row = 0; row < rows; ++row) {
            const scaled_row wanted = encode_scaled(type, m.value(row), given);
            const std::vector<std::uint8_t> written(data + row * data_bytes,
                                                    data + (row + 1) * data_bytes);
            CHECK(written == wanted.data);
            if (type == format::int8_token) CHECK(m.a.int8_sums[row] == wanted.sum);
            const bool parameter =
                scale_size == static_cast<std::int64_t>(4 * wanted.scales.size());
            for (std::size_t i = 0; i < wanted.scales.size() && parameter; ++i) {
                float stored = 0;
                std::memcpy(&stored, scales + row * scale_size + 4 * i, 4);
                CHECK(stored == wanted.scales[i]);
            }
        }
    }
}

TEST_CASE("An l2_norm, and a plain row in q8_1 with the sizes that are left out") {
    memory m;
    status said = m.launch(stage_set::of(stage_kind::l2_norm));
    INFO(said.message);
    REQUIRE(said.ok());
    for (int row = 0; row < rows; ++row) {
        double squares = 0;
        for (const float v : m.value(row)) squares += double{v} * v;
        CHECK(std::fabs(squares - 1) <= 1e-5);
    }
    memory q;
    const std::int64_t bytes = q8_1_row_bytes(k);
    auto* q8_1 = q.room<std::byte>(bytes * rows);
    q.a.q8_1 = q8_1;
    q.a.f32 = nullptr;
    said = q.launch({});
    INFO(said.message);
    REQUIRE(said.ok());
    for (int row = 0; row < rows; ++row) {
        const std::vector<float> values(q.x.begin() + row * k, q.x.begin() + (row + 1) * k);
        const auto wanted = encoded(format::q8_1, values);
        CHECK(std::memcmp(q8_1 + row * bytes, wanted.data(), wanted.size()) == 0);
    }
}

TEST_CASE("Rows lie where the strides of their three dimensions say") {
    constexpr int n1 = 3, n2 = 2, n3 = 2;
    constexpr std::int64_t nb1 = 4 * 64, nb2 = nb1 * n1 + 4 * 32, nb3 = nb2 * n2 + 4 * 96;
    memory m;
    m.a.k = 64, m.a.rows = n1 * n2 * n3, m.a.n1 = n1, m.a.n2 = n2;
    m.a.x_at = {nb1, nb2, nb3};
    std::vector<float> x(n3 * nb3 / 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    m.a.x = m.put(x);
    m.a.f32 = m.room<float>(m.a.rows * m.a.k);
    m.a.f32_at = {nb1, nb1 * n1, nb1 * n1 * n2};
    const status said = m.launch({});
    INFO(said.message);
    REQUIRE(said.ok());
    for (int row = 0; row < m.a.rows; ++row) {
        const std::int64_t from = row % n1 * nb1 + row / n1 % n2 * nb2 + row / n1 / n2 * nb3;
        for (int i = 0; i < m.a.k; ++i)
            CHECK(m.a.f32[row * m.a.k + i] == x[static_cast<std::size_t>(from / 4 + i)]);
    }
}

TEST_CASE("Wrong arguments of a row are named, and nothing is launched") {
    const auto said = [](auto change, stage_set stages = norm) {
        memory m;
        add_norm(m);
        change(m.a);
        const status s = m.launch(stages);
        CHECK(m.a.f32 != nullptr);
        CHECK((m.a.f32 == nullptr || m.a.f32[0] == 0));
        return std::string(s.message);
    };
    CHECK(said([](row_args& a) { a.x = nullptr; }) == "row: x is null, and the stages read it");
    CHECK(said([](row_args& a) { a.weight = nullptr; }) ==
          "row: weight is null, and the stages read it");
    CHECK(said([](row_args& a) { a.residual = a.x; }) ==
          "row: residual is given, and no stage reads it");
    CHECK(said([](row_args& a) { a.sum_factor = a.weight; }) ==
          "row: sum_factor is given, and no stage reads it");
    CHECK(said([](row_args& a) { a.x_at.nb1 = 0; }) ==
          "row: x has rows that overlap: its nb1 is 0, a row has 2048 bytes");
    CHECK(said([](row_args& a) { a.rows = 4, a.n1 = 3; }) ==
          "row: rows must be a multiple of n1 * n2");
    CHECK(said([](row_args& a) { a.k = 0; }) == "row: k and rows must be positive");
    CHECK(said([](row_args& a) { a.q8_1 = a.f32, a.quant_k = 48; }) ==
          "row: quant_k must be a multiple or a divisor of k, both multiples of 32");
    CHECK(said([](row_args& a) { a.q8_1 = a.f32, a.quant_k = 160; }) ==
          "row: quant_k must be a multiple or a divisor of k, both multiples of 32");
    CHECK(said([](row_args& a) { a.q8_1 = a.f32, a.quant_blocks = 15; }) ==
          "row: quant_blocks is less than quant_k / 32");
    CHECK(said([](row_args& a) { a.fp8_token.data = a.f32; }) == "row: fp8_token.scales is null");
    CHECK(said([](row_args& a) { a.fp8_tensor.data = a.f32; }) ==
          "row: fp8_tensor is written with a scale that is given: fp8_scale is null");
    CHECK(said([](row_args& a) { a.scale_type = format::q4_K; }) ==
          "row: scale_type must be f32, f16 or bf16");
    CHECK(said([](row_args&) {}, norm | stage_kind::glu) ==
          "row: glu may not stand where it does: chain/stage.hpp has the order");
    CHECK(said([](row_args&) {}, stage_set::of(stage_kind::mul_weight)) ==
          "row: mul_weight may not stand where it does: chain/stage.hpp has the order");
    CHECK(said([](row_args&) {}, norm | stage_kind::emit) == "row: emit is no stage of a row");
    CHECK(said([](row_args& a) { a.x = reinterpret_cast<const float*>(2); }) ==
          "row: x is not aligned to its elements of 4 bytes");

    memory m;
    m.a.f32 = nullptr;
    CHECK(std::string(m.launch(stage_set::of(stage_kind::rms_norm)).message) ==
          "row: nothing is written: give an output an address");
    memory without;
    const status none = launch_row(instances::sm_90(), stage_set::of(stage_kind::rms_norm),
                                   without.a, &without.machine);
    CHECK(!none.ok());  // no kernel, or no device
    CHECK(launch_row(table{}, stage_set::of(stage_kind::rms_norm), without.a, nullptr).code ==
          status_code::no_instances);
}
