#include "order.hpp"

#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"

#include <map>
#include <utility>

namespace catena_test {

using namespace catena;

namespace {

/// What the first column's members write.
matvec_outputs first_column(const instance& on, const matvec_case& c) {
    auto outputs = run(on, c);
    for (std::size_t m = 0; m < outputs.size(); ++m) {
        const int rows = c.members[m].rows;
        outputs[m].f32.resize(static_cast<std::size_t>(rows));
        for (auto& [layout, all] : outputs[m].quantized)
            all.resize(static_cast<std::size_t>(q8_1_row_bytes(rows)));
        outputs[m].squares.resize(outputs[m].squares.size() / static_cast<std::size_t>(c.columns));
    }
    return outputs;
}

matvec_case order_case(const product_computation& computes, int columns) {
    matvec_case c{.what = "",
                  .k = 5 * 512 + 256,
                  .columns = columns,
                  .band_rows = 4 + columns,
                  .norm = has_norm(computes.stages),
                  .as_f32 = has_norm(computes.stages)};
    for (const format f : computes.weights) c.members.push_back({f, 11});
    return c;
}

/// The same members through every part that `how` can do. `of_two`: their launch ends one norm and
/// begins others.
matvec_case finished_case(const product_computation& computes, const matvec_policy& how,
                          int columns, bool of_two) {
    matvec_case c = order_case(computes, columns);
    c.k = 256;
    c.band_rows = columns % 2 == 0 ? 64 : 128;
    c.ends = of_two;
    for (member_shape& m : c.members) {
        m.rows = 96;
        m.parts = every_part;
        m.function = gate_function::gelu_erf;
        m.begins = of_two;
        if (how.rows % 2 != 0) m.parts = m.parts.without(epilogue_part::glu);
    }
    return c;
}

}  // namespace

void same_bits(const std::vector<instance>& rows) {
    const product_computation& computes = rows.front().computes.product();
    const auto wanted = first_column(rows.front(), order_case(computes, 1));
    // A policy has pairs or none, and a norm has two launches or none.
    std::map<std::pair<bool, bool>, matvec_outputs> finished;
    for (const instance& on : rows) {
        INFO(row_name(on.computes, on.policy, ""));
        for (int columns = 1; columns <= on.policy.matvec().columns; ++columns) {
            INFO(columns << " columns");
            CHECK(first_column(on, order_case(computes, columns)) == wanted);
            const matvec_policy& how = on.policy.matvec();
            for (const bool of_two : {false, true}) {
                if (of_two && !ends_norms(how)) continue;
                const auto got = first_column(on, finished_case(computes, how, columns, of_two));
                const std::pair key{how.rows % 2 == 0, of_two};
                CHECK(finished.try_emplace(key, got).first->second == got);
            }
        }
    }
}

void same_bits_of_tiles(const std::vector<instance>& rows) {
    epilogue_set parts = rows.front().computes.product().epilogue;  // that all of them can do
    for (const instance& on : rows) parts = parts_of_tile(on.policy.matmul(), parts);
    for (const int columns : {1, 9, 40}) {
        matvec_case c{.what = "", .k = 768, .columns = columns};
        for (const format f : rows.front().computes.product().weights)
            c.members.push_back({f, 96, parts, gate_function::gelu_erf});
        const auto wanted = run(rows.front(), c);
        for (const instance& on : rows) {
            INFO(row_name(on.computes, on.policy, "") << ", " << columns << " columns");
            CHECK(run(on, c) == wanted);
        }
    }
}

}  // namespace catena_test
