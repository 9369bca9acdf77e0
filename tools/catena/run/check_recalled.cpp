// Steps that recall: all values of all heads are computed, and all that is written is compared.
#include "heads.hpp"

#include "catena/chain/lower.hpp"
#include "catena/chain/reference.hpp"

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
        keys().write(on_, of_length_1(drawn(0, keys().values(), 0, 1)));
        queries().write(on_, drawn(1, queries().values(), 0, 1));
        values().write(on_, drawn(2, values().values(), 0, 1));
        std::vector<float> beta = drawn(3, rows(), 0, 1);
        for (float& v : beta) v = 1 / (1 + std::exp(-v));
        write_values(on_, const_cast<float*>(d_.beta), beta);
        std::vector<float> decay = drawn(4, decays(), 0, 1);
        if (d_.decay_factor == nullptr)
            for (float& v : decay) v = -std::abs(v);
        write_values(on_, const_cast<float*>(d_.decay), decay);
        if (d_.state_id != nullptr)
            on_.write(const_cast<std::int32_t*>(d_.state_id), std::as_bytes(std::span(&id_, 1)));
        write_values(on_, const_cast<float*>(state()), drawn(5, state_size(), 0, 0.3f));
    }
    void seed_factor(std::uint64_t key) const {
        if (d_.decay_factor != nullptr)
            write_values(on_, const_cast<float*>(d_.decay_factor), seeded(key, m_.heads, -1, 0.2f));
    }

    /// What the reference reads, as it lies in memory.
    chain::inputs read() const {
        chain::inputs in;
        in.k = m_.k, in.rows = rows(), in.heads = m_.heads, in.key_heads = d_.key_heads;
        in.head_scale = static_cast<double>(m_.scale);
        in.queries = queries().read(on_), in.keys = keys().read(on_), in.x = values().read(on_);
        in.beta = numbers(d_.beta, rows()), in.state = numbers(state(), state_size());
        in.decay = numbers(d_.decay, decays());
        if (d_.decay_factor == nullptr) return in;
        const std::vector<double> factors = numbers(d_.decay_factor, m_.heads);
        for (std::size_t i = 0; i < in.decay.size(); ++i)
            in.decay[i] = std::log1p(std::exp(in.decay[i])) * factors[i % factors.size()];
        return in;
    }

    void compare(const chain::outputs& wanted, step_result& to) const {
        const heads_in_memory made{m_.f32, m_.k, m_.heads, a_.tokens, m_.f32_nb1, m_.f32_nb2};
        to.comparisons.push_back(compared("f32", made.read(on_), wanted.value));
        if (d_.next_state != nullptr)
            to.comparisons.push_back(
                compared("state", numbers(d_.next_state, state_size()), wanted.state));
    }

  private:
    machine& on_;
    const heads_args& a_;
    const delta_args& d_;
    const head_member& m_;
    const std::uint64_t key_;
    /// The last state: another one than that which is replaced, if there are several.
    const std::int32_t id_ = d_.state_id == nullptr ? 0 : d_.states - 1;

    std::int64_t rows() const { return std::int64_t{m_.heads} * a_.tokens; }
    std::int64_t decays() const { return d_.by_value ? m_.k * rows() : rows(); }
    std::int64_t state_size() const { return std::int64_t{m_.k} * m_.k * m_.heads; }
    const float* state() const { return d_.state + id_ * state_size(); }
    heads_in_memory keys() const {
        return {d_.keys, m_.k, d_.key_heads, a_.tokens, d_.keys_nb1, d_.keys_nb2};
    }
    heads_in_memory queries() const {
        return {d_.queries, m_.k, d_.key_heads, a_.tokens, d_.queries_nb1, d_.queries_nb2};
    }
    heads_in_memory values() const {
        return {d_.values, m_.k, m_.heads, a_.tokens, d_.values_nb1, d_.values_nb2};
    }

    std::vector<float> drawn(std::uint64_t which, std::int64_t count, float mean,
                             float spread) const {
        return seeded(random_bits(key_, which), count, mean, spread);
    }
    std::vector<double> numbers(const float* from, std::int64_t count) const {
        const auto all = read_values(on_, from, count);
        return {all.begin(), all.end()};
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
    if (const float* const factor = a.recalled.decay_factor; factor != nullptr)
        data.seed_factor(random_bits(asked_.seed, where_.key(factor)));
    const chain::outputs wanted = chain::reference(
        chain::lower("recalled", chain::delta_rule | chain::emit<format::f32>), data.read());
    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = a.rows;
    data.compare(wanted, result);
    return result;
}

}  // namespace catena::tool
