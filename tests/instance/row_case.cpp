#include "row_case.hpp"

#include "compare.hpp"
#include "row_data.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/scaled.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/stored_scales.hpp"

#include <algorithm>
#include <cmath>

namespace catena_test {
namespace {

using namespace catena;

constexpr op_numbers clamped{1.702f, 1.5f};  ///< alpha and limit of swiglu_oai
constexpr float given_scale = 0.0078f;       ///< of fp8_tensor and nvfp4_rows

/// Words between two numbers of the experts' weights, and of the gate of x.
constexpr int between = 3;

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
    const stage_set does = on.computes.row().stages;
    const bool joins = does.has(stage_kind::join_residual);
    const auto add_sum = [&] {
        const stage_kind sum = joins ? stage_kind::join_residual : stage_kind::add_residual;
        if (c.residual) add({.kind = sum, .reads = operand::residual});
        if (c.sum) add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
    };
    if (c.slots > 0) add({.kind = stage_kind::combine});
    if (does.has(stage_kind::scale)) add({.kind = stage_kind::scale});
    if (!joins) add_sum();
    for (const stage_kind norm :
         {stage_kind::rms_norm, stage_kind::layer_norm, stage_kind::l2_norm})
        if (does.has(norm)) add({.kind = norm});
    if (c.scale)
        add({.kind = stage_kind::mul_weight,
             .reads = c.one_plus ? operand::one_plus_weight : operand::weight});
    if (c.bias) add({.kind = stage_kind::add_bias, .reads = operand::bias});
    if (joins) add_sum();
    if (c.again) {
        add({.kind = stage_kind::next_norm});
        add({.kind = stage_kind::mul_next_weight, .reads = operand::next_weight});
    }
    if (does.has(stage_kind::glu) || c.gate)
        add({.kind = stage_kind::glu, .reads = c.alone ? operand::none : operand::gate});
    if (does.has(stage_kind::own)) add({.kind = stage_kind::own});
    add({.kind = stage_kind::quantize, .formats = format_set::of(format::q8_1)});
    return chain;
}

chain::inputs reference_inputs(const instance& on, const row_case& c) {
    const row_data d = make_data(c);
    chain::inputs in;
    in.k = c.k;
    in.rows = c.rows();
    in.eps = double{c.eps};
    in.next_eps = double{c.next_eps};
    in.x_scale = double{c.x_scale};
    in.norm_scale = double{c.norm_scale};
    in[operand::factor] = {double{c.sum_factor}};
    const std::vector<float>& x = c.alone ? d.gate : d.x;
    if (c.slots == 0 || c.shared) in.x.assign(x.begin(), x.end());
    in[operand::gate].assign(d.gate.begin(), d.gate.end());
    if (c.shared_gate) in.shared_gate.assign(d.expert_gate.begin(), d.expert_gate.end());
    in.experts.assign(d.experts.begin(), d.experts.end());
    in.expert_slots = c.slots;
    if (c.weighted) in.expert_weights.assign(d.expert_weights.begin(), d.expert_weights.end());
    in.gated_by = meaning_of(on, c.function, clamped);
    in.own = meaning_of(on, c.own);
    in[operand::residual].assign(d.residual.begin(), d.residual.end());
    in[operand::weight].assign(d.weight.begin(), d.weight.end());
    in[operand::bias].assign(d.bias.begin(), d.bias.end());
    in[operand::next_weight].assign(d.next_weight.begin(), d.next_weight.end());
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

/// The values in a layout of a matmul: block by block, the rows of each next to each other.
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
    const std::int64_t bytes =
        scale_bytes(f, c.k) / (parameter && c.scale_type != format::f32 ? 2 : 1);
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
           c.put == row_values::canceling;
}

}  // namespace

row_outputs run(const instance& on, const row_case& c) {
    const row_data d = make_data(c);
    const auto machine = on.make_machine();
    const auto at = size(c.offset);
    const auto plain_bytes = [&](std::size_t element) {
        return size(c.rows() * (c.k + c.gap)) * element;
    };
    const bool gated = on.computes.row().stages.has(stage_kind::glu) || c.gate;
    const placement plain = placed(c);
    const placement out_at = c.over_gate ? placed_gate(c) : plain;  // of f32
    const std::byte gap = c.in_place || c.over_gate ? std::byte{0} : untouched;

    row_args a;
    a.k = c.k;
    a.rows = c.rows();
    a.n1 = c.n1;
    a.n2 = c.n2;
    a.eps = c.eps;
    a.next_eps = c.next_eps;
    a.x_scale = c.x_scale;
    a.norm_scale = c.norm_scale;
    if (c.sum_factor != 1)
        a.sum_factor = static_cast<const float*>(
            machine->put("sum factor", contents::data, to_bytes(std::vector{c.sum_factor})));
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
    const op_numbers numbers = is_own(c.function) ? own_numbers : clamped;
    a.alpha = numbers.a;
    a.limit = numbers.b;
    a.own = {c.own, own_numbers};
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
    if (c.again)
        a.next_weight = static_cast<const float*>(
            machine->put("next weight", c.early ? contents::weights : contents::data,
                         to_bytes(d.next_weight), at));
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
        if (c.emits.has(b.type)) *b.to = machine->blank(name(b.type), size_of(b.type));
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
    const void* given =
        machine->put("given scale", contents::data, to_bytes(std::vector{given_scale}));
    a.fp8_scale = a.nvfp4_scale = static_cast<const float*>(given);
    if (c.emits.has(format::int8_token))
        a.int8_sums = static_cast<std::int32_t*>(machine->blank("int8 sums", size(c.rows()) * 4));
    const int rows = rows_of_block(on.policy.row());
    const launch_config config{
        .blocks = static_cast<std::uint32_t>((a.rows + rows - 1) / rows),
        .threads = static_cast<std::uint32_t>(on.policy.threads()),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(on.computes, on.policy, c.k, 1)),
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
        if (*b.to != nullptr) out.emits[b.type] = machine->read(*b.to, size_of(b.type));
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
    const auto in = reference_inputs(on, c);
    if (c.sum && on.computes.row().stages.has(stage_kind::join_residual)) {
        const auto wanted = chain::reference(chain_of(on, c), in);
        const std::vector<double>& sum = c.again ? wanted.sum : wanted.value;
        if (ordinary(c)) CHECK(nmse<float>(from_bytes<float>(outputs.sum), sum) <= 1e-7);
        if (!c.again && !outputs.f32.empty()) CHECK(outputs.sum == outputs.f32);
    } else if (c.sum) {
        const std::vector<float> sum = sum_of(c);
        const std::vector<double> exact(sum.begin(), sum.end());
        if (c.shared_gate)  // the sigmoid may be rounded otherwise
            CHECK(nmse<float>(from_bytes<float>(outputs.sum), exact) <= 1e-13);
        else if (ordinary(c))
            CHECK(outputs.sum == to_bytes(sum));
    }
    std::vector<float> result = from_bytes<float>(outputs.f32);
    if (result.empty()) {  // without f32 the result is known only if nothing is computed
        if (on.computes.row().stages.any(value_stages) || c.residual || c.scale || c.bias) return;
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
