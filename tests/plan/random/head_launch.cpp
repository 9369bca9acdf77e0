#include "head_launch.hpp"

#include "arithmetic.hpp"
#include "attention_launch.hpp"
#include "operands.hpp"
#include "scan_launch.hpp"

#include "catena/format/codec.hpp"
#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <vector>

namespace catena_test {
namespace {

using catena::format;
using catena::head_group;
using catena::head_member;
using catena::heads_args;
using catena::stage_kind;

operand_range one(const char* name, const void* at, std::int64_t bytes, int owner) {
    return {name, static_cast<const std::byte*>(at), bytes, {1, 1, 1}, {0, 0, 0}, owner};
}

std::int64_t positions(const head_group& a) {
    const catena::pairing pairs = a.turn.pairs;
    const bool four = pairs == catena::pairing::sections || pairs == catena::pairing::interleaved;
    return a.tokens * (four ? 4 : 1);
}

/// What turns and stores a value.
void judge_turn_and_store(const head_group& a, const head_member& m, int owner, machine& on,
                          operands& ops) {
    if (m.turned) ops.read(one("positions", a.positions, std::int64_t{4} * positions(a), owner));
    if (m.turned && a.factors != nullptr)
        ops.read(one("factors", a.factors, 2 * a.turn.dims, owner));
    if (m.cache == nullptr) return;
    ops.read(one("ids", m.cache_ids, std::int64_t{m.ids_of_64_bits ? 8 : 4} * a.tokens, owner));
    const std::int64_t row = catena::row_bytes(m.cache_type, std::int64_t{m.k} * m.heads);
    operand_range cache = one("cache", m.cache, row, owner);
    cache.n[0] = m.cache_rows, cache.nb[0] = m.cache_nb;
    ops.write(cache);
    if (m.cache_type != format::f32 && m.cache_type != format::f16)
        on.blame("a cache that no random graph has");
}

/// Stores a token's heads, if there is such a row.
void store(const head_member& m, int token, const float* heads) {
    const std::int64_t row = m.ids_of_64_bits
                                 ? static_cast<const std::int64_t*>(m.cache_ids)[token]
                                 : static_cast<const std::int32_t*>(m.cache_ids)[token];
    if (row < 0 || row >= m.cache_rows) return;
    const auto bytes = catena::encode_row(
        m.cache_type, {heads, static_cast<std::size_t>(m.k) * static_cast<std::size_t>(m.heads)});
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(m.cache) + row * m.cache_nb);
}

class head_launch {
  public:
    head_launch(const catena::row& r, const heads_args& a, machine& m)
        : row_(r), a_(a), machine_(m) {}

    void run() {
        judge();
        if (!machine_.fault.empty()) return;
        if (recalls()) return recall();
        if (convolves()) convolve();
        std::vector<std::vector<float>> all;
        for (int m = 0; m < a_.members; ++m) {
            all.push_back(heads_of(a_.member[m]));
            put(a_.member[m], all.back().data(), m > 0 || !attends());
        }
        if (attends()) attend(a_, all[0]);
    }

  private:
    const catena::row& row_;
    const heads_args& a_;
    machine& machine_;
    std::vector<float> convolved_;  // [tokens, channels], before norms

    bool convolves() const { return a_.convolved.channels > 0; }
    bool attends() const { return a_.attended.positions > 0; }
    bool recalls() const { return a_.recalled.key_heads > 0; }

    void demand(bool fine, const char* what) {
        if (!fine) machine_.blame(what);
    }

    void judge() {
        operands ops(machine_);
        if (convolves()) judge_convolution(ops);
        if (recalls()) judge_rule(ops);
        int rows = 0;
        for (int i = 0; i < a_.members; ++i) {
            const head_member& m = a_.member[i];
            demand(m.first_row == rows, "heads that do not stand behind those before them");
            rows += m.heads * (recalls()     ? m.k / catena::values_of_warp * a_.recalled.sequences
                               : convolves() ? 1
                                             : a_.tokens);
            judge(m, ops, i);
        }
        demand(rows == a_.rows, "heads that are not there");
        if (attends()) judge_attention(row_, a_, machine_, ops);
        const char* const element_wise[] = {attends() ? "state" : "x", "state", nullptr};
        ops.check(element_wise);
    }

    std::int64_t recalled_size() const {
        const head_member& m = a_.member[0];
        return std::int64_t{m.heads} * m.k * m.k;
    }
    /// The state that the delta rule picks for a sequence.
    const float* recalled_state(int sequence) const {
        const catena::delta_args& d = a_.recalled;
        return d.state +
               (d.state_ids == nullptr ? sequence : d.state_ids[sequence]) * recalled_size();
    }

