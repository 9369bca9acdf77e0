// Row steps: every row runs, every output is compared.
#include "quantized.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/scaled.hpp"

#include <cstring>
#include <utility>

namespace catena::tool {
namespace {

constexpr double norm_limit = 1e-7;
constexpr double fp8_rule_limit = 1e-5;  // a few values round the other way
constexpr double f16_limit = 1e-6;       // its rounding alone: 2^-24 / 3
constexpr double bf16_limit = 1e-5;      // its rounding alone: 2^-18 / 3

/// Where an operand of a row step lies, piece after piece, and what its values are seeded with.
struct row_operand {
    std::vector<double>* to;
    const float* base = nullptr;
    std::int64_t count = 0;               ///< values of a piece
    std::vector<std::int64_t> offsets{};  ///< of the pieces, in bytes
    std::uint64_t key = 0;
    float mean = 0, deviation = 1;

    template <class F>
    void each_piece(F f) const {
        for (const std::int64_t bytes : offsets)
            f(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(base)) + bytes);
    }
    void seed(machine& on) const {
        std::uint64_t piece = 0;
        each_piece([&](std::byte* at) {
            write_values(on, at, seeded(random_bits(key, piece++), count, mean, deviation));
        });
    }
    std::vector<double> values(machine& on) const {
        std::vector<double> out;
        each_piece([&](std::byte* at) {
            const auto piece = read_values(on, at, count);
            out.insert(out.end(), piece.begin(), piece.end());
        });
        return out;
    }
};

/// The operands of a row step that are there, and their places in `in`. `key_of`: of a constant, by
/// its address.
template <class KeyOf>
std::vector<row_operand> operands_of(const row_args& a, chain::inputs& in, std::uint64_t key,
                                     KeyOf key_of) {
    std::vector<row_operand> all;
    const auto add = [&](row_operand o) {
        if (o.base != nullptr) all.push_back(std::move(o));
    };
    std::uint64_t stream = 0;
    const auto rows = [&](std::vector<double>& to, const float* base, const row_strides& at) {
        row_operand o{&to, base, a.k};
        for (std::int64_t r = 0; r < a.rows; ++r) o.offsets.push_back(row_offset(a, at, r));
        o.key = random_bits(key, stream++);
        add(std::move(o));
    };
    const expert_results& e = a.experts;
    const bool alone = a.x == nullptr && e.results == nullptr;  // the gate's function, without x
    for (const row_operand_field& f : row_operand_fields) {
        std::vector<double>& to =
            f.which == operand::x || (f.which == operand::gate && alone) ? in.x : in[f.which];
        const float* const base = a.*f.data;
        if (base == nullptr) continue;
        if (f.shape == operand_shape::rows)
            rows(to, base, a.*f.at);
        else
            add({&to,
                 base,
                 f.shape == operand_shape::vector ? std::int64_t{a.k} : 1,
                 {0},
                 key_of(base),
                 f.which == operand::bias ? 0.0f : 1.0f,
                 0.1f});
    }
    row_operand made{&in.experts, e.results, a.k}, weights{&in.expert_weights, e.weights, 1},
        gate{&in.shared_gate, e.gate, 1};
    for (std::int64_t r = 0; e.results != nullptr && r < a.rows; ++r) {
        for (std::int64_t s = 0; s < e.slots; ++s) {
            made.offsets.push_back(s * e.nb1 + r * e.nb2);
            weights.offsets.push_back(s * e.weights_nb1 + r * e.weights_nb2);
        }
        gate.offsets.push_back(r * e.gate_nb);
    }
    for (row_operand* o : {&made, &weights, &gate}) {
        o->key = random_bits(key, stream++);
        add(std::move(*o));
    }
    return all;
}

struct rounded_output {
    const char* of;
    const void* base;
    row_strides at;
    format type;
    double limit;
};

comparison compare_rows(machine& on, const row_args& a, const rounded_output& o,
                        const std::vector<double>& expected) {
    nmse_sum sum;
    const auto* const base = static_cast<const std::byte*>(o.base);
    for (std::int64_t r = 0; r < a.rows; ++r) {
        const auto bytes = read_bytes(on, base + row_offset(a, o.at, r), row_bytes(o.type, a.k));
        const auto row = decode_row<double>(o.type, bytes, a.k);
        for (std::int64_t i = 0; i < a.k; ++i)
            sum.add(row[static_cast<std::size_t>(i)],
                    expected[static_cast<std::size_t>(r * a.k + i)]);
    }
    return {o.of, sum.value(), o.limit};
}

/// The quantized rows against the format's own rule on the reference, and that their padding is
/// zero.
std::vector<comparison> compare_quantized(machine& on, const row_args& a, const quantized_output& o,
                                          const std::vector<double>& expected) {
    nmse_sum sum, padding;
    const std::int64_t blocks = stored_elements(o.type, a.quant_k) / o.block_elements();
    const std::int64_t quant_rows = std::int64_t{a.rows} * a.k / a.quant_k;
    for (std::int64_t r = 0; r < quant_rows; ++r) {
        auto bytes = o.blocks(on, r, 0, blocks);
        const std::span exact(expected.data() + r * a.quant_k, static_cast<std::size_t>(a.quant_k));
        add_padding(o.type, bytes, a.quant_k, padding);
        add_quantized(o.type, std::move(bytes), exact, sum);
    }
    return {{o.of, sum.value(), same_rule_limit},
            {std::string(o.of) + " padding", padding.value(), 0}};
}

}  // namespace

