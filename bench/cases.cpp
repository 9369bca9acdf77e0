#include "cases.hpp"

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"

#include <array>

namespace catena::bench {
namespace {

/// Hands out pieces of the arena, inputs from its first half and outputs from its second, and
/// starts again at the front of a half when it is full.
class dealer {
  public:
    explicit dealer(const buffer& arena) : arena_(arena) {}

    std::byte* input(std::int64_t bytes) { return piece(input_, 0, bytes); }
    std::byte* output(std::int64_t bytes) { return piece(output_, arena_.bytes() / 2, bytes); }

  private:
    std::byte* piece(std::size_t& next, std::size_t from, std::int64_t bytes) const {
        const auto taken = static_cast<std::size_t>(round_up(bytes, 256));
        if (next + taken > arena_.bytes() / 2) next = 0;
        std::byte* const at = arena_.data() + from + next;
        next += taken;
        return at;
    }

    const buffer& arena_;
    std::size_t input_ = 0, output_ = 0;
};

struct row_shape {
    int k, rows;
};
constexpr row_shape row_shapes[] = {{2048, 1}, {4096, 1}, {8192, 1}, {4096, 4}, {4096, 512}};

struct matvec_shape {
    const char* what;
    int k;
    std::array<int, 3> members;  ///< weight rows; 0: no such member
};
constexpr matvec_shape matvec_shapes[] = {
    {"output", 4096, {4096}},
    {"q,k,v", 4096, {4096, 1024, 1024}},
    {"gate,up", 4096, {12288, 12288}},
    {"narrow", 2048, {512, 512}},
};

/// Adds the case when the row serves the problem. `make_args(deal)` gives one input set's
/// arguments.
template <class MakeArgs>
void add(std::vector<row_case>& to, const table& t, int index, const std::string& shape,
         const problem& p, const buffer& arena, double l2_bytes, MakeArgs make_args) {
    const row& r = t.rows[index];
    const arch& a = *t.target;
    const int per_sm = blocks_per_sm(r, p, a);
    if (constraint(r, p, a).why != limit::none || per_sm < 1) return;
    const std::int32_t band = p.needs.kind == skeleton::matvec ? band_rows(r, p, a, per_sm) : 0;

    row_case c;
    c.row = index;
    c.predicted_us = predicted_us(r, p, a, band, per_sm);
    c.what.name = row_name(t, index) + " " + shape;
    c.what.bytes = static_cast<double>(bytes_of(p));
    c.what.sets = rotation(c.what.bytes, l2_bytes);
    dealer deal(arena);
    std::vector<decltype(make_args(deal, band))> sets;
    for (int i = 0; i < c.what.sets; ++i) sets.push_back(make_args(deal, band));
    c.what.launch = [sets, config = config_of(r, p, a, band), kernel = t.kernels[index],
                     launch = t.launch](cudaStream_t stream, int set) {
        const auto& args = sets[static_cast<std::size_t>(set)];
        const status done = launch(kernel, config, &args, sizeof args, stream);
        if (done.ok()) return;
        std::fprintf(stderr, "%s\n", done.message);
        std::exit(1);
    };
    to.push_back(std::move(c));
}

void add_row_cases(std::vector<row_case>& to, const table& t, int index, const buffer& arena,
                   double l2) {
    const computation& computes = t.rows[index].computes;
    for (const auto [k, rows] : row_shapes) {
        problem p;
        p.needs = computes;
        p.needs.residual = false;
        p.needs.emits = format_set::of(format::q8_1);
        if (computes.emits.has(format::f32)) p.needs.emits = p.needs.emits | format::f32;
        p.k = p.quant_k = k;
        p.rows = rows;
        const auto make_args = [&](dealer& deal, std::int32_t) {
            const std::int64_t bytes = std::int64_t{4} * k * rows;
            row_args args;
            args.x = reinterpret_cast<float*>(deal.input(bytes));
            if (computes.value == value_kind::glu) {
                args.gate = reinterpret_cast<float*>(deal.input(bytes));
                args.function = gate_function::silu;
            }
            if (computes.scale) args.weight = reinterpret_cast<float*>(deal.input(4 * k));
            if (p.needs.emits.has(format::f32))
                args.f32 = reinterpret_cast<float*>(deal.output(bytes));
            args.q8_1 = deal.output(q8_1_row_bytes(k) * rows);
            args.x_at = args.gate_at = args.f32_at = {4 * k, bytes, bytes};
            args.k = args.quant_k = k;
            args.rows = args.n1 = rows;
            args.quant_blocks = static_cast<std::int32_t>(q8_1_row_blocks(k));
            args.eps = 1e-6f;
            args.weight_early = true;
            return args;
        };
        add(to, t, index, "k" + std::to_string(k) + " rows" + std::to_string(rows), p, arena, l2,
            make_args);
    }
}

/// The formats of a set, in the registry's order.
std::vector<format> listed(format_set set) {
    std::vector<format> all;
    for (int f = 1; f < format_count; ++f)
        if (set.has(static_cast<format>(f))) all.push_back(static_cast<format>(f));
    return all;
}

void add_matvec_cases(std::vector<row_case>& to, const table& t, int index, const buffer& arena,
                      double l2) {
    const row& r = t.rows[index];
    const std::vector<format> formats = listed(r.computes.weights);
    for (const matvec_shape& shape : matvec_shapes) {
        problem p;
        p.needs = r.computes;
        p.needs.epilogue = {};
        p.k = shape.k;
        p.columns = r.numbers.columns;
        for (const int rows : shape.members) {
            if (rows == 0) continue;
            const auto member = static_cast<std::size_t>(p.member_count);
            p.member[p.member_count++] = {formats[member % formats.size()], rows, 0};
        }
        if (static_cast<std::size_t>(p.member_count) < formats.size()) continue;
        const auto make_args = [&](dealer& deal, std::int32_t band) {
            matvec_args args;
            args.x = deal.input(q8_1_row_bytes(p.k) * p.columns);
            args.x_bytes = q8_1_row_bytes(p.k);
            args.k = shape.k;
            args.columns = static_cast<std::int32_t>(p.columns);
            args.band_rows = band;
            args.weights_early = true;
            for (int i = 0; i < p.member_count; ++i) {
                matvec_member& m = args.member[args.members++];
                m.type = p.member[i].type;
                m.rows = p.member[i].rows;
                m.row_bytes = row_bytes(m.type, p.k);
                m.weight_bytes = m.row_bytes * m.rows;
                m.weight = deal.input(m.weight_bytes);
                m.dst_nb1 = std::int64_t{4} * m.rows;
                m.dst = reinterpret_cast<float*>(deal.output(m.dst_nb1 * p.columns));
                m.first_band = args.bands;
                args.bands += bands_of(p.member[i], band);
            }
            return args;
        };
        const std::string name = std::string(shape.what) + " k" + std::to_string(shape.k) +
                                 " columns" + std::to_string(p.columns);
        add(to, t, index, name, p, arena, l2, make_args);
    }
}

}  // namespace

std::vector<row_case> row_cases(const table& rows, const buffer& arena, double l2_bytes) {
    std::vector<row_case> all;
    for (int i = 0; i < rows.row_count; ++i) {
        if (rows.rows[i].computes.kind == skeleton::row)
            add_row_cases(all, rows, i, arena, l2_bytes);
        else
            add_matvec_cases(all, rows, i, arena, l2_bytes);
    }
    return all;
}

}  // namespace catena::bench
