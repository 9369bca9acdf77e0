#include "matvec_case.hpp"

#include "compare.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>

namespace catena_test {
namespace {

using namespace catena;

constexpr int dst_gap = 3;  ///< floats between columns of dst

struct matvec_data {
    std::vector<float> x;        ///< [k, x_rows]
    bytes q8_1;                  ///< the same, quantized, rows with padding
    std::vector<bytes> weights;  ///< per member, gaps between rows included
};

std::int64_t row_stride(const matvec_case& c, format f) {
    return row_bytes(f, c.k) + std::int64_t{c.row_gap} * info(f).block_bytes;
}

std::size_t matrices(const matvec_case& c) {
    return static_cast<std::size_t>(c.experts == 0 ? 1 : c.experts);
}

/// Where the special value goes: the last row, the middle of the activation.
std::size_t special_at(const matvec_case& c) {
    return static_cast<std::size_t>((c.x_rows() - 1) * c.k + c.k / 2);
}

matvec_data make_data(const matvec_case& c) {
    matvec_data d;
    d.x.resize(static_cast<std::size_t>(c.k * c.x_rows()));
    if (c.put != special::zeros) fill_random_values(7, 0, d.x);
    if (c.put == special::nan) d.x[special_at(c)] = std::numeric_limits<float>::quiet_NaN();
    if (c.put == special::infinity) d.x[special_at(c)] = std::numeric_limits<float>::infinity();
    for (int row = 0; row < c.x_rows(); ++row) {
        const auto quantized =
            encode_row(format::q8_1, std::span(d.x).subspan(static_cast<std::size_t>(row * c.k),
                                                            static_cast<std::size_t>(c.k)));
        d.q8_1.insert(d.q8_1.end(), quantized.begin(), quantized.end());
    }
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        const format f = c.members[m].type;
        // The tensor ends with its last row's values: a gap behind it does not exist.
        const auto rows = static_cast<std::size_t>(c.members[m].rows) * matrices(c);
        bytes weight(rows * static_cast<std::size_t>(row_stride(c, f)) -
                     static_cast<std::size_t>(c.row_gap * info(f).block_bytes));
        fill_random_blocks(f, 100 + m, 0, weight);
        d.weights.push_back(std::move(weight));
    }
    return d;
}

bool exists(const matvec_case& c, std::int32_t id) { return id >= 0 && id < c.experts; }

chain::inputs reference_inputs(const matvec_case& c, const matvec_data& d) {
    chain::inputs in;
    in.k = c.k;
    in.rows = c.x_rows();
    in.x.assign(d.x.begin(), d.x.end());
    in.ids = c.ids;
    for (std::int32_t& id : in.ids)
        if (!exists(c, id)) id = 0;
    in.slots = c.slots;
    in.x_slots = c.x_slots;
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        const format f = c.members[m].type;
        chain::matrix matrix{
            .type = f, .rows = c.members[m].rows, .experts = c.experts, .values = {}};
        const auto stride = static_cast<std::size_t>(row_stride(c, f));
        for (std::size_t row = 0; row < static_cast<std::size_t>(matrix.rows) * matrices(c);
             ++row) {
            const auto raw =
                std::span(d.weights[m])
                    .subspan(row * stride, static_cast<std::size_t>(row_bytes(f, c.k)));
            const auto values = decode_row<double>(f, raw, c.k);
            matrix.values.insert(matrix.values.end(), values.begin(), values.end());
        }
        in.matrices.push_back(std::move(matrix));
    }
    return in;
}

lowered_chain chain_of(const matvec_case& c) {
    format_set formats;
    for (const member_shape& m : c.members) formats = formats | m.type;
    lowered_chain chain{.name = "case", .signature = "", .count = 2, .stages = {}};
    chain.stages[0] = {.kind = stage_kind::quantize, .formats = format_set::of(format::q8_1)};
    chain.stages[1] = {.kind = c.experts == 0 ? stage_kind::mul_mat : stage_kind::mul_mat_id,
                       .formats = formats};
    return chain;
}

