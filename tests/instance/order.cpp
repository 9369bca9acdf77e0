// Rows of one order give the same bits, whatever their policies are; so do the columns of one
// launch and of eight.
#include "order.hpp"
#include "tables.hpp"

#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

constexpr format_set all_emits =
    format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1;
constexpr row_computation norm = {
    .stages = stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight,
    .emits = all_emits};

/// Does a row compute what no other row does: heads that are turned, or experts that it finds? Or
/// is it a row step of heads or of experts, which their own tests compare?
bool stands_alone(const row& r) {
    if (r.computes.kind() == skeleton::row)
        return has_heads(r.computes.row().stages) || routes(r.computes.row().stages);
    return r.computes.kind() == skeleton::matvec &&
           (r.policy.matvec().turns || r.policy.matvec().routes);
}

/// All distinct rows of all tables, by what they compute and their order.
std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t>,
         std::vector<instance>>
rows_by_order() {
    std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t>,
             std::vector<instance>>
        all;
    for (const arch& a : arch_registry) {
        const table t = instances::on_host(instances::table_named(a.name));
        for (int i = 0; i < t.row_count; ++i) {
            const row& r = t.rows[i];
            if (!runs(t, i) || tested_on(r) != a.name || stands_alone(r)) continue;
            const auto weights =
                r.computes.kind() == skeleton::row ? format_set{} : r.computes.product().weights;
            const auto [stages, emits] =
                r.computes.visit([](const auto& c) { return std::pair(c.stages, c.emits); });
            all[{weights.bits, stages.bits, emits.bits, r.order}].push_back(
                on_host(r.computes, r.policy, t.kernels[i], row_name(t, i)));
        }
    }
    return all;
}

/// The longest row that an instance takes, up to that of the test.
int longest_row(const instance& on) {
    const row_policy& n = on.policy.row();
    const int most = 896;
    return n.values > 0 ? std::min(most, n.threads / rows_of_block(n) * n.values) : most;
}

}  // namespace

TEST_CASE("Rows of one order give the same bits") {
    const auto all = rows_by_order();
    REQUIRE(!all.empty());
    for (const auto& [key, rows] : all) {
        if (rows.front().computes.kind() == skeleton::matvec) {
            same_bits(rows);
            continue;
        }
        if (rows.front().computes.kind() == skeleton::matmul) {
            same_bits_of_tiles(rows);
            continue;
        }
        const instance& whole = *std::max_element(
            rows.begin(), rows.end(),
            [](const instance& a, const instance& b) { return longest_row(a) < longest_row(b); });
        for (const instance& on : rows) {
            INFO(row_name(on.computes, on.policy, ""));
            const row_case c{.what = "",
                             .k = longest_row(on),
                             .n1 = 2,
                             .emits = on.computes.row().emits,
                             .scale = on.computes.row().stages.has(stage_kind::mul_weight)};
            const auto wanted = run(whole, c), got = run(on, c);
            CHECK(got.f32 == wanted.f32);
            CHECK(got.emits == wanted.emits);
        }
    }
}

TEST_CASE("Threads decide the order of a row, the inner product that of a matvec") {
    const auto order = [](const row_policy& p) { return order_of(p); };
    CHECK(order({.threads = 256, .values = 8}) == order({.threads = 256}));
    CHECK(order({.threads = 256, .values = 8}) != order({.threads = 512, .values = 8}));
    const auto order_of_product = [](const matvec_policy& p) { return order_of(p); };
    CHECK(order_of_product({.threads = 32, .rows = 1, .columns = 1}) ==
          order_of_product({.threads = 256, .rows = 2, .columns = 8}));
    CHECK(order_of_product({.product = inner_product::dp4a}) !=
          order_of_product({.product = inner_product::mma}));
    const matvec_policy eight = {
        .threads = 256, .piece = 512, .slices = 8, .product = inner_product::mma};
    matvec_policy other = eight;
    other.threads = 512, other.stages = 3, other.copy = copy_method::async;
    CHECK(order_of(eight) == order_of(other));
    other = eight, other.slices = 4;
    CHECK(order_of(eight) != order_of(other));
    other = eight, other.piece = 256;
    CHECK(order_of(eight) != order_of(other));
    other = eight, other.slices = 0;
    CHECK(order_of(eight) != order_of(other));
}

TEST_CASE("Policies at the edges of what a row takes stand every case") {
    for (const instance& on :
         {made<norm, row_policy{.threads = 32, .values = 16, .vector = true}>(),
          made<norm, row_policy{.threads = 96, .values = 12}>(),
          made<norm, row_policy{.threads = 1024}>()}) {
        INFO(row_name(on.computes, on.policy, "test"));
        sweep(on);
    }
}