    void judge_rule(operands& ops) {
        const catena::delta_args& d = a_.recalled;
        const head_member& m = a_.member[0];
        demand(row_.computes.row().stages.has(stage_kind::delta_rule), "a rule that the row lacks");
        demand(a_.members == 1 && m.k % catena::values_of_warp == 0 && !m.normed && !m.turned,
               "values that no warp recalls");
        demand(d.sequences > 0 && a_.tokens % d.sequences == 0 &&
                   d.sequences <= catena::rows_of_block(row_.policy.row()),
               "sequences that no block has");
        if (!machine_.fault.empty()) return;
        const auto heads = [&](const char* name, const float* p, int count, std::int64_t nb1,
                               std::int64_t nb2) -> operand_range {
            return {name,
                    reinterpret_cast<const std::byte*>(p),
                    std::int64_t{4} * m.k,
                    {count, a_.tokens, 1},
                    {nb1, nb2, 0},
                    0};
        };
        const std::int64_t all = std::int64_t{4} * m.heads * a_.tokens, state = 4 * recalled_size();
        ops.read(heads("queries", d.queries, d.key_heads, d.queries_nb1, d.queries_nb2));
        ops.read(heads("keys", d.keys, d.key_heads, d.keys_nb1, d.keys_nb2));
        ops.read(heads("values", d.values, m.heads, d.values_nb1, d.values_nb2));
        const auto numbers = [&](const char* name, const catena::head_numbers& n) -> operand_range {
            return {name,
                    reinterpret_cast<const std::byte*>(n.first),
                    std::int64_t{4} * n.abreast,
                    {m.heads / n.abreast, a_.tokens, 1},
                    {n.nb1, n.nb2, 0},
                    0};
        };
        ops.read(d.by_value ? one("decay", d.decay.first, all * m.k, 0)
                            : numbers("decay", d.decay));
        if (d.decay_bias != nullptr) ops.read(one("bias", d.decay_bias, 4 * m.heads, 0), true);
        if (d.decay_factor != nullptr)
            ops.read(one("factor", d.decay_factor, 4 * m.heads, 0), true);
        ops.read(numbers("beta", d.beta));
        if (d.state_ids != nullptr)
            ops.read(one("numbers of states", d.state_ids, 4 * d.sequences, 0));
        for (int i = 0; i < d.sequences && machine_.fault.empty(); ++i) {
            const int id = d.state_ids == nullptr ? i : d.state_ids[i];
            demand(id >= 0 && id < d.states, "a state that is not there");
            if (!machine_.fault.empty()) return;
            ops.read(one("state", recalled_state(i), state, 0));
            if (d.next_state != nullptr)
                ops.write(one("next state", d.next_state + i * recalled_size(), state, 0));
        }
    }

    void recall() const {
        const catena::delta_args& d = a_.recalled;
        std::vector<float> states;
        for (int i = 0; i < d.sequences; ++i)
            states.insert(states.end(), recalled_state(i), recalled_state(i) + recalled_size());
        const int tokens = a_.tokens / d.sequences;
        for (int t = 0; t < a_.tokens; ++t) recall(t, states.data() + t / tokens * recalled_size());
        if (d.next_state != nullptr) std::copy(states.begin(), states.end(), d.next_state);
    }
    void recall(int t, float* state) const {
        const catena::delta_args& d = a_.recalled;
        const head_member& m = a_.member[0];
        const scalar::recalled_head h{m.k, d.by_value, m.scale};
        const auto number = [t](const catena::head_numbers& n, int i) {
            return offset(n.first, i / n.abreast * n.nb1 + t * n.nb2)[i % n.abreast];
        };
        for (int i = 0; i < m.heads; ++i) {
            const int key = d.neighbors ? i / (m.heads / d.key_heads) : i % d.key_heads;
            float decay = d.by_value ? 0 : number(d.decay, i), beta = number(d.beta, i);
            if (d.decay_bias != nullptr) decay += d.decay_bias[i];
            if (d.decay_factor != nullptr) decay = scalar::softplus(decay) * d.decay_factor[i];
            if (d.logit) beta = scalar::gate(catena::gate_function::sigmoid, beta);
            scalar::recall(h, state + i * m.k * m.k,
                           offset(d.queries, key * d.queries_nb1 + t * d.queries_nb2),
                           offset(d.keys, key * d.keys_nb1 + t * d.keys_nb2),
                           offset(d.values, i * d.values_nb1 + t * d.values_nb2),
                           d.by_value ? d.decay.first + (t * m.heads + i) * m.k : &decay, beta,
                           offset(m.f32, i * m.f32_nb1 + t * m.f32_nb2));
        }
    }

