#include "row_case.hpp"

#include "compare.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/format/scaled.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace catena_test {
namespace {

using namespace catena;

constexpr float alpha = 1.702f, limit = 1.5f;  ///< of swiglu_oai
constexpr float given_scale = 0.0078f;         ///< of fp8_tensor and nvfp4_rows

std::size_t size(int n) { return static_cast<std::size_t>(n); }

struct row_data {
    std::vector<float> x, gate, residual, weight, bias;  ///< without gaps
    std::vector<float> experts, expert_weights, expert_gate;
};

/// Words between two numbers of the experts' weights, and of the gate of x.
constexpr int between = 3;

row_data make_data(const row_case& c) {
    row_data d;
    d.gate.resize(size(c.k * c.rows()));
    fill_random_values(4, 0, d.gate);
    for (float& g : d.gate) g *= 3;
    d.x.resize(size(c.k * c.rows()));
    d.weight.resize(size(c.k));
    fill_random_values(2, 0, d.weight);
    for (float& w : d.weight) w = (c.one_plus ? 0 : 1) + w / 8;
    d.bias.resize(size(c.k));
    fill_random_values(5, 0, d.bias);
    if (c.put != row_values::zeros) fill_random_values(1, 0, d.x);
    if (c.residual) {
        d.residual.resize(d.x.size());
        if (c.put != row_values::zeros) fill_random_values(3, 0, d.residual);
    }
    d.experts.resize(size(c.k * c.slots * c.rows()));
    d.expert_weights.resize(size(c.slots * c.rows()));
    d.expert_gate.resize(size(c.rows()));
    if (c.put != row_values::zeros) fill_random_values(6, 0, d.experts);
    fill_random_values(7, 0, d.expert_weights);
    fill_random_values(8, 0, d.expert_gate);
    const std::size_t special = size((c.rows() - 1) * c.k + c.k / 2);
    if (c.put == row_values::nan) d.x[special] = std::numeric_limits<float>::quiet_NaN();
    if (c.put == row_values::infinity) d.x[special] = std::numeric_limits<float>::infinity();
    if (c.put == row_values::tiny || c.put == row_values::huge) {
        // Powers of two across the row carry it through the whole range where halves end.
        auto& scaled = c.scale ? d.weight : d.x;
        for (std::size_t i = 0; i < scaled.size(); ++i) {
            const int step = static_cast<int>(i / 32 % 24);
            scaled[i] =
                std::ldexp(scaled[i], c.put == row_values::tiny ? -8 - 5 * step : 4 + 2 * step);
        }
    }
    if (c.put == row_values::cancelling) {
        if (c.scale) std::ranges::fill(d.weight, 1024.0f);
        for (std::size_t i = 0; i < d.x.size(); i += 32) {
            const auto block = std::span(d.x).subspan(i, 32);
            block[31] = -std::accumulate(block.begin(), block.end() - 1, 0.0f);
            if (!c.scale)
                std::ranges::transform(block, block.begin(), [](float v) { return 1024 * v; });
        }
    }
    return d;
}

/// A tensor of rows of k floats: a gap behind each, or another row of k in front of it.
struct placement {
    int k, rows;
    int before = 0, after = 0;  ///< elements from one row to the next that are not this tensor's

