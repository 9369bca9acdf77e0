#include "scan_launch.hpp"

#include "arithmetic.hpp"
#include "operands.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace catena_test {
namespace {

class scan_launch {
  public:
    scan_launch(const catena::row& r, const catena::heads_args& a, machine& m)
        : row_(r), a_(a), s_(a.scanned), m_(a.member[0]), machine_(m) {}

    void run() {
        judge();
        if (!machine_.fault.empty()) return;
        judge_memory();
        if (machine_.fault.empty()) scan();
    }

  private:
    const catena::row& row_;
    const catena::heads_args& a_;
    const catena::scan_args& s_;
    const catena::head_member& m_;
    machine& machine_;

    void demand(bool fine, const char* what) {
        if (!fine) machine_.blame(what);
    }
    std::int64_t state_size() const { return std::int64_t{s_.size} * m_.k * m_.heads; }
    const float* state_of(int sequence) const {
        return s_.state + s_.state_ids[sequence] * state_size();
    }

    void judge() {
        const catena::row_policy& p = row_.policy.row();
        demand(scans(row_.computes.row().stages), "a scan that the row lacks");
        demand(a_.members == 1 && m_.k % catena::values_of_warp == 0 && m_.heads % s_.groups == 0,
               "values that no warp scans");
        demand(!m_.normed && !m_.turned && m_.cache == nullptr && m_.scale == 1,
               "what no scan does behind it");
        demand(s_.size <= catena::head_values(p), "a state too long for its policy");
        demand(s_.sequences > 0 && a_.tokens % s_.sequences == 0 &&
                   s_.sequences <= catena::rows_of_block(p),
               "sequences that no block has");
        demand(a_.rows == m_.heads * (m_.k / catena::values_of_warp) * s_.sequences,
               "values that are not there");
        std::int64_t bits = s_.size % 4 == 0 ? 0 : 4;
        for (const void* at : {s_.b, s_.c, s_.state, const_cast<const float*>(s_.next_state)})
            bits |= reinterpret_cast<std::intptr_t>(at);
        if (a_.tokens > 1) bits |= s_.b_nb | s_.c_nb;
        demand(bits % (p.vector ? 16 : 4) == 0, "states that are not aligned");
    }

    /// Rows of `count` numbers.
    static operand_range rows(const char* name, const float* at, std::int64_t count,
                              std::int64_t n = 1, std::int64_t nb = 0) {
        return {name, reinterpret_cast<const std::byte*>(at), 4 * count, {n, 1, 1}, {nb, 0, 0}};
    }

    void judge_memory() {
        operands ops(machine_);
        const std::int64_t values = std::int64_t{m_.k} * m_.heads;
        const std::int64_t shared = std::int64_t{s_.size} * s_.groups;
        ops.read(rows("x", s_.x, values, a_.tokens, s_.x_nb));
        ops.read(rows("dt", s_.dt, m_.heads, a_.tokens, s_.dt_nb));
        ops.read(rows("b", s_.b, shared, a_.tokens, s_.b_nb));
        ops.read(rows("c", s_.c, shared, a_.tokens, s_.c_nb));
        if (s_.z != nullptr) ops.read(rows("z", s_.z, values, a_.tokens, s_.z_nb));
        for (const float* constant : {s_.a, s_.dt_bias, s_.d})
            if (constant != nullptr)
                ops.read(rows("number of each head", constant, m_.heads), true);
        ops.read({"numbers of states",
                  reinterpret_cast<const std::byte*>(s_.state_ids),
                  std::int64_t{4} * s_.sequences,
                  {1, 1, 1},
                  {0, 0, 0}});
        if (!machine_.fault.empty()) return;
        for (int i = 0; i < s_.sequences; ++i) {
            demand(s_.state_ids[i] >= 0 && s_.state_ids[i] < s_.states,
                   "a state that is not there");
            if (!machine_.fault.empty()) return;
            ops.read(rows("state", state_of(i), state_size()));
            if (s_.next_state != nullptr)
                ops.write(rows("next state", s_.next_state + i * state_size(), state_size()));
        }
        operand_range made = rows("f32", m_.f32, m_.k, m_.heads, m_.f32_nb1);
        made.n[1] = a_.tokens, made.nb[1] = m_.f32_nb2;
        ops.write(made);
        const char* const element_wise[] = {"state", nullptr};
        ops.check(element_wise);
    }

    /// One value of a token, whose state changes.
    float value(int token, int head, int i, float* state) const {
        const int group = head / (m_.heads / s_.groups), at = head * m_.k + i;
        float dt = offset(s_.dt, token * s_.dt_nb)[head];
        if (s_.dt_bias != nullptr) dt += s_.dt_bias[head];
        const float x = offset(s_.x, token * s_.x_nb)[at];
        float y = scalar::scan({s_.size, s_.a[head], dt}, state, x,
                               offset(s_.b, token * s_.b_nb) + group * s_.size,
                               offset(s_.c, token * s_.c_nb) + group * s_.size);
        if (s_.d != nullptr) {
            const float share = x * s_.d[head];
            y += share;
        }
        if (s_.z == nullptr) return y;
        return scalar::gate(catena::gate_function::silu, offset(s_.z, token * s_.z_nb)[at]) * y;
    }

    void scan() const {
        const auto size = static_cast<std::size_t>(state_size());
        const int tokens = a_.tokens / s_.sequences;
        std::vector<float> states;
        for (int i = 0; i < s_.sequences; ++i)
            states.insert(states.end(), state_of(i), state_of(i) + size);
        for (int t = 0; t < a_.tokens; ++t) {
            float* state = states.data() + static_cast<std::size_t>(t / tokens) * size;
            for (int head = 0; head < m_.heads; ++head)
                for (int i = 0; i < m_.k; ++i, state += s_.size)
                    offset(m_.f32, head * m_.f32_nb1 + t * m_.f32_nb2)[i] =
                        value(t, head, i, state);
        }
        if (s_.next_state != nullptr) std::copy(states.begin(), states.end(), s_.next_state);
    }
};

}  // namespace

void launch_scan(const catena::row& r, const catena::heads_args& a, machine& m) {
    scan_launch(r, a, m).run();
}

}  // namespace catena_test