    /// The state that is picked.
    const float* state() const {
        const catena::convolution_args& c = a_.convolved;
        return offset(c.state, c.state_ids == nullptr ? 0 : *c.state_ids * c.state_nb);
    }

    void judge_convolution(operands& ops) {
        const catena::convolution_args& c = a_.convolved;
        demand(row_.computes.row().stages.has(stage_kind::convolve),
               "a convolution that the row lacks");
        demand(c.sequences == 1, "sequences that no random graph has");
        const auto part = [](const char* name, const void* at, std::int64_t bytes, int n = 1,
                             std::int64_t nb = 0) -> operand_range {
            return {name, static_cast<const std::byte*>(at), bytes, {n, 1, 1}, {nb, 0, 0}};
        };
        const std::int64_t row = std::int64_t{4} * c.channels, kept = row * (c.length - 1);
        ops.read(part("x", c.x, row, a_.tokens, c.x_nb));
        ops.read(part("taps", c.taps, row * c.length), true);
        if (c.bias != nullptr) ops.read(part("bias", c.bias, row), true);
        if (c.state_ids != nullptr) {
            ops.read(part("number of the state", c.state_ids, 4));
            demand(*c.state_ids >= 0 && *c.state_ids < c.states, "a state that is not there");
            if (!machine_.fault.empty()) return;
        }
        ops.read(part("state", state(), kept));
        if (c.next_state != nullptr) ops.write(part("next state", c.next_state, kept));
        if (c.f32 != nullptr) ops.write(part("convolved f32", c.f32, row, a_.tokens, c.f32_nb));
    }

    void judge(const head_member& m, operands& ops, int owner) {
        const catena::row_computation& c = row_.computes.row();
        const catena::row_policy& p = row_.policy.row();
        demand(m.k > 0 && m.k <= catena::head_values(p), "a head too long for its policy");
        demand(!m.normed || c.stages.has(stage_kind::rms_norm), "a norm that the row lacks");
        demand(!m.turned || c.stages.has(stage_kind::rope), "a turn that the row lacks");
        demand(m.cache == nullptr || c.emits.has(m.cache_type), "a cache that the row lacks");
        std::int64_t bits = p.vector && m.k % 4 != 0 ? 4 : 0;
        const auto heads = [&](const char* name, const void* at, std::int64_t nb1,
                               std::int64_t nb2) -> operand_range {
            bits |= reinterpret_cast<std::intptr_t>(at) | (m.heads > 1 ? nb1 : 0) |
                    (a_.tokens > 1 ? nb2 : 0);
            return {name,
                    static_cast<const std::byte*>(at),
                    std::int64_t{4} * m.k,
                    {m.heads, a_.tokens, 1},
                    {nb1, nb2, 0},
                    owner};
        };
        // All warps of a token read what it norms.
        if (!convolves() && !recalls())
            ops.read(heads(m.token_norm ? "tokens" : "x", m.x, m.x_nb1, m.x_nb2));
        const std::int64_t normed = m.token_norm ? m.k * m.heads : m.k;
        if (m.weight != nullptr) ops.read(one("weight", m.weight, 4 * normed, owner), true);
        if (m.f32 != nullptr) ops.write(heads("f32", m.f32, m.f32_nb1, m.f32_nb2));
        if (m.cache != nullptr) {  // four elements are written together
            const int size = catena::info(m.cache_type).block_bytes;
            bits |= (reinterpret_cast<std::intptr_t>(m.cache) | m.cache_nb) * (4 / size);
        }
        judge_turn_and_store(a_, m, owner, machine_, ops);
        demand(bits % (p.vector ? 16 : 4) == 0, "heads that are not aligned");
    }

    void convolve() {
        const catena::convolution_args& c = a_.convolved;
        const int kept = c.length - 1;
        convolved_.resize(static_cast<std::size_t>(a_.tokens) *
                          static_cast<std::size_t>(c.channels));
        std::vector<float> line;  // of a channel: its state, and its value of each token
        for (int i = 0; i < c.channels; ++i) {
            line.assign(state() + i * kept, state() + (i + 1) * kept);
            for (int t = 0; t < a_.tokens; ++t) line.push_back(*offset(c.x + i, t * c.x_nb));
            for (int t = 0; t < a_.tokens; ++t) {
                float v = scalar::dot(line.data() + t, c.taps + i * c.length, c.length);
                if (c.bias != nullptr) v += c.bias[i];
                if (c.function != catena::gate_function::none) v = scalar::gate(c.function, v);
                convolved_[static_cast<std::size_t>(t * c.channels + i)] = v;
            }
            if (c.next_state != nullptr)
                std::copy(line.end() - kept, line.end(), c.next_state + i * kept);
        }
        for (int t = 0; t < a_.tokens && c.f32 != nullptr; ++t)
            std::copy_n(convolved_.data() + t * c.channels, c.channels,
                        offset(c.f32, t * c.f32_nb));
    }