std::vector<double> decoded_activation(const matvec_case& c, const matvec_data& d) {
    std::vector<double> out;
    const auto stride = static_cast<std::size_t>(q8_1_row_bytes(c.k));
    for (int row = 0; row < c.x_rows(); ++row) {
        const auto raw = std::span(d.q8_1).subspan(static_cast<std::size_t>(row) * stride, stride);
        const auto values = decode_row<double>(format::q8_1, raw, c.k);
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

/// True when every product of that output column must be NaN.
bool column_is_nan(const matvec_case& c, int column) {
    if (c.experts != 0 && !exists(c, c.ids[static_cast<std::size_t>(column)])) return true;
    if (c.put != special::nan && c.put != special::infinity) return false;
    const int token = column / c.slots, slot = column % c.slots;
    const int x_row = c.experts == 0 ? column : token * c.x_slots + (c.x_slots == 1 ? 0 : slot);
    return x_row == c.x_rows() - 1;
}

}  // namespace

matvec_outputs run(const instance& on, const matvec_case& c) {
    const matvec_data d = make_data(c);
    const auto machine = on.make_machine();
    matvec_args a;
    a.x = machine->put("activation", contents::data, d.q8_1);
    a.x_bytes = q8_1_row_bytes(c.k);
    a.k = c.k;
    a.columns = c.out_columns();
    a.band_rows = c.band_rows;
    a.members = static_cast<int>(c.members.size());
    a.weights_early = c.early;
    if (c.experts != 0) {
        a.ids =
            static_cast<const std::int32_t*>(machine->put("ids", contents::data, to_bytes(c.ids)));
        a.ids_nb1 = 4 * c.slots;
        a.slots = c.slots;
        a.x_slots = c.x_slots;
    }
    std::vector<std::size_t> dst_bytes;
    for (int m = 0; m < a.members; ++m) {
        const member_shape& shape = c.members[static_cast<std::size_t>(m)];
        const bytes& weight = d.weights[static_cast<std::size_t>(m)];
        matvec_member& to = a.member[m];
        to.weight = machine->put("weight " + std::to_string(m),
                                 c.early ? contents::weights : contents::data, weight,
                                 static_cast<std::size_t>(c.offset));
        to.weight_bytes = static_cast<std::int64_t>(weight.size());
        to.row_bytes = row_stride(c, shape.type);
        to.expert_bytes = c.experts == 0 ? 0 : shape.rows * to.row_bytes;
        to.experts = c.experts;
        to.dst_nb1 = 4 * (shape.rows + dst_gap);
        to.dst_nb2 = to.dst_nb1 * c.slots;
        to.rows = shape.rows;
        to.first_band = a.bands;
        to.type = shape.type;
        a.bands += (shape.rows + c.band_rows - 1) / c.band_rows;
        dst_bytes.push_back(static_cast<std::size_t>(to.dst_nb1 * c.out_columns()));
        to.dst = static_cast<float*>(machine->blank("dst " + std::to_string(m), dst_bytes.back()));
    }
    const int shared_columns = c.experts == 0 ? c.columns : 1;
    const launch_config config{
        .blocks = static_cast<std::uint32_t>(a.bands * (c.experts == 0 ? 1 : a.columns)),
        .threads = static_cast<std::uint32_t>(on.numbers.threads),
        .shared_bytes =
            static_cast<std::uint32_t>(shared_bytes(on.computes, on.numbers, c.k, shared_columns)),
        .dependent = on.dependent};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");

    matvec_outputs out;
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        const auto raw = machine->read(a.member[m].dst, dst_bytes[m]);
        const auto rows = static_cast<std::size_t>(c.members[m].rows);
        std::vector<float> values;
        bool gap_untouched = true;
        for (std::size_t column = 0; column < static_cast<std::size_t>(c.out_columns()); ++column) {
            const auto at =
                std::span(raw).subspan(column * (rows + dst_gap) * 4, (rows + dst_gap) * 4);
            const auto line = from_bytes<float>(at.first(rows * 4));
            values.insert(values.end(), line.begin(), line.end());
            for (const std::byte b : at.subspan(rows * 4))
                gap_untouched = gap_untouched && b == untouched;
        }
        CHECK(gap_untouched);
        out.push_back(std::move(values));
    }
    return out;
}

void check(const instance&, const matvec_case& c, const matvec_outputs& outputs) {
    const matvec_data d = make_data(c);
    const auto in = reference_inputs(c, d);
    const auto chain = chain_of(c);
    const auto same_activation =
        chain::reference_from_activation(chain, in, decoded_activation(c, d));
    const auto plain = chain::reference(chain, in);
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        INFO("member " << m);
        const auto rows = static_cast<std::size_t>(c.members[m].rows);
        std::vector<float> got;
        std::vector<double> wanted, unquantized;
        for (int column = 0; column < c.out_columns(); ++column) {
            INFO("column " << column);
            const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(column) * rows);
            const auto last = first + static_cast<std::ptrdiff_t>(rows);
            const std::vector<float> line(outputs[m].begin() + first, outputs[m].begin() + last);
            if (column_is_nan(c, column)) {
                CHECK(std::ranges::all_of(line, [](float v) { return std::isnan(v); }));
                continue;
            }
            if (c.put == special::zeros)
                CHECK(std::ranges::all_of(line, [](float v) { return v == 0; }));
            got.insert(got.end(), line.begin(), line.end());
            wanted.insert(wanted.end(), same_activation.products[m].begin() + first,
                          same_activation.products[m].begin() + last);
            unquantized.insert(unquantized.end(), plain.products[m].begin() + first,
                               plain.products[m].begin() + last);
        }
        CHECK(nmse<float>(got, wanted) <= 1e-6);
        CHECK(nmse<float>(got, unquantized) <= 5e-4);
    }
}

}  // namespace catena_test
