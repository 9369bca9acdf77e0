// Rows of one order give the same bits, whatever their policies are; so do the columns of one
// launch and of eight, and policies that no table has.
#include "host_machine.hpp"
#include "sweep.hpp"
#include "tables.hpp"

#include "catena/instances/host_instance.hpp"
#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"

#include <map>
#include <tuple>

using namespace catena;
using namespace catena_test;

namespace {

template <computation C, policy P>
instance made() {
    return on_host(C, P, reinterpret_cast<const void*>(&instances::run_on_host<C, P>),
                   row_name(C, P, "test"));
}

constexpr format_set all_emits =
    format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1;
constexpr computation norm = {.kind = skeleton::row,
                              .value = value_kind::rms_norm,
                              .residual = true,
                              .scale = true,
                              .emits = all_emits};

template <format... F>
constexpr computation products = {.kind = skeleton::matvec,
                                  .activation = format::q8_1,
                                  .weights = (format_set{} | ... | F),
                                  .epilogue = every_part};

// Policies at the edges of what a body takes.
constexpr policy lone_warp = {
    .threads = 32, .rows = 3, .columns = 1, .piece = 2048, .stages = 1, .copy = copy_method::async};
constexpr policy three_warps = {.threads = 96,
                                .rows = 6,
                                .columns = 3,
                                .piece = 1024,
                                .stages = 3,
                                .copy = copy_method::plain,
                                .activation = activation_source::shared};
constexpr policy deep = {.threads = 64,
                         .rows = 1,
                         .columns = 2,
                         .piece = 1024,
                         .stages = 9,
                         .copy = copy_method::bulk,
                         .activation = activation_source::shared};

template <format... F>
std::vector<instance> edges() {
    constexpr computation c = products<F...>;
    return {made<c, lone_warp>(), made<c, three_warps>(), made<c, deep>()};
}

/// What the first column's members write.
matvec_outputs first_column(const instance& on, const matvec_case& c) {
    auto outputs = run(on, c);
    for (std::size_t m = 0; m < outputs.size(); ++m) {
        const int rows = c.members[m].rows;
        outputs[m].f32.resize(static_cast<std::size_t>(rows));
        if (!outputs[m].q8_1.empty())
            outputs[m].q8_1.resize(static_cast<std::size_t>(q8_1_row_bytes(rows)));
    }
    return outputs;
}

matvec_case order_case(format_set formats, int columns) {
    matvec_case c{.what = "", .k = 5 * 512 + 256, .columns = columns, .band_rows = 4 + columns};
    for (int f = 1; f < format_count; ++f)
        if (formats.has(static_cast<format>(f))) c.members.push_back({static_cast<format>(f), 11});
    return c;
}

/// The same members through every part that `numbers` can do.
matvec_case finished_case(format_set formats, const policy& numbers, int columns) {
    matvec_case c = order_case(formats, columns);
    c.k = 256;
    c.band_rows = columns % 2 == 0 ? 64 : 128;
    for (member_shape& m : c.members) {
        m.rows = 96;
        m.parts = every_part;
        m.function = gate_function::gelu_erf;
        if (numbers.rows % 2 != 0) m.parts = without(m.parts, epilogue_part::glu);
    }
    return c;
}

void same_bits(const std::vector<instance>& rows) {
    const format_set formats = rows.front().computes.weights;
    const auto wanted = first_column(rows.front(), order_case(formats, 1));
    std::map<bool, matvec_outputs> finished;  // of policies with pairs, and without
    for (const instance& on : rows) {
        INFO(row_name(on.computes, on.numbers, ""));
        for (int columns = 1; columns <= on.numbers.columns; ++columns) {
            INFO(columns << " columns");
            CHECK(first_column(on, order_case(formats, columns)) == wanted);
            const auto got = first_column(on, finished_case(formats, on.numbers, columns));
            CHECK(finished.try_emplace(on.numbers.rows % 2 == 0, got).first->second == got);
        }
    }
}

/// All distinct rows of all tables, by what they compute and their order.
std::map<std::tuple<std::uint64_t, int, std::uint64_t, std::uint32_t>, std::vector<instance>>
rows_by_order() {
    std::map<std::tuple<std::uint64_t, int, std::uint64_t, std::uint32_t>, std::vector<instance>>
        all;
    for (const arch& a : arch_registry) {
        const table t = instances::on_host(instances::table_named(a.name));
        for (int i = 0; i < t.row_count; ++i) {
            const row& r = t.rows[i];
            if (!runs(t, i) || tested_on(r) != a.name) continue;
            all[{r.computes.weights.bits, static_cast<int>(r.computes.value), r.computes.emits.bits,
                 r.order}]
                .push_back(on_host(r.computes, r.numbers, t.kernels[i], row_name(t, i)));
        }
    }
    return all;
}

}  // namespace

TEST_CASE("Rows of one order give the same bits") {
    const auto all = rows_by_order();
    REQUIRE(!all.empty());
    for (const auto& [key, rows] : all) {
        if (rows.front().computes.kind == skeleton::matvec) {
            same_bits(rows);
            continue;
        }
        for (const instance& on : rows) {
            INFO(row_name(on.computes, on.numbers, ""));
            const row_case c{.what = "",
                             .k = 992,
                             .n1 = 2,
                             .emits = on.computes.emits,
                             .scale = on.computes.scale};
            const auto wanted = run(rows.front(), c), got = run(on, c);
            CHECK(got.f32 == wanted.f32);
            CHECK(got.q8_1 == wanted.q8_1);
        }
    }
}

TEST_CASE("Threads decide the order of a row, the lane mapping that of a matvec") {
    CHECK(order_of(norm, {.threads = 256, .values = 8}) == order_of(norm, {.threads = 256}));
    CHECK(order_of(norm, {.threads = 256, .values = 8}) !=
          order_of(norm, {.threads = 512, .values = 8}));
    CHECK(order_of(products<format::q4_K>, lone_warp) == order_of(products<format::q4_K>, deep));
}

TEST_CASE("Policies at the edges of what a matvec takes stand every case with the same bits") {
    const std::vector<std::vector<instance>> sets = {
        edges<format::q8_0>(),
        edges<format::q4_0>(),
        edges<format::q4_K>(),
        edges<format::q6_K>(),
        edges<format::q4_K, format::q6_K>(),
        edges<format::q8_0, format::q4_0, format::q4_K, format::q6_K>()};
    for (const auto& rows : sets) {
        same_bits(rows);
        for (const instance& on : rows) {
            INFO(row_name(on.computes, on.numbers, "test"));
            sweep(on);
        }
    }
}

TEST_CASE("Policies at the edges of what a row takes stand every case") {
    for (const instance& on : {made<norm, policy{.threads = 32, .values = 16, .vector = true}>(),
                               made<norm, policy{.threads = 96, .values = 12}>(),
                               made<norm, policy{.threads = 1024}>()}) {
        INFO(row_name(on.computes, on.numbers, "test"));
        sweep(on);
    }
}