    /// A head of a token, before its norm.
    const float* head_of(const head_member& m, int h, int t) const {
        if (!convolves()) return offset(m.x, h * m.x_nb1 + t * m.x_nb2);
        return convolved_.data() + t * a_.convolved.channels + m.first_channel + h * m.k;
    }

    /// 1 / rms of a head, or of all heads of its token.
    float norm_of(const head_member& m, int h, int t) const {
        std::vector<float> row;
        for (int i = m.token_norm ? 0 : h; i < (m.token_norm ? m.heads : h + 1); ++i) {
            const float* const x = head_of(m, i, t);
            row.insert(row.end(), x, x + m.k);
        }
        return scalar::norm_scale(row.data(), static_cast<int>(row.size()), m.eps);
    }

    /// The heads of all tokens of a value.
    std::vector<float> heads_of(const head_member& m) const {
        const auto k = static_cast<std::size_t>(m.k);
        std::vector<float> all;
        for (int t = 0; t < a_.tokens; ++t)
            for (int h = 0; h < m.heads; ++h) {
                const float* x = head_of(m, h, t);
                std::vector<float> v(x, x + k);
                const float s = m.normed ? norm_of(m, h, t) : 1;
                const float* const weight =
                    m.weight == nullptr || !m.token_norm ? m.weight : m.weight + h * m.k;
                for (std::size_t i = 0; i < k; ++i) {
                    if (m.normed) v[i] *= s;
                    if (weight != nullptr) v[i] *= weight[i];
                }
                if (m.turned)
                    scalar::turn(v.data(), a_.turn, a_.positions, a_.tokens, t, a_.factors);
                for (float& f : v) f *= m.scale;
                all.insert(all.end(), v.begin(), v.end());
            }
        return all;
    }
    void put(const head_member& m, const float* heads, bool writes_f32) const {
        for (int t = 0; t < a_.tokens; ++t) {
            if (m.cache != nullptr) store(m, t, heads);
            for (int h = 0; h < m.heads; ++h, heads += m.k)
                if (m.f32 != nullptr && writes_f32)
                    std::copy(heads, heads + m.k, offset(m.f32, h * m.f32_nb1 + t * m.f32_nb2));
        }
    }
};

}  // namespace

void launch_heads(const catena::row& r, const heads_args& a, machine& m) {
    if (a.scanned.size > 0) return launch_scan(r, a, m);
    head_launch(r, a, m).run();
}

const head_member* heads_of(const catena::matvec_args& a, const catena::matvec_member& m) {
    return a.heads.members > 0 ? &a.heads.member[&m - a.member] : nullptr;
}
const head_member* heads_of(const catena::matmul_args&, const catena::matvec_member&) {
    return nullptr;
}

void judge_turned(const catena::row& r, const catena::matvec_args& a, machine& m, operands& ops) {
    const auto demand = [&m](bool fine, const char* what) {
        if (!fine) m.blame(what);
    };
    demand((a.heads.members > 0) == r.policy.matvec().turns, "heads that its row does not turn");
    if (a.heads.members == 0) return;
    demand(a.heads.members == a.members && a.heads.tokens == 1 && a.columns == 1,
           "heads that are not the results of one token");
    demand(a.heads.turn.first == 0 && positions(a.heads) == 1, "a turn that no matvec makes");
    for (int i = 0; i < a.members && m.fault.empty(); ++i) {
        const head_member& h = a.heads.member[i];
        demand(h.k % 2 == 0 && h.k * h.heads == a.member[i].rows, "heads that are not its rows");
        demand(!h.normed && h.x == nullptr && h.f32 == nullptr, "heads that are not its results");
        demand(a.band_rows % 2 == 0, "a band of half a pair");
        judge_turn_and_store(a.heads, h, i, m, ops);
    }
}

void turn_result(const catena::matvec_args& a, const catena::matvec_member& m,
                 std::vector<float>& result) {
    const head_member* const h = heads_of(a, m);
    if (h == nullptr) return;
    for (int i = 0; h->turned && i < m.rows; i += h->k)
        scalar::turn(result.data() + i, a.heads.turn, a.heads.positions, 1, 0, a.heads.factors);
    for (float& f : result) f *= h->scale;
    if (h->cache != nullptr) store(*h, 0, result.data());
}

}  // namespace catena_test