    int stride() const { return before + k + after; }
};

placement placed(const row_case& c) { return {c.k, c.rows(), 0, c.gap}; }
placement placed_gate(const row_case& c) { return {c.k, c.rows(), 0, c.gap + c.gate_gap}; }

/// For the machine and back.
bytes spread(const placement& p, const std::vector<float>& values) {
    std::vector<float> out(size(p.rows * p.stride()));
    for (int row = 0; row < p.rows; ++row)
        std::copy_n(values.begin() + row * p.k, p.k, out.begin() + row * p.stride() + p.before);
    return to_bytes(out);
}

bytes gather(const placement& p, const bytes& raw, std::size_t element, std::byte gap) {
    bytes out;
    bool gaps_untouched = true;
    for (std::size_t row = 0; row < size(p.rows); ++row) {
        const auto at =
            std::span(raw).subspan(row * size(p.stride()) * element, size(p.k + p.after) * element);
        out.insert(out.end(), at.begin(),
                   at.begin() + static_cast<std::ptrdiff_t>(size(p.k) * element));
        for (const std::byte b : at.subspan(size(p.k) * element))
            gaps_untouched = gaps_untouched && b == gap;
    }
    CHECK(gaps_untouched);
    return out;
}

row_strides strides(const row_case& c, const placement& p, int element) {
    const std::int64_t nb1 = std::int64_t{element} * p.stride();
    return {nb1, nb1 * c.n1, nb1 * c.n1 * c.n2};
}

int quant_blocks(const row_case& c) {
    return static_cast<int>(q8_1_row_blocks(c.quant_k())) + c.more_padding;
}
int quant_rows(const row_case& c) { return c.rows() * c.split / c.merged; }

lowered_chain chain_of(const instance& on, const row_case& c) {
    lowered_chain chain{.name = "case", .signature = "", .count = 0, .stages = {}};
    const auto add = [&chain](const stage& s) { chain.stages[chain.count++] = s; };
    if (c.slots > 0) add({.kind = stage_kind::combine});
    if (c.residual) add({.kind = stage_kind::add, .reads = operand::residual});
    if (c.sum) add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
    const value_kind value = on.computes.value;
    if (value == value_kind::rms_norm) add({.kind = stage_kind::rms_norm});
    if (value == value_kind::layer_norm) add({.kind = stage_kind::layer_norm});
    if (value == value_kind::l2_norm) add({.kind = stage_kind::l2_norm});
    if (c.scale)
        add({.kind = stage_kind::mul,
             .reads = c.one_plus ? operand::one_plus_weight : operand::weight});
    if (c.bias) add({.kind = stage_kind::add, .reads = operand::bias});
    if (value == value_kind::glu || c.gate)
        add({.kind = stage_kind::glu, .reads = c.alone ? operand::none : operand::gate});
    add({.kind = stage_kind::quantize, .formats = format_set::of(format::q8_1)});
    return chain;
}

chain::inputs reference_inputs(const row_case& c) {
    const row_data d = make_data(c);
    chain::inputs in;
    in.k = c.k;
    in.rows = c.rows();
    in.eps = double{c.eps};
    const std::vector<float>& x = c.alone ? d.gate : d.x;
    if (c.slots == 0 || c.shared) in.x.assign(x.begin(), x.end());
    in.gate.assign(d.gate.begin(), d.gate.end());
    if (c.shared_gate) in.shared_gate.assign(d.expert_gate.begin(), d.expert_gate.end());
    in.experts.assign(d.experts.begin(), d.experts.end());
    in.expert_slots = c.slots;
    if (c.weighted) in.expert_weights.assign(d.expert_weights.begin(), d.expert_weights.end());
    in.gated_by = {c.function, alpha, limit};
    in.residual.assign(d.residual.begin(), d.residual.end());
    in.weight.assign(d.weight.begin(), d.weight.end());
    in.bias.assign(d.bias.begin(), d.bias.end());
    return in;
}

/// The q8_1 bytes that the rule makes of f32 results.
bytes quantized(const row_case& c, const std::vector<float>& values) {
    bytes out;
    const auto row_bytes_of = size(quant_blocks(c) * q8_1_bytes);
    for (int row = 0; row < quant_rows(c); ++row) {
        auto stored = encode_row(
            format::q8_1, std::span(values).subspan(size(row * c.quant_k()), size(c.quant_k())));
        stored.resize(row_bytes_of);
        out.insert(out.end(), stored.begin(), stored.end());
    }
    return out;
}

/// The same in a layout of a matmul: block by block, the rows of each next to each other.
bytes quantized_for_matmul(format f, const row_case& c, const std::vector<float>& values) {
    const std::size_t block = size(info(f).block_bytes), rows = size(quant_rows(c));
    const std::size_t stored = size(static_cast<int>(stored_elements(f, c.quant_k())));
    const std::size_t blocks = stored / size(info(f).block_elements);
    bytes out(blocks * rows * block);
    for (std::size_t row = 0; row < rows; ++row) {
        std::vector<float> padded(stored);
        std::copy_n(values.begin() + static_cast<int>(row) * c.quant_k(), c.quant_k(),
                    padded.begin());
        const bytes of_row = encode_row(f, padded);
        for (std::size_t i = 0; i < blocks; ++i)
            std::copy_n(of_row.begin() + static_cast<std::ptrdiff_t>(i * block), block,
                        out.begin() + static_cast<std::ptrdiff_t>((i * rows + row) * block));
    }
    return out;
}

template <class Narrow>
bytes narrowed(const std::vector<float>& values, Narrow narrow) {
    std::vector<std::uint16_t> out;
    for (const float v : values) out.push_back(narrow(v));
    return to_bytes(out);
}

bytes wanted_of(format f, const row_case& c, const std::vector<float>& values) {
    if (f == format::f16) return narrowed(values, f16_from_f32);
    if (f == format::bf16) return narrowed(values, bf16_from_f32);
    return f == format::q8_1 ? quantized(c, values) : quantized_for_matmul(f, c, values);
}

void check_apart(format f, const row_case& c, const row_outputs& outputs,
                 const std::vector<float>& values) {
    bytes data, scales;
    std::vector<std::int32_t> sums;
    const auto append = [](bytes& to, const bytes& more) {
        to.insert(to.end(), more.begin(), more.end());
    };
    for (int row = 0; row < c.rows(); ++row) {
        const scaled_row stored =
            encode_scaled(f, std::span(values).subspan(size(row * c.k), size(c.k)), given_scale);
        append(data, to_bytes(stored.data));
        append(scales, stored_scales(f, stored.scales, c.scale_type));
        sums.push_back(stored.sum);
    }
    CHECK(outputs.emits.at(f) == data);
    if (!scales.empty()) CHECK(outputs.scales.at(f) == scales);
    if (f == format::int8_token) CHECK(outputs.int8_sums == to_bytes(sums));
}

/// The operand of a format.
struct in_blocks {
    format type;
    void** to;
};
std::vector<in_blocks> blocks_of(row_args& a) {
    return {{format::q8_1, &a.q8_1},
            {format::q8_1_mmq_d4, &a.q8_1_mmq_d4},
            {format::q8_1_mmq_ds4, &a.q8_1_mmq_ds4},
            {format::q8_1_mmq_d2s6, &a.q8_1_mmq_d2s6},
            {format::bf16_mma, &a.bf16_mma},
            {format::f16_mma, &a.f16_mma}};
}
struct apart {
    format type;
    scaled_output* to;
};
std::vector<apart> apart_of(row_args& a) {
    return {{format::int8_token, &a.int8_token}, {format::fp8_tensor, &a.fp8_tensor},
            {format::fp8_token, &a.fp8_token},   {format::fp8_group, &a.fp8_group},
            {format::mxfp8_rows, &a.mxfp8},      {format::mxfp4_rows, &a.mxfp4},
            {format::nvfp4_rows, &a.nvfp4}};
}
std::size_t data_size(format f, const row_case& c) {
    return static_cast<std::size_t>(row_bytes(f, c.k)) * size(c.rows());
}
std::size_t scales_size(format f, const row_case& c) {
    const bool parameter = info(f).block_elements == 1 || f == format::fp8_group;
    const std::int64_t bytes = scale_bytes(f, c.k) / (parameter && c.scale_type != format::f32 ? 2 : 1);
    return static_cast<std::size_t>(bytes) * size(c.rows());
}

/// Results with the gaps of the case behind every slot, numbers that do not lie next to each other.
void put_experts(const row_case& c, const row_data& d, machine& on, row_args& a) {
    const placement results{c.k, c.slots * c.rows(), 0, c.gap};
    const auto numbers = [&](const char* what, const std::vector<float>& values) {
        const bytes spread_out =
            spread({1, static_cast<int>(values.size()), 0, between - 1}, values);
        return static_cast<const float*>(on.put(what, contents::data, spread_out));
    };
    a.experts = {.results = static_cast<const float*>(
                     on.put("experts", contents::data, spread(results, d.experts), size(c.offset))),
                 .nb1 = results.stride() * 4,
                 .nb2 = std::int64_t{results.stride()} * c.slots * 4,
                 .slots = c.slots};
    if (c.weighted) {
        a.experts.weights = numbers("their weights", d.expert_weights);
        a.experts.weights_nb1 = between * 4;
        a.experts.weights_nb2 = std::int64_t{between} * c.slots * 4;
    }
    if (!c.shared_gate) return;
    a.experts.gate = numbers("the gate of x", d.expert_gate);
    a.experts.gate_nb = between * 4;
}

bool ordinary(const row_case& c) {
    return c.put == row_values::normal || c.put == row_values::zeros ||
           c.put == row_values::cancelling;
}

/// What the chain norms, an op after the other as an engine computes it.
std::vector<float> sum_of(const row_case& c) {
    const row_data d = make_data(c);
    std::vector<float> sum = d.x;
    for (std::size_t i = 0; c.slots > 0 && i < sum.size(); ++i) {
        const std::size_t row = i / size(c.k), column = i % size(c.k);
        for (std::size_t s = 0; s < size(c.slots); ++s) {
            const std::size_t at = row * size(c.slots) + s;
            const float weight = c.weighted ? d.expert_weights[at] : 1;
            const float product = d.experts[at * size(c.k) + column] * weight;
            sum[i] = s == 0 ? product : sum[i] + product;
        }
        const double gate = 1 / (1 + std::exp(-double{d.expert_gate[row]}));
        const float joins = c.shared_gate ? d.x[i] * static_cast<float>(gate) : d.x[i];
        if (c.shared) sum[i] += joins;
    }
    for (std::size_t i = 0; c.residual && i < sum.size(); ++i) sum[i] += d.residual[i];
    return sum;
}

}  // namespace

