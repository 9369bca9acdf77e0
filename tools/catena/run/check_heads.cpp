// Steps of heads: every head of every value runs, and all that is written is compared.
#include "heads.hpp"
#include "quantized.hpp"

#include "catena/chain/reference.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace catena::tool {
namespace {

/// The heads of a value in memory, token after token.
class member_data {
  public:
    member_data(machine& on, const heads_args& a, const head_member& m) : on_(on), a_(a), m_(m) {}

    std::int64_t rows() const { return std::int64_t{m_.heads} * a_.tokens; }

    template <class F>
    void each_head(const float* base, std::int64_t nb1, std::int64_t nb2, F f) const {
        for (std::int64_t t = 0; t < a_.tokens; ++t)
            for (std::int64_t h = 0; h < m_.heads; ++h)
                f(reinterpret_cast<const std::byte*>(base) + h * nb1 + t * nb2);
    }

    void seed(std::uint64_t key) const {
        std::uint64_t head = 0;
        each_head(m_.x, m_.x_nb1, m_.x_nb2, [&](const std::byte* at) {
            write_values(on_, const_cast<std::byte*>(at),
                         seeded(random_bits(key, head++), m_.k, 0, 1));
        });
    }

    std::vector<double> values(const float* base, std::int64_t nb1, std::int64_t nb2) const {
        std::vector<double> out;
        each_head(base, nb1, nb2, [&](const std::byte* at) {
            const auto head = read_values(on_, at, m_.k);
            out.insert(out.end(), head.begin(), head.end());
        });
        return out;
    }

    void compare(const std::string& of, const chain::outputs& wanted, step_result& to) const {
        if (m_.f32 != nullptr) {
            nmse_sum sum;
            const auto found = values(m_.f32, m_.f32_nb1, m_.f32_nb2);
            for (std::size_t i = 0; i < found.size(); ++i) sum.add(found[i], wanted.value[i]);
            to.comparisons.push_back({of + " f32", sum.value(), 1e-7});
        }
        if (m_.cache == nullptr) return;
        nmse_sum sum;
        const std::int64_t length = std::int64_t{m_.k} * m_.heads;
        for (const auto& [row, expected] : wanted.stored) {
            const auto* const at = static_cast<const std::byte*>(m_.cache) + row * m_.cache_nb;
            const auto bytes = read_bytes(on_, at, row_bytes(m_.cache_type, length));
            const auto found = decode_row<double>(m_.cache_type, bytes, length);
            for (std::size_t i = 0; i < found.size(); ++i) sum.add(found[i], expected[i]);
        }
        to.comparisons.push_back(
            {of + " " + catena::name(m_.cache_type), sum.value(), limit_of_cache(m_.cache_type)});
    }

  private:
    machine& on_;
    const heads_args& a_;
    const head_member& m_;
};

/// The elements of a row that is normed: a head, or all heads of a token.
std::int64_t normed_row(const head_member& m) {
    return m.token_norm ? std::int64_t{m.k} * m.heads : m.k;
}

/// What one value of a step should become. Others may have operands that it has not.
chain::outputs reference_of(const head_member& m, chain::inputs in) {
    lowered_chain chain;
    const auto add = [&chain](stage s) { chain.stages[chain.count++] = s; };
    if (m.normed) add({.kind = stage_kind::rms_norm});
    if (m.weight != nullptr) add({.kind = stage_kind::mul_weight, .reads = operand::weight});
    if (m.token_norm) {  // of rows that become heads only behind it
        chain::inputs tokens = in;
        tokens.k = normed_row(m), tokens.rows = in.rows / m.heads, tokens.heads = 1;
        add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
        in.x = chain::reference(chain, tokens).value;
        chain = lowered_chain();
    }
    add({.kind = stage_kind::rope});
    add({.kind = stage_kind::store, .formats = cache_formats});
    add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
    return chain::reference(chain, in);
}

}  // namespace

step_result checker::run_heads(int step, const heads_args& a) {
    if (a.convolved.channels > 0) return run_convolution(step, a);
    if (a.recalled.key_heads > 0) return run_recalled(step, a);
    if (a.scanned.size > 0) return run_scanned(step, a);
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));
    const chain::inputs turn = seed_turn(step, a);
    const auto by_key = [&](const float* constant, std::int64_t count, float mean) {
        const std::uint64_t own = random_bits(asked_.seed, where_.key(constant));
        write_values(on_, const_cast<float*>(constant), seeded(own, count, mean, 0.1f));
    };
    for (int i = 0; i < a.members; ++i) {
        member_data(on_, a, a.member[i]).seed(random_bits(key, static_cast<std::uint64_t>(i)));
        if (a.member[i].weight != nullptr) by_key(a.member[i].weight, normed_row(a.member[i]), 1);
    }
    std::vector<chain::inputs> all;
    for (int i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        const member_data data(on_, a, m);
        chain::inputs in;
        in.k = m.k, in.rows = data.rows(), in.heads = m.heads;
        in.eps = static_cast<double>(m.eps), in.head_scale = static_cast<double>(m.scale);
        in.x = data.values(m.x, m.x_nb1, m.x_nb2);
        const auto vector = [&](std::vector<double>& to, const float* from, std::int64_t count) {
            if (from == nullptr) return;
            const auto values = read_values(on_, from, count);
            to.assign(values.begin(), values.end());
        };
        vector(in[operand::weight], m.weight, normed_row(m));
        if (m.turned) in.rope = turn.rope, in.positions = turn.positions, in.factors = turn.factors;
        if (m.cache != nullptr) in.cache_rows = cache_rows_for(a, m);
        all.push_back(std::move(in));
    }
    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = a.rows;
    for (int i = 0; i < a.members; ++i)
        member_data(on_, a, a.member[i])
            .compare("heads " + std::to_string(i),
                     reference_of(a.member[i], std::move(all[static_cast<std::size_t>(i)])),
                     result);
    return result;
}

/// The numbers of the ROPEs that a step covers, which are the same.
rope_numbers checker::turn_of(const catena::step& s) const {
    const graph_view view = where_.view();
    for (const std::int32_t n : plan_.covered(s))
        if (view.node(n).kind == op::rope) return rope_of(view.node(n).params);
    return {};
}

}  // namespace catena::tool
