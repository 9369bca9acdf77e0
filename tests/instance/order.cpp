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
constexpr computation products = {
    .kind = skeleton::matvec, .activation = format::q8_1, .weights = (format_set{} | ... | F)};

// Policies at the edges of what a body takes.
constexpr policy lone_warp = {
    .threads = 32, .rows = 3, .columns = 1, .piece = 2048, .stages = 1, .copy = copy_method::async};
constexpr policy three_warps = {.threads = 96,
                                .rows = 5,
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

/// The products of the first column.
matvec_outputs first_column(const instance& on, matvec_case c) {
    auto outputs = run(on, c);
    for (std::size_t m = 0; m < outputs.size(); ++m)
        outputs[m].resize(static_cast<std::size_t>(c.members[m].rows));
    return outputs;
}

std::vector<member_shape> shapes(format_set formats) {
    std::vector<member_shape> out;
    for (int f = 1; f < format_count; ++f)
        if (formats.has(static_cast<format>(f))) out.push_back({static_cast<format>(f), 11});
    return out;
}

matvec_case order_case(const instance& on, int columns) {
    return {.what = "",
            .k = 5 * 512 + 256,
            .members = shapes(on.computes.weights),
            .columns = columns,
            .ids = {},
            .band_rows = 4 + columns};
}

void same_bits(const std::vector<instance>& rows) {
    const auto wanted = first_column(rows.front(), order_case(rows.front(), 1));
    for (const instance& on : rows) {
        INFO(row_name(on.computes, on.numbers, ""));
        for (int columns = 1; columns <= on.numbers.columns; ++columns) {
            INFO(columns << " columns");
            CHECK(first_column(on, order_case(on, columns)) == wanted);
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
            if (tested_on(r) != a.name) continue;
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