row_outputs run(const instance& on, const row_case& c) {
    const row_data d = make_data(c);
    const auto machine = on.make_machine();
    const auto at = size(c.offset);
    const auto plain_bytes = [&](std::size_t element) {
        return size(c.rows() * (c.k + c.gap)) * element;
    };
    const bool gated = on.computes.value == value_kind::glu || c.gate;
    const placement plain = placed(c);
    const placement out_at = c.over_gate ? placed_gate(c) : plain;  // of f32
    const std::byte gap = c.in_place || c.over_gate ? std::byte{0} : untouched;

    row_args a;
    a.k = c.k;
    a.rows = c.rows();
    a.n1 = c.n1;
    a.n2 = c.n2;
    a.eps = c.eps;
    a.x_at = a.residual_at = a.sum_at = strides(c, plain, 4);
    a.f32_at = strides(c, out_at, 4);
    a.f16_at = a.bf16_at = strides(c, plain, 2);
    void *x = nullptr, *gate = nullptr;
    if (c.halves) {
        const placement first{c.k, c.rows(), 0, c.k}, second{c.k, c.rows(), c.k, 0};
        bytes both = spread(first, d.gate);
        const bytes other = spread(second, d.x);
        for (std::size_t i = 0; i < both.size(); ++i) both[i] |= other[i];
        gate = machine->put("gate and x", contents::data, both, at);
        x = static_cast<float*>(gate) + c.k;
        a.x_at = a.gate_at = strides(c, first, 4);
    } else {
        x = machine->put("x", contents::data, spread(plain, d.x), at);
        if (gated) gate = machine->put("gate", contents::data, spread(placed_gate(c), d.gate), at);
        a.gate_at = strides(c, placed_gate(c), 4);
    }
    a.x = c.alone || (c.slots > 0 && !c.shared) ? nullptr : static_cast<const float*>(x);
    a.gate = static_cast<const float*>(gate);
    if (c.slots > 0) put_experts(c, d, *machine, a);
    a.function = c.function;
    a.alpha = alpha;
    a.limit = limit;
    void* residual = nullptr;
    if (c.residual)
        residual = machine->put("residual", contents::data, spread(plain, d.residual), at);
    a.residual = static_cast<const float*>(residual);
    if (c.scale) {
        a.weight = static_cast<const float*>(machine->put(
            "weight", c.early ? contents::weights : contents::data, to_bytes(d.weight), at));
        a.weight_early = c.early;
    }
    a.one_plus_weight = c.one_plus;
    if (c.bias)
        a.bias =
            static_cast<const float*>(machine->put("bias", contents::data, to_bytes(d.bias), at));
    if (c.sum)
        a.sum =
            static_cast<float*>(c.in_place ? residual : machine->blank("sum", plain_bytes(4), at));
    if (c.emits.has(format::f32))
        a.f32 = static_cast<float*>(c.in_place    ? x
                                    : c.over_gate ? gate
                                                  : machine->blank("f32", plain_bytes(4), at));
    if (c.emits.has(format::f16)) a.f16 = machine->blank("f16", plain_bytes(2), at);
    if (c.emits.has(format::bf16)) a.bf16 = machine->blank("bf16", plain_bytes(2), at);
    const auto q8_1_size = size(quant_rows(c) * quant_blocks(c) * q8_1_bytes);
    const auto size_of = [&](format f) {
        return f == format::q8_1
                   ? q8_1_size
                   : size(quant_rows(c) * static_cast<int>(stored_bytes(f, c.quant_k())));
    };
    for (const in_blocks& b : blocks_of(a))
        if (c.emits.has(b.type))
            *b.to = machine->blank(name(b.type), size_of(b.type));
    if (c.emits.has(format::q8_1) || c.k % 32 == 0) {
        a.quant_k = c.quant_k();
        a.quant_blocks = quant_blocks(c);
    }
    a.scale_type = c.scale_type;
    for (const apart& o : apart_of(a)) {
        if (!c.emits.has(o.type)) continue;
        o.to->data = machine->blank(name(o.type), data_size(o.type, c));
        if (scales_size(o.type, c) != 0)
            o.to->scales = machine->blank("scales", scales_size(o.type, c));
    }
    const void* given = machine->put("given scale", contents::data, to_bytes(std::vector{given_scale}));
    a.fp8_scale = a.nvfp4_scale = static_cast<const float*>(given);
    if (c.emits.has(format::int8_token))
        a.int8_sums = static_cast<std::int32_t*>(machine->blank("int8 sums", size(c.rows()) * 4));
    const int rows = rows_of_block(on.numbers);
    const launch_config config{
        .blocks = static_cast<std::uint32_t>((a.rows + rows - 1) / rows),
        .threads = static_cast<std::uint32_t>(on.numbers.threads),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(on.computes, on.numbers, c.k, 1)),
        .dependent = on.dependent};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");

    row_outputs out;
    if (a.sum != nullptr) out.sum = gather(plain, machine->read(a.sum, plain_bytes(4)), 4, gap);
    const auto f32_bytes = size(c.rows() * out_at.stride()) * 4;
    if (a.f32 != nullptr) out.f32 = gather(out_at, machine->read(a.f32, f32_bytes), 4, gap);
    const auto halves_of = [&](const void* from) {
        return gather(plain, machine->read(from, plain_bytes(2)), 2, untouched);
    };
    if (a.f16 != nullptr) out.emits[format::f16] = halves_of(a.f16);
    if (a.bf16 != nullptr) out.emits[format::bf16] = halves_of(a.bf16);
    for (const in_blocks& b : blocks_of(a))
        if (*b.to != nullptr)
            out.emits[b.type] = machine->read(*b.to, size_of(b.type));
    for (const apart& o : apart_of(a)) {
        if (o.to->data == nullptr) continue;
        out.emits[o.type] = machine->read(o.to->data, data_size(o.type, c));
        if (o.to->scales != nullptr)
            out.scales[o.type] = machine->read(o.to->scales, scales_size(o.type, c));
    }
    if (a.int8_sums != nullptr) out.int8_sums = machine->read(a.int8_sums, size(c.rows()) * 4);
    return out;
}

