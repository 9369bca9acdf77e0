// What a launch does with the finished products of a member, part by part, read off the arguments
// as kernel/args.hpp says what they mean.
#pragma once

#include "catena/plan/detail/verify/head_launch.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class epilogue_launch : public head_launch {
  public:
    using head_launch::head_launch;

  protected:
    /// The products of a member, and what the launch does with them.
    struct member_products {
        const product_computation& row;  ///< what the kernel of the table row can do
        const matvec_member& m;
        value v = {}, up = {};  ///< of weight and, with two matrices, of up
        value ids = {};
        std::int64_t columns = 0, tokens = 0;  ///< of the products
        bool picked = false;                   ///< ids pick the matrices, or they take turns
        bool beside = false;                   ///< a dense matrix beside such, for each token
        bool sums = false;                     ///< the results of a token's slots are added up
        std::size_t first_read = 0;            ///< the first of the member's reads
        const head_member* head = nullptr;     ///< what the result is as heads; null: no heads
    };

    /// The parts in the order in which a kernel does them; then the results are written.
    template <class Args>
    void finish(const Args& a, member_products p) {
        scale(p);
        factor(p);
        bias(p);
        function(p);
        own(p);
        if (p.sums) combine(a, p);
        if (p.head != nullptr) heads(a, p);
        write_results(a, p);
    }

  private:
    void uses(const member_products& p, epilogue_part part) {
        if (!p.row.epilogue.has(part)) fail("is nothing that its row can do", 0, "an epilogue");
    }

    void scale(member_products& p) {
        if (p.m.scale != 1) uses(p, epilogue_part::scale);
        p.v = times(p.v, p.m.scale);
    }

    void factor(member_products& p) {
        if (p.m.factor == nullptr) return;
        uses(p, epilogue_part::factor);
        p.v = times(p.v, factor(p, p.m.factor));
        if (p.m.up != nullptr && p.m.up_factor != nullptr)
            p.up = times(p.up, factor(p, p.m.up_factor));
    }
    value factor(const member_products& p, const float* f) {
        if (p.m.factor_step == 0) return number(f, p.m.rows * p.columns, "a factor");
        return p.picked ? of_experts(p, f) : of_columns(p, f);
    }
    value of_columns(const member_products& p, const float* f) {
        if (p.m.factor_step != 1 || p.row.kind != skeleton::matvec)
            fail("do not lie one behind the other", 0, "factors");
        return of_runs(vector(f, p.columns, 4, "factors"), p.m.rows, p.columns);
    }
    /// The factor of each column's expert, for all rows of the column.
    value of_experts(const member_products& p, const float* f) {
        if (p.m.factor_step != 1 || p.m.experts == 0)
            fail("do not lie one behind the other", 0, "factors");
        aligned(address_of(f), 4, "factors");
        const value all =
            of_rows(read_at(rows_at(f, p.m.experts, 1, 0), "factors"), p.m.experts, p.tokens);
        return of_runs(single(hash_of(term::picked, all.hash, p.ids.hash)), p.m.rows, p.columns);
    }

    void bias(member_products& p) {
        if (p.m.bias != nullptr) p.v = plus(p.v, bias(p, p.m.bias));
        if (p.m.up != nullptr && p.m.up_bias != nullptr) p.up = plus(p.up, bias(p, p.m.up_bias));
    }
    value bias(const member_products& p, const float* b) {
        const matvec_member& m = p.m;
        uses(p, epilogue_part::bias);
        aligned(address_of(b), 4, "a bias");
        if (m.bias_nb1 == 0 || (!p.picked && p.row.kind != skeleton::matvec))
            return of_rows(vector(b, m.rows, 4, "a bias", p.columns == 1), m.rows, p.columns);
        if (!p.picked)
            return read_at(aligned_rows(b, 4, "a bias", m.rows, p.columns, m.bias_nb1), "a bias",
                           true);
        aligned(static_cast<std::uint64_t>(m.bias_nb1), 4, "a bias");
        const value all = read_at(rows_at(b, m.rows, m.experts, m.bias_nb1), "a bias");
        return single(hash_of(term::picked, all.hash, p.ids.hash));
    }

    /// A GLU of two matrices, or the function of one.
    void function(member_products& p) {
        const matvec_member& m = p.m;
        if (m.up != nullptr) {
            uses(p, epilogue_part::glu);
            p.v = gated(m.function, p.v, p.up, m.alpha, m.limit);
        } else if (m.function != gate_function::none) {
            uses(p, epilogue_part::act);
            p.v = function_of(m.function, p.v, {m.alpha, m.limit});
        }
    }

    void own(member_products& p) {
        const own_call& call = p.m.own;
        if (call.function != gate_function::none) {
            uses(p, epilogue_part::own);
            p.v = function_of(call.function, p.v, call.with);
        }
        if ((is_own(p.m.function) || is_own(call.function)) && !p.row.own)
            fail("is nothing that its row can do", 0, "an own op");
    }

    template <class Args>
    void combine(const Args& a, member_products& p) {
        uses(p, epilogue_part::combine);
        p.v = sum_of_slots(a, p.v, p.m.rows, p.tokens);
    }
    value sum_of_slots(const matmul_args&, const value& v, std::int64_t, std::int64_t) { return v; }
    value sum_of_slots(const matvec_args& a, value v, std::int64_t rows, std::int64_t tokens) {
        if (a.slot_weights != nullptr) {
            aligned(address_of(a.slot_weights), 4, "the slots' weights");
            const value w =
                read_at(rows_at(a.slot_weights, a.slots * tokens, 1, 0), "the slots' weights");
            v = times(v, of_runs(w, rows, a.slots * tokens));
        }
        value sum = slot_of(v, rows, a.slots, tokens, 0);
        for (std::int64_t i = 1; i < a.slots; ++i)
            sum = plus(sum, slot_of(v, rows, a.slots, tokens, i));
        return sum;
    }

    void heads(const matmul_args&, member_products&) {}
    void heads(const matvec_args& a, member_products& p) {
        uses(p, epilogue_part::heads);
        p.v = turned_heads(a.heads, *p.head, p.v);
        if (p.head->cache != nullptr)
            store_heads(a.heads, *p.head, std::int64_t{p.head->k} * p.head->heads, p.v, 1);
    }

    /// Adds the residual, and writes the results as f32 and as the next activation.
    template <class Args>
    void write_results(const Args& a, const member_products& p) {
        const matvec_member& m = p.m;
        const std::int64_t n2 = p.picked || p.beside ? p.tokens : 1;
        const std::int64_t n1 = p.sums || p.beside ? 1 : p.picked ? a.slots : p.columns;
        const auto lies = [&](const float* at, std::int64_t nb1, std::int64_t nb2,
                              const char* name) {
            return aligned_rows(at, 4, name, m.rows, n1, nb1, n2, nb2);
        };
        value v = p.v;
        if (m.residual != nullptr) {
            uses(p, epilogue_part::residual);
            const region where = lies(m.residual, m.residual_nb1, m.residual_nb2, "a residual");
            v = plus(v, read_at(where, "a residual", true));
        }
        if (m.dst != nullptr)
            write(lies(m.dst, m.dst_nb1, m.dst_nb2, "a result"), v, "a result", p.first_read);
        const std::int64_t rows = p.sums ? p.tokens : p.columns;
        if (m.begun_weight != nullptr) return begin_norm(p, v, rows);
        store_quantized(quantized_layouts(p.row), m, v, m.rows * rows, m.rows);
    }
    /// Begins a norm of the results.
    void begin_norm(const member_products& p, const value& v, std::int64_t columns) {
        const matvec_member& m = p.m;
        uses(p, epilogue_part::quantize);
        early.push_back({rows_at(m.begun_weight, m.rows, 1, 0), "the next norm's weight", false});
        const value weight =
            of_rows(vector(m.begun_weight, m.rows, 4, "the next norm's weight"), m.rows, columns);
        check_squares(m.begun_squares, m.q8_1, m.rows, columns);
        quantize(m.q8_1, format::q8_1, times(v, weight), m.rows, columns, v.hash);
    }
    static format_set quantized_layouts(const product_computation& row) {
        if (!row.epilogue.has(epilogue_part::quantize)) return {};
        if (row.kind == skeleton::matvec) return format_set::of(format::q8_1);
        return layout_formats.without(format::q8_1);
    }
};

}  // namespace CATENA_NAMESPACE::proof
