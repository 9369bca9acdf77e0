// Steps that recall: all values of all heads are computed, and all that is written is compared.
#include "heads.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace catena::tool {
namespace {

/// What an engine gives the delta rule: keys of length 1, shares between 0 and 1, and logarithms
/// of shares, which are negative. So a state stays as large as it is.
class recalled_data {
  public:
    recalled_data(machine& on, const heads_args& a, std::uint64_t key)
        : on_(on), a_(a), d_(a.recalled), m_(a.member[0]), key_(key) {}

    void seed() const {
        const heads_in_memory k = keys(0, a_.tokens), q = queries(0, a_.tokens),
                              v = values(0, a_.tokens), beta = shares(0, a_.tokens);
        k.write(on_, of_length_1(drawn(0, k.values(), 0, 1)));
        q.write(on_, drawn(1, q.values(), 0, 1));
        v.write(on_, drawn(2, v.values(), 0, 1));
        std::vector<float> share = drawn(3, beta.values(), 0, 1);
        if (!d_.logit)
            for (float& one : share) one = 1 / (1 + std::exp(-one));
        beta.write(on_, share);
        const heads_in_memory logarithms = decays(0, a_.tokens);
        std::vector<float> decay = drawn(4, logarithms.values(), 0, 1);
        if (d_.decay_factor == nullptr)
            for (float& one : decay) one = -std::abs(one);
        logarithms.write(on_, decay);
        for (const std::int32_t id : seed_state_ids(on_, d_))
            write_values(on_, const_cast<float*>(state(id)),
                         drawn((1 << 16) + static_cast<std::uint64_t>(id), state_size(), 0, 0.3f));
    }

    /// What the reference reads of a sequence, as it lies in memory.
    chain::inputs read(std::int32_t sequence) const {
        const std::int32_t n = a_.tokens / d_.sequences, first = sequence * n;
        chain::inputs in;
        in.k = m_.k, in.rows = std::int64_t{m_.heads} * n, in.heads = m_.heads;
        in.key_heads = d_.neighbors ? m_.heads : d_.key_heads;
        in.head_scale = static_cast<double>(m_.scale);
        in.queries = of_heads(queries(first, n).read(on_));
        in.keys = of_heads(keys(first, n).read(on_));
        in.x = values(first, n).read(on_);
        in.beta = shares(first, n).read(on_);
        if (d_.logit)
            for (double& one : in.beta) one = 1 / (1 + std::exp(-one));
        in.state = read_numbers(on_, state(state_of(d_, sequence)), state_size());
        in.decay = decays(first, n).read(on_);
        if (d_.decay_factor == nullptr) return in;
        const std::vector<double> factors = read_numbers(on_, d_.decay_factor, m_.heads);
        std::vector<double> bias(factors.size());
        if (d_.decay_bias != nullptr) bias = read_numbers(on_, d_.decay_bias, m_.heads);
        for (std::size_t i = 0; i < in.decay.size(); ++i) {
            const std::size_t head = i % factors.size();
            in.decay[i] = std::log1p(std::exp(in.decay[i] + bias[head])) * factors[head];
        }
        return in;
    }

    void compare(const chain::outputs& wanted, step_result& to) const {
        compare_sequences(on_, a_, d_, state_size(), wanted, to);
    }

  private:
    machine& on_;
    const heads_args& a_;
    const delta_args& d_;
    const head_member& m_;
    const std::uint64_t key_;

    std::int64_t state_size() const { return std::int64_t{m_.k} * m_.k * m_.heads; }
    const float* state(std::int32_t id) const { return d_.state + id * state_size(); }

    /// Heads of keys, each as often as neighboring heads share it.
    std::vector<double> of_heads(const std::vector<double>& keys) const {
        if (!d_.neighbors) return keys;
        std::vector<double> all;
        for (auto head = keys.begin(); head != keys.end(); head += m_.k)
            for (int i = 0; i < m_.heads / d_.key_heads; ++i)
                all.insert(all.end(), head, head + m_.k);
        return all;
    }

    // Operands of `count` tokens, from a token on.
    heads_in_memory keys(std::int64_t first, std::int64_t count) const {
        return {
            d_.keys + first * d_.keys_nb2 / 4, m_.k, d_.key_heads, count, d_.keys_nb1, d_.keys_nb2};
    }
    heads_in_memory queries(std::int64_t first, std::int64_t count) const {
        return {d_.queries + first * d_.queries_nb2 / 4,
                m_.k,
                d_.key_heads,
                count,
                d_.queries_nb1,
                d_.queries_nb2};
    }
    heads_in_memory values(std::int64_t first, std::int64_t count) const {
        return {d_.values + first * d_.values_nb2 / 4,
                m_.k,
                m_.heads,
                count,
                d_.values_nb1,
                d_.values_nb2};
    }

    heads_in_memory numbers_of(const head_numbers& n, std::int64_t first,
                               std::int64_t count) const {
        return {n.first + first * n.nb2 / 4, n.abreast, m_.heads / n.abreast, count, n.nb1, n.nb2};
    }
    heads_in_memory shares(std::int64_t first, std::int64_t count) const {
        return numbers_of(d_.beta, first, count);
    }
    heads_in_memory decays(std::int64_t first, std::int64_t count) const {
        if (!d_.by_value) return numbers_of(d_.decay, first, count);
        const std::int64_t nb1 = 4 * m_.k, nb2 = nb1 * m_.heads;
        return {d_.decay.first + first * nb2 / 4, m_.k, m_.heads, count, nb1, nb2};
    }

    std::vector<float> drawn(std::uint64_t which, std::int64_t count, float mean,
                             float spread) const {
        return seeded(random_bits(key_, which), count, mean, spread);
    }
    std::vector<float> of_length_1(std::vector<float> all) const {
        const auto k = static_cast<std::size_t>(m_.k);
        for (std::size_t first = 0; first < all.size(); first += k) {
            const std::span head = std::span(all).subspan(first, k);
            float squares = 0;
            for (const float v : head) squares += v * v;
            for (float& v : head) v /= std::sqrt(squares);
        }
        return all;
    }
};

}  // namespace

step_result checker::run_recalled(int step, const heads_args& a) {
    const recalled_data data(on_, a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)));
    data.seed();
    const std::int64_t heads = a.member[0].heads;
    if (const float* const factor = a.recalled.decay_factor; factor != nullptr)
        seed_constant(factor, heads, -1, 0.2f);
    if (const float* const bias = a.recalled.decay_bias; bias != nullptr)
        seed_constant(bias, heads, 0, 0.5f);
    const chain::outputs wanted = outputs_of_sequences(
        chain::lower("recalled", chain::delta_rule | chain::emit<format::f32>),
        a.recalled.sequences, [&](std::int32_t sequence) { return data.read(sequence); });
    return launch_and_compare(step, a, [&](step_result& r) { data.compare(wanted, r); });
}

}  // namespace catena::tool
