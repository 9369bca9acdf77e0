// Results for inputs that are hard to compute with: how exact they are, that no order of threads
// and no other column changes their bits, and where NaN and infinity go.
#include "measure.hpp"
#include "row_case.hpp"

#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

const std::map<kernel_kind, std::vector<instance>>& kernels() {
    static const auto found = kernels_by_kind();
    return found;
}

/// Calls f(kind, instance) for every order, or for the first of each kind.
template <class F>
void each_kernel(bool every_order, F f) {
    REQUIRE(!kernels().empty());
    for (const auto& [kind, orders] : kernels())
        for (const instance& on : orders) {
            INFO(row_name(on.computes, on.policy, "host"));
            f(kind, on);
            if (!every_order) break;
        }
}

void check_errors(const kernel_kind& kind, const instance& on) {
    for (const input of : all_inputs) {
        INFO(name(of));
        const measured m = measure(kind, on, of);
        if (m.catena.finite)
            CHECK(m.catena.of_limit <= 1);
        else
            CHECK(m.may_overflow);
        if (m.catena.finite && m.known_to_ggml && m.ggml.finite && of != input::denormal)
            CHECK(m.catena.nmse <= std::max(1.1 * m.ggml.nmse, m.usual_nmse));
        if (of == input::zeros) CHECK(m.catena.largest_error == 0);
    }
}

/// Columns that are hard in different ways.
std::vector<float> mixed_columns(int count) {
    std::vector<float> out;
    for (int i = 0; i < count; ++i) {
        const input of = all_inputs[static_cast<std::size_t>(i) % std::size(all_inputs)];
        const auto column = values_of(of, product_k, 1);
        out.insert(out.end(), column.begin(), column.end());
    }
    return out;
}

std::span<const float> column_of(const std::vector<float>& all, int column, int length) {
    return std::span(all).subspan(static_cast<std::size_t>(column * length),
                                  static_cast<std::size_t>(length));
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Each run has another order of threads and blocks (`on_host`).
void check_order_of_threads(const kernel_kind& kind, const instance& on, int times) {
    const matvec_case c = product_case(kind, on, mixed_columns(product_columns(on)));
    const matvec_outputs first = run(on, c);
    int equal = 1;
    for (int i = 1; i < times; ++i) equal += run(on, c) == first;
    CHECK(equal == times);
}

/// The results of one column, of each matrix.
std::vector<float> results_of(const kernel_kind& kind, const matvec_outputs& all, int column) {
    std::vector<float> out;
    for (const matvec_output& member : all) {
        const auto part = column_of(member.f32, column, product_rows(kind));
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

void check_columns_alone(const kernel_kind& kind, const instance& on) {
    const int count = product_columns(on);
    const std::vector<float> x = mixed_columns(count);
    const matvec_outputs together = run(on, product_case(kind, on, x));
    for (int i = 0; i < count; ++i) {
        INFO("column " << i << " of " << count);
        const auto column = column_of(x, i, product_k);
        const auto alone = run(on, product_case(kind, on, {column.begin(), column.end()}));
        CHECK(same_bits(results_of(kind, alone, 0), results_of(kind, together, i)));
    }
}

void check_where_nan_goes(const kernel_kind& kind, const instance& on) {
    const int count = product_columns(on), hit = count / 2;
    std::vector<float> x = values_of(input::bell_curve, product_k, count);
    const matvec_outputs without = run(on, product_case(kind, on, x));
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto& [put, at] : {std::pair(nan, 0), {inf, 500}, {-inf, product_k - 1}}) {
        INFO(put << " at " << at << " of column " << hit);
        std::vector<float> broken = x;
        broken[static_cast<std::size_t>(hit * product_k + at)] = put;
        const matvec_outputs with = run(on, product_case(kind, on, broken));
        for (int i = 0; i < count; ++i) {
            const std::vector<float> column = results_of(kind, with, i);
            if (i == hit)
                CHECK(std::ranges::none_of(column, [](float v) { return std::isfinite(v); }));
            else
                CHECK(same_bits(column, results_of(kind, without, i)));
        }
    }
}

/// A norm reads its whole row, so a NaN is in each of its results.
void check_where_nan_goes_in_rows(const instance& on) {
    row_case c{.what = "", .k = 256, .n1 = 3};
    c.emits = format_set::of(format::f32);
    c.x = values_of(input::bell_curve, c.k, c.n1);
    const auto results = [&] { return from_bytes<float>(run(on, c).f32); };
    const std::vector<float> without = results();
    for (const int at : {0, 100, c.k - 1}) {
        const std::vector<float> before = c.x;
        c.x[static_cast<std::size_t>(c.k + at)] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> with = results();
        CHECK(std::ranges::all_of(column_of(with, 1, c.k), [](float v) { return std::isnan(v); }));
        for (const int row : {0, 2})
            CHECK(same_bits(column_of(with, row, c.k), column_of(without, row, c.k)));
        c.x = before;
    }
}

void check_nan(const kernel_kind& kind, const instance& on) {
    if (kind.is_product()) check_where_nan_goes(kind, on);
    if (kind.task == kernel_task::norm) check_where_nan_goes_in_rows(on);
}

}  // namespace

TEST_CASE("errors are no larger than rounding explains, and than those of ggml", "[numerics]") {
    each_kernel(false, check_errors);
}

TEST_CASE("no order of threads changes a bit, in 100 runs", "[numerics]") {
    std::map<kernel_task, bool> done;
    each_kernel(false, [&](const kernel_kind& kind, const instance& on) {
        if (!kind.is_product()) return;
        check_order_of_threads(kind, on, done.try_emplace(kind.task, true).second ? 100 : 3);
    });
}

TEST_CASE("a column has the bits that it has alone, whatever stands beside it", "[numerics]") {
    each_kernel(false, [](const kernel_kind& kind, const instance& on) {
        if (kind.is_product()) check_columns_alone(kind, on);
    });
}

TEST_CASE("NaN and infinity come out, and only in their own column", "[numerics]") {
    each_kernel(false, check_nan);
}

TEST_CASE("every order keeps all of this", "[.][every_order]") {
    each_kernel(true, [](const kernel_kind& kind, const instance& on) {
        check_errors(kind, on);
        check_nan(kind, on);
        if (!kind.is_product()) return;
        check_order_of_threads(kind, on, 100);
        check_columns_alone(kind, on);
    });
}
