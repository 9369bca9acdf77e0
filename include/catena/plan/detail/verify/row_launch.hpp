// A row step, read off the arguments with which it is launched and the computation of its row, as
// kernel/row.hpp says what a launch does with them.
#pragma once

#include "catena/plan/detail/verify/attention_launch.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class row_launch : public attention_launch {
  public:
    using attention_launch::attention_launch;

    void run(const step& s, const row& r, const row_args& a, std::int32_t stream) {
        begin(stream, beyond(s, r, a));
        if (!wrong) run_row(s, r, a);
    }

    void run(const step& s, const row& r, const heads_args& a, std::int32_t stream) {
        begin(stream, beyond(s, r, a));
        if (a.convolved.channels > 0 && !wrong) return convolve(r, a);
        if (a.recalled.key_heads > 0 && !wrong) return recall(r, a);
        if (a.scanned.size > 0 && !wrong) return scan(r, a);
        if (a.attended.positions > 0 && !wrong) return attend(r, a);
        for (std::int32_t i = 0; i < a.members && !wrong; ++i) {
            const bool two = i + 1 < a.members && end_to_end(a.member[i], a.member[i + 1]);
            if (two)
                run_joined(r, a, a.member[i], a.member[i + 1]);
            else
                run_heads(r, a, a.member[i]);
            i += two ? 1 : 0;
        }
    }

    void run(const step& s, const row& r, const route_args& a, std::int32_t stream) {
        begin(stream, beyond(s, r, a));
        if (!wrong) route(a);
    }

  private:
    /// One value of a launch of heads.
    void run_heads(const row& r, const heads_args& a, const head_member& m) {
        const std::size_t first_read = reads.size();
        const bool vector = r.policy.row().vector;
        const value v = made_heads(r, a, m);
        const rows_of n{m.k, m.heads, a.tokens, 1};
        if (m.f32 != nullptr) {
            const row_strides at{m.f32_nb1, m.f32_nb2, 0};
            write(lies(n, m.f32, at, vector, "the result"), v, "the result", first_read);
        }
        if (m.cache != nullptr) store_heads(a, m, std::int64_t{m.k} * m.heads, v, vector ? 4 : 1);
    }

    /// Two values of a launch of heads that lie end to end in each row. No element of the result
    /// lies where one of theirs does.
    void run_joined(const row& r, const heads_args& a, const head_member& m,
                    const head_member& behind) {
        const bool vector = r.policy.row().vector;
        const value front = made_heads(r, a, m), back = made_heads(r, a, behind);
        const convolved_shape sizes{m.k + 1, behind.k, m.heads, a.tokens};
        const value v = joined(front, back, sizes);
        const std::int64_t k = std::int64_t{m.k} + behind.k;
        if (m.f32 != nullptr) {
            const rows_of n{k, m.heads, a.tokens, 1};
            const row_strides at{m.f32_nb1, m.f32_nb2, 0};
            aligned(address_of(behind.f32), vector ? 16 : 4, "the second value");
            write(lies(n, m.f32, at, vector, "the result"), v, "the result", reads.size());
        }
        if (m.cache == nullptr) return;
        aligned_cache(behind, vector ? 4 : 1);
        store_heads(a, m, k, v, vector ? 4 : 1);
    }

    value row_operand_at(const rows_of& n, const float* p, const row_strides& at, bool vector,
                         const char* name) {
        return read_at(lies(n, p, at, vector, name), name, true);
    }

    /// The sum over a token's experts. Weighted results are a value of their own, whose slots the
    /// graph names; results that are not are named where they lie.
    value slots_of(const expert_results& e, const rows_of& n, std::int64_t tokens) {
        const auto rows = [&](std::int64_t first, std::int64_t slots) {
            return rows_at(e.results + first * e.nb1 / 4, n.k, slots, e.nb1, tokens, e.nb2);
        };
        value weighted;
        if (e.weights != nullptr) {
            const value w =
                read_at(rows_at(e.weights, 1, e.slots, e.weights_nb1, tokens, e.weights_nb2),
                        "their weights");
            weighted = times(read(rows(0, e.slots)), of_runs(w, n.k, e.slots * tokens));
        }
        value sum;
        for (std::int64_t s = 0; s < e.slots; ++s) {
            const value one = read_at(rows(s, 1), "what experts made", true);
            const value slot =
                e.weights != nullptr ? slot_of(weighted, n.k, e.slots, tokens, s) : one;
            sum = s == 0 ? slot : plus(sum, slot);
        }
        return sum;
    }

    value experts(const row_args& a, const rows_of& n, bool vector) {
        const expert_results& e = a.experts;
        const std::int64_t tokens = a.rows;
        const std::uint64_t to = vector ? 16 : 4;
        aligned(address_of(e.results), to, "what experts made");
        if (e.slots > 1) aligned(static_cast<std::uint64_t>(e.nb1), to, "its slots");
        if (tokens > 1) aligned(static_cast<std::uint64_t>(e.nb2), to, "its tokens");
        const value sum = slots_of(e, n, tokens);
        if (a.x == nullptr) return sum;
        value shared = row_operand_at(n, a.x, a.x_at, vector, "a shared expert's result");
        if (e.gate != nullptr) {
            const value g = function_of(
                gate_function::sigmoid,
                read_at(rows_at(e.gate, 1, tokens, e.gate_nb), "a shared expert's gate"));
            shared = times(shared, of_runs(g, n.k, tokens));
        }
        return plus(sum, shared);
    }

    /// A launch on rows of a tensor.
    struct row_step {
        const row_computation& c;
        const row_args& a;
        rows_of n;
        bool vector;

        bool has(stage_kind kind) const { return c.stages.has(kind); }
        std::uint64_t wide() const { return vector ? 16 : 4; }
    };

    value rows_at_x(const row_step& r) {
        return row_operand_at(r.n, r.a.x, r.a.x_at, r.vector, "x");
    }
    value residual_of(const row_step& r) {
        return row_operand_at(r.n, r.a.residual, r.a.residual_at, r.vector, "the residual");
    }
    value gate_of(const row_step& r) {
        return row_operand_at(r.n, r.a.gate, r.a.gate_at, r.vector, "the gate");
    }
    value weight_of(const row_step& r, const float* p, const char* name) {
        const value w = of_rows(this->vector(p, r.n.k, r.wide(), name), r.n.k, r.a.rows);
        if (r.a.weight_early) early.push_back({rows_at(p, r.n.k, 1, 0), name, false});
        return w;
    }

    /// What a norm reads: a gated value, or x or a sum of experts with what is added to it.
    value started(const row_step& r) {
        const row_args& a = r.a;
        if (r.has(stage_kind::glu)) {
            const value g = gate_of(r);
            return a.x == nullptr ? function_of(a.function, g, {a.alpha, a.limit})
                                  : gated(a.function, g, rows_at_x(r), a.alpha, a.limit);
        }
        value v = r.has(stage_kind::combine) && a.experts.results != nullptr
                      ? experts(a, r.n, r.vector)
                      : rows_at_x(r);
        if (r.has(stage_kind::scale)) v = times(v, a.x_scale);
        if (r.has(stage_kind::add_residual) && a.residual != nullptr) v = plus(v, residual_of(r));
        return v;
    }

    void store_sum(const row_step& r, const value& v) {
        if (r.a.sum == nullptr || !r.c.stages.any(sum_stages)) return;
        write(lies(r.n, r.a.sum, r.a.sum_at, r.vector, "the sum"), v, "the sum", 0);
    }

    /// A norm with its weight and bias, a residual that is joined to it, its gate.
    value normed_row(const row_step& r, value v) {
        const row_args& a = r.a;
        if (r.c.stages.any(stage_kind::rms_norm | stage_kind::layer_norm)) {
            const term kind = r.has(stage_kind::rms_norm) ? term::rms_norm : term::layer_norm;
            v = times(normed(kind, v, a.eps, r.n.k), a.norm_scale);
        }
        if (r.has(stage_kind::mul_weight) && a.weight != nullptr)
            v = times(v, weight_of(r, a.weight, "the norm's weight"));
        if (r.has(stage_kind::add_bias) && a.bias != nullptr)
            v = plus(v, of_rows(this->vector(a.bias, r.n.k, r.wide(), "the norm's bias"), r.n.k,
                                a.rows));
        if (r.has(stage_kind::join_residual) && a.residual != nullptr) {
            v = plus(v, residual_of(r));
            if (a.sum_factor != nullptr)
                v = times(v, number(a.sum_factor, r.n.k * a.rows, "the sum's factor"));
        }
        if (r.has(stage_kind::gate) && a.gate != nullptr)
            v = gated(a.function, gate_of(r), v, a.alpha, a.limit);
        return v;
    }

    void store_row(const row_step& r, const value& v) {
        const row_args& a = r.a;
        const std::int64_t values = r.n.k * a.rows;
        if (a.f32 != nullptr && r.c.emits.has(format::f32))
            write(lies(r.n, a.f32, a.f32_at, r.vector, "the result"), v, "the result", 0);
        store_quantized(r.c.emits, a, v, values, a.quant_k);
        if (a.fp8_group.data == nullptr) return;
        if (!r.c.emits.has(format::fp8_group)) fail("is not written by its row", 0, "fp8_group");
        if (address_of(a.fp8_group.scales) !=
            address_of(a.fp8_group.data) + static_cast<std::uint64_t>(values))
            fail("are not behind the values", address_of(a.fp8_group.scales), "fp8 scales");
        quantize(a.fp8_group.data, format::fp8_group, v, r.n.k, a.rows);
    }

    void run_row(const step& s, const row& picked, const row_args& a) {
        const row_policy& policy = picked.policy.row();
        const std::int64_t outer = std::int64_t{a.n1} * a.n2;
        const row_step r{picked.computes.row(),
                         a,
                         {a.k, a.n1, a.n2, outer > 0 ? quotient(std::int64_t{a.rows}, outer) : 0},
                         policy.vector};
        if (r.n.all() != a.rows || a.rows <= 0) fail("are not n1 * n2 * n3", 0, "its rows");
        const bool joins = r.has(stage_kind::join_residual);
        value v = started(r);
        if (!joins) store_sum(r, v);
        v = normed_row(r, v);
        if (joins) store_sum(r, v);
        if (r.has(stage_kind::next_norm) && a.next_weight != nullptr)
            v = times(normed(term::rms_norm, v, a.next_eps, r.n.k),
                      weight_of(r, a.next_weight, "the second norm's weight"));
        if (r.has(stage_kind::own)) v = function_of(a.own.function, v, a.own.with);
        if ((is_own(a.function) || is_own(a.own.function)) && !r.c.own)
            fail("is nothing that its row can do", 0, "an own op");
        store_row(r, v);
        const std::int64_t in_block = rows_of_block(policy);
        const std::int64_t blocks = (a.rows + in_block - 1) / in_block;
        if (s.config.blocks != static_cast<std::uint32_t>(blocks))
            fail("do not have all rows", s.config.blocks, "its blocks");
    }
};

}  // namespace CATENA_NAMESPACE::proof