void checker::seed_row(const row_args& a, std::uint64_t key) {
    chain::inputs unread;
    const auto key_of = [&](const float* constant) {
        return random_bits(asked_.seed, where_.key(constant));
    };
    for (const row_operand& o : operands_of(a, unread, key, key_of)) o.seed(on_);
}

chain::inputs checker::read_row(const row_args& a) const {
    chain::inputs in;
    in.k = a.k;
    in.rows = a.rows;
    in.eps = static_cast<double>(a.eps);
    in.next_eps = static_cast<double>(a.next_eps);
    in.x_scale = static_cast<double>(a.x_scale);
    in.norm_scale = static_cast<double>(a.norm_scale);
    const bool experts = a.experts.results != nullptr;
    if (experts) in.expert_slots = a.experts.slots;
    if (experts && a.residual == nullptr)  // what the chain adds
        in[operand::residual].assign(static_cast<std::size_t>(in.k * in.rows), 0);
    if (a.gate != nullptr)
        in.gated_by = meaning_of(plan_.rows().ops, {a.function, {a.alpha, a.limit}});
    in.own = meaning_of(plan_.rows().ops, a.own);
    const auto no_key = [](const float*) { return std::uint64_t{0}; };
    for (const row_operand& o : operands_of(a, in, 0, no_key)) *o.to = o.values(on_);
    return in;
}

step_result checker::run_row(int step, const row_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];

    seed_row(a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)));
    const chain::inputs in = read_row(a);  // behind all seeds: operands may share memory
    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = static_cast<double>(a.rows);

    const chain::outputs out = chain::reference(chain, in);
    // A chain of float weights that multiply the engine's value says of no step that rounds it.
    const std::vector<double>& value = out.value.empty() ? in.x : out.value;
    if (a.sum != nullptr)
        result.comparisons.push_back(
            compare_rows(on_, a, {"sum", a.sum, a.sum_at, format::f32, norm_limit}, out.sum));
    compare_value(a, value, result);
    activations_[s.chain] = value;
    return result;
}

void checker::compare_value(const row_args& a, const std::vector<double>& value,
                            step_result& result) {
    for (const rounded_output& o :
         {rounded_output{"f32", a.f32, a.f32_at, format::f32, norm_limit},
          rounded_output{"f16", a.f16, a.f16_at, format::f16, f16_limit},
          rounded_output{"bf16", a.bf16, a.bf16_at, format::bf16, bf16_limit}})
        if (o.base != nullptr) result.comparisons.push_back(compare_rows(on_, a, o, value));
    const std::int64_t quant_rows = a.quant_k > 0 ? std::int64_t{a.rows} * a.k / a.quant_k : 0;
    const std::int64_t q8_1_row = std::int64_t{a.quant_blocks} * q8_1_bytes;
    for (const quantized_output& o : quantized_outputs(a, quant_rows, q8_1_row))
        for (comparison& c : compare_quantized(on_, a, o, value))
            result.comparisons.push_back(std::move(c));
    if (a.fp8_group.data != nullptr) {
        const std::int64_t rows = a.rows;
        nmse_sum sum;
        const auto found = read_fp8(a.fp8_group, rows, a.k);
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto first = value.begin() + r * a.k;
            const std::vector<float> exact(first, first + a.k);
            const auto rule =
                decode_scaled(format::fp8_group, encode_scaled(format::fp8_group, exact), a.k);
            for (std::int64_t i = 0; i < a.k; ++i)
                sum.add(found[static_cast<std::size_t>(r * a.k + i)],
                        rule[static_cast<std::size_t>(i)]);
        }
        result.comparisons.push_back({"fp8_group", sum.value(), fp8_rule_limit});
    }
}

/// What lies in data and scales, row after row.
std::vector<double> checker::read_fp8(const scaled_output& at, std::int64_t rows,
                                      std::int64_t k) const {
    std::vector<double> out;
    const std::int64_t groups = k / scale_group(format::fp8_group, k);
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto data = read_bytes(on_, static_cast<std::byte*>(at.data) + r * k, k);
        scaled_row row{std::vector<std::uint8_t>(data.size()),
                       read_values(on_, static_cast<float*>(at.scales) + r * groups, groups)};
        std::memcpy(row.data.data(), data.data(), data.size());
        const auto values = decode_scaled(format::fp8_group, row, k);
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

}  // namespace catena::tool
