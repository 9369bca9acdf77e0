// Steps that scan: all values of all heads are computed, and all that is written is compared.
#include "heads.hpp"

#include <cmath>
#include <cstddef>
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
        for (const std::int32_t id : seed_state_ids(on_, s_))
            write_values(on_, const_cast<float*>(state(id)),
                         seeded(part((1 << 16) + id), state_size(), 0, 0.3f));
    }
    /// A constant has the numbers of its key, whichever step reads it.
    void seed_decays(std::uint64_t key) const {
        std::vector<float> all = seeded(key, m_.heads, 1, 0.3f);
        for (float& v : all) v = -std::abs(v);
        write_values(on_, const_cast<float*>(s_.a), all);
    }

    /// What the reference reads of a sequence, as it lies in memory.
    chain::inputs read(std::int32_t sequence) const {
        const std::int32_t n = tokens(), first = sequence * n;
        chain::inputs in;
        in.k = m_.k, in.rows = std::int64_t{m_.heads} * n, in.heads = m_.heads;
        in.state_size = s_.size, in.groups = s_.groups;
        in.x = x(first, n).read(on_), in.b = b(first, n).read(on_), in.c = c(first, n).read(on_);
        in.dt = dt(first, n).read(on_);
        in.a = read_numbers(on_, s_.a, m_.heads);
        in.state = read_numbers(on_, state(state_of(s_, sequence)), state_size());
        if (s_.d != nullptr) in.d = read_numbers(on_, s_.d, m_.heads);
        if (s_.z != nullptr) in.z = z(first, n).read(on_);
        if (s_.dt_bias == nullptr) return in;
        const std::vector<double> bias = read_numbers(on_, s_.dt_bias, m_.heads);
        for (std::size_t i = 0; i < in.dt.size(); ++i) in.dt[i] += bias[i % bias.size()];
        return in;
    }

    void compare(const chain::outputs& wanted, step_result& to) const {
        compare_sequences(on_, a_, s_, state_size(), wanted, to);
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
};

}  // namespace

step_result checker::run_scanned(int step, const heads_args& a) {
    const scan_args& s = a.scanned;
    const scanned_data data(on_, a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)));
    data.seed();
    data.seed_decays(random_bits(asked_.seed, where_.key(s.a)));
    for (const float* const constant : {s.dt_bias, s.d})
        if (constant != nullptr) seed_constant(constant, a.member[0].heads, 0, 0.5f);
    const chain::outputs wanted = outputs_of_sequences(
        chain::lower("scanned", chain::ssm_scan | chain::emit<format::f32>), s.sequences,
        [&](std::int32_t sequence) { return data.read(sequence); });
    return launch_and_compare(step, a, [&](step_result& r) { data.compare(wanted, r); });
}

}  // namespace catena::tool
