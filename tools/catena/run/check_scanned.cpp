// Steps that scan: all values of all heads are computed, and all that is written is compared.
#include "heads.hpp"

#include "catena/chain/lower.hpp"
#include "catena/chain/reference.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace catena::tool {
namespace {

/// What an engine gives a scan: decays are negative, so that a state stays as large as it is.
class scanned_data {
  public:
    scanned_data(machine& on, const heads_args& a, std::uint64_t key)
        : on_(on), a_(a), s_(a.scanned), m_(a.member[0]), key_(key) {}

    void seed() const {
        int which = 0;
        for (const heads_in_memory& h :
             {x(0, a_.tokens), dt(0, a_.tokens), b(0, a_.tokens), c(0, a_.tokens), z(0, a_.tokens)})
            if (const std::uint64_t own = part(which++); h.first != nullptr)
                h.write(on_, seeded(own, h.values(), 0, 1));
        std::vector<std::int32_t> ids;
        for (std::int32_t i = 0; i < s_.sequences; ++i) ids.push_back(id_of(i));
        on_.write(const_cast<std::int32_t*>(s_.state_ids), std::as_bytes(std::span(ids)));
        for (const std::int32_t id : ids)
            write_values(on_, const_cast<float*>(state(id)),
                         seeded(part((1 << 16) + id), state_size(), 0, 0.3f));
    }
    /// A constant has the numbers of its key, whichever step reads it.
    void seed_decays(std::uint64_t key) const {
        std::vector<float> all = seeded(key, m_.heads, 1, 0.3f);
        for (float& v : all) v = -std::abs(v);
        write_values(on_, const_cast<float*>(s_.a), all);
    }
    void seed_constant(const float* to, std::uint64_t key) const {
        write_values(on_, const_cast<float*>(to), seeded(key, m_.heads, 0, 0.5f));
    }

    /// What the reference reads of a sequence, as it lies in memory.
    chain::inputs read(std::int32_t sequence) const {
        const std::int32_t n = tokens(), first = sequence * n;
        chain::inputs in;
        in.k = m_.k, in.rows = std::int64_t{m_.heads} * n, in.heads = m_.heads;
        in.state_size = s_.size, in.groups = s_.groups;
        in.x = x(first, n).read(on_), in.b = b(first, n).read(on_), in.c = c(first, n).read(on_);
        in.dt = dt(first, n).read(on_);
        in.a = numbers(s_.a, m_.heads), in.state = numbers(state(id_of(sequence)), state_size());
        if (s_.d != nullptr) in.d = numbers(s_.d, m_.heads);
        if (s_.z != nullptr) in.z = z(first, n).read(on_);
        if (s_.dt_bias == nullptr) return in;
        const std::vector<double> bias = numbers(s_.dt_bias, m_.heads);
        for (std::size_t i = 0; i < in.dt.size(); ++i) in.dt[i] += bias[i % bias.size()];
        return in;
    }

    void compare(const chain::outputs& wanted, step_result& to) const {
        const heads_in_memory made{m_.f32, m_.k, m_.heads, a_.tokens, m_.f32_nb1, m_.f32_nb2};
        to.comparisons.push_back(compared("f32", made.read(on_), wanted.value));
        if (s_.next_state != nullptr)
            to.comparisons.push_back(compared(
                "states", numbers(s_.next_state, state_size() * s_.sequences), wanted.state));
    }

  private:
    machine& on_;
    const heads_args& a_;
    const scan_args& s_;
    const head_member& m_;
    const std::uint64_t key_;

    std::uint64_t part(int which) const {
        return random_bits(key_, static_cast<std::uint64_t>(which));
    }
    std::int32_t tokens() const { return a_.tokens / s_.sequences; }
    /// The last states first: others than those that are replaced, if there are enough.
    std::int32_t id_of(std::int32_t sequence) const { return s_.states - 1 - sequence % s_.states; }
    std::int64_t state_size() const { return std::int64_t{s_.size} * m_.k * m_.heads; }
    const float* state(std::int32_t id) const { return s_.state + id * state_size(); }

    /// Operands of `count` tokens, from a token on.
    static heads_in_memory some(const float* p, std::int64_t k, std::int64_t heads, std::int64_t nb,
                                std::int64_t first, std::int64_t count) {
        return {p == nullptr ? p : p + first * nb / 4, k, heads, count, 4 * k, nb};
    }
    heads_in_memory x(std::int64_t first, std::int64_t count) const {
        return some(s_.x, m_.k, m_.heads, s_.x_nb, first, count);
    }
    heads_in_memory z(std::int64_t first, std::int64_t count) const {
        return some(s_.z, m_.k, m_.heads, s_.z_nb, first, count);
    }
    heads_in_memory dt(std::int64_t first, std::int64_t count) const {
        return some(s_.dt, m_.heads, 1, s_.dt_nb, first, count);
    }
    heads_in_memory b(std::int64_t first, std::int64_t count) const {
        return some(s_.b, s_.size, s_.groups, s_.b_nb, first, count);
    }
    heads_in_memory c(std::int64_t first, std::int64_t count) const {
        return some(s_.c, s_.size, s_.groups, s_.c_nb, first, count);
    }

    std::vector<double> numbers(const float* from, std::int64_t count) const {
        const auto all = read_values(on_, from, count);
        return {all.begin(), all.end()};
    }
};

}  // namespace

step_result checker::run_scanned(int step, const heads_args& a) {
    const scan_args& s = a.scanned;
    const scanned_data data(on_, a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)));
    data.seed();
    data.seed_decays(random_bits(asked_.seed, where_.key(s.a)));
    for (const float* const constant : {s.dt_bias, s.d})
        if (constant != nullptr)
            data.seed_constant(constant, random_bits(asked_.seed, where_.key(constant)));
    chain::outputs all;
    for (std::int32_t i = 0; i < s.sequences; ++i) {
        const chain::outputs one = chain::reference(
            chain::lower("scanned", chain::ssm_scan | chain::emit<format::f32>), data.read(i));
        all.value.insert(all.value.end(), one.value.begin(), one.value.end());
        all.state.insert(all.state.end(), one.state.begin(), one.state.end());
    }
    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = a.rows;
    data.compare(all, result);
    return result;
}

}  // namespace catena::tool
