#include "cases.hpp"
#include "operands.hpp"

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"

#include <array>

namespace catena::bench {
namespace {

struct row_shape {
    int k, rows;
};
constexpr row_shape row_shapes[] = {
    {.k = 2048, .rows = 1}, {.k = 4096, .rows = 1},   {.k = 8192, .rows = 1},
    {.k = 4096, .rows = 4}, {.k = 4096, .rows = 512}, {.k = 8192, .rows = 4096},
};

struct matvec_shape {
    const char* what;
    int k;
    std::array<int, 3> members;  ///< weight rows; 0: no such member
};
constexpr matvec_shape matvec_shapes[] = {
    {.what = "output", .k = 4096, .members = {4096}},
    {.what = "q,k,v", .k = 4096, .members = {4096, 1024, 1024}},
    {.what = "gate,up", .k = 4096, .members = {12288, 12288}},
    {.what = "narrow", .k = 2048, .members = {512, 512}},
};

/// Adds the case when the row serves the problem.
void add(std::vector<row_case>& to, const table& t, int index, const std::string& shape,
         const problem& p, const buffer& arena, double l2_bytes) {
    const row& r = t.rows[index];
    const arch& a = *t.target;
    const int per_sm = blocks_per_sm(r, p, a);
    if (constraint(r, p, a).why != limit::none || per_sm < 1) return;
    const launch_shape launched = shape_of_launch(r, p, a, per_sm);

    row_case c;
    c.row = index;
    c.predicted_us = predicted_us(r, p, a, launched);
    c.what.name = row_name(t, index) + " " + shape;
    c.what.bytes = static_cast<double>(bytes_of(p));
    c.what.sets = rotation(c.what.bytes, l2_bytes);
    dealer deal(arena.data(), arena.bytes());
    std::vector<operands> sets;
    for (int i = 0; i < c.what.sets; ++i) sets.push_back(operands_of(p, launched.band, deal));
    c.what.launch = [sets, config = config_of(r, p, a, launched), kernel = t.kernels[index],
                     launch = t.launch](cudaStream_t stream, int set) {
        const operands& o = sets[static_cast<std::size_t>(set)];
        const status done = launch(kernel, config, o.args(), o.args_bytes(), stream);
        if (done.ok()) return;
        std::fprintf(stderr, "%s\n", done.message);
        std::exit(1);
    };
    to.push_back(std::move(c));
}

/// The first of the wanted formats that is there.
format_set first_of(format_set there, std::initializer_list<format> wanted) {
    for (const format f : wanted)
        if (there.has(f)) return format_set::of(f);
    return there;
}

void add_row_cases(std::vector<row_case>& to, const table& t, int index, const buffer& arena,
                   double l2) {
    const row_computation& computes = t.rows[index].computes.row();
    constexpr stage_set around =
        stage_kind::combine | stage_kind::add_residual | stage_kind::add_bias | stage_kind::gate;
    for (const auto [k, rows] : row_shapes) {
        row_problem p;
        p.needs = computes;
        p.needs.stages = computes.stages.without(around);
        p.sum = p.needs.stages.has(stage_kind::next_norm);
        p.needs.emits = first_of(computes.emits, {format::q8_1, format::fp8_token, format::f32});
        if (computes.emits.has(format::f32)) p.needs.emits = p.needs.emits | format::f32;
        p.k = k;
        p.quant_k = p.needs.emits.has(format::q8_1) ? k : 0;
        p.rows = rows;
        const std::string shape = "k" + std::to_string(k) + " rows" + std::to_string(rows);
        add(to, t, index, shape, p, arena, l2);
        if (!computes.stages.has(stage_kind::combine)) continue;
        p.needs.stages = p.needs.stages | stage_kind::combine | stage_kind::add_residual;
        p.sum = true;
        p.slots = 8;
        add(to, t, index, shape + " experts8", p, arena, l2);
    }
}

/// The formats of a set, in the registry's order.
std::vector<format> listed(format_set set) {
    std::vector<format> all;
    for (const format f : set) all.push_back(f);
    return all;
}

/// A group of the row's formats in turn, one for each of `sizes`; false: it has fewer than the
/// formats.
bool set_members(product_problem& p, const std::vector<format>& formats,
                 const std::array<int, 3>& sizes) {
    for (const int rows : sizes) {
        if (rows == 0) continue;
        const auto member = static_cast<std::size_t>(p.member_count);
        p.member[p.member_count++] = {formats[member % formats.size()], rows, 0};
    }
    return static_cast<std::size_t>(p.member_count) >= formats.size();
}

void add_product_cases(std::vector<row_case>& to, const table& t, int index, const buffer& arena,
                       double l2) {
    const row& r = t.rows[index];
    const bool is_matmul = r.computes.kind() == skeleton::matmul;
    const std::vector<format> formats = listed(r.computes.product().weights);
    const bool of_16_bits = is_matmul && formats.size() == 1 &&
                            (formats[0] == format::f16 || formats[0] == format::bf16);
    for (const matvec_shape& shape : matvec_shapes)
        for (const int columns : of_16_bits  ? std::vector{64, 512, 2048}
                                 : is_matmul ? std::vector{64, 512}
                                             : std::vector{columns_of(r.policy)}) {
            product_problem p;
            p.needs = r.computes.product();
            p.needs.epilogue = {};
            p.k = shape.k;
            p.columns = columns;
            if (!set_members(p, formats, shape.members)) continue;
            const std::string name = std::string(shape.what) + " k" + std::to_string(shape.k) +
                                     " columns" + std::to_string(columns);
            const std::size_t before = to.size();
            add(to, t, index, name, p, arena, l2);
            if (!of_16_bits || to.size() == before) continue;
            for (int i = 0; i < p.member_count; ++i)
                to.back().plain.all.push_back({p.member[i].rows, p.k, p.columns});
        }
}

}  // namespace

std::vector<row_case> row_cases(const table& rows, int row, const buffer& arena, double l2_bytes) {
    std::vector<row_case> all;
    if (rows.rows[row].computes.kind() == skeleton::row)
        add_row_cases(all, rows, row, arena, l2_bytes);
    else
        add_product_cases(all, rows, row, arena, l2_bytes);
    return all;
}

}  // namespace catena::bench