void check(const instance& on, const row_case& c, const row_outputs& outputs) {
    const auto in = reference_inputs(c);
    if (c.sum) {
        const std::vector<float> sum = sum_of(c);
        const std::vector<double> exact(sum.begin(), sum.end());
        if (c.shared_gate)  // the sigmoid may be rounded otherwise
            CHECK(nmse<float>(from_bytes<float>(outputs.sum), exact) <= 1e-13);
        else if (ordinary(c))
            CHECK(outputs.sum == to_bytes(sum));
    }
    std::vector<float> result = from_bytes<float>(outputs.f32);
    if (result.empty()) {  // without f32 the result is known only if nothing is computed
        if (on.computes.value != value_kind::plain || c.residual || c.scale || c.bias) return;
        result.assign(in.x.begin(), in.x.end());
    } else if (ordinary(c)) {
        const auto wanted = chain::reference(chain_of(on, c), in).value;
        CHECK(nmse<float>(result, wanted) <= 1e-7);
    }
    if (c.put == row_values::zeros)
        CHECK(std::ranges::all_of(result, [](float v) { return v == 0; }));
    if (c.put == row_values::nan || c.put == row_values::infinity)
        CHECK(std::ranges::any_of(std::span(result).last(size(c.k)),
                                  [](float v) { return !std::isfinite(v); }));
    for (const auto& [type, stored] : outputs.emits) {
        INFO(name(type));
        if (scales_apart(type))
            check_apart(type, c, outputs, result);
        else
            CHECK(stored == wanted_of(type, c, result));
    }
}

}  // namespace catena_test
