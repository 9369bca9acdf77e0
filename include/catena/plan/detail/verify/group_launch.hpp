// A group's step, read off the arguments with which it is launched and the computation of its row,
// as kernel/args.hpp says what the skeletons of matmuls do with them.
#pragma once

#include "catena/plan/detail/verify/epilogue_launch.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class group_launch : public epilogue_launch {
  public:
    using epilogue_launch::epilogue_launch;

    void run(const step& s, const row& r, const step_args& a, std::int32_t stream) {
        if (a.kind == skeleton::matvec) begin_group(s, r, a.matvec, stream);
        if (a.kind == skeleton::matmul) begin_group(s, r, a.matmul, stream);
    }

  private:
    static const matvec_args* matvec_of(const matvec_args& a) { return &a; }
    static const matvec_args* matvec_of(const matmul_args&) { return nullptr; }
    static std::int64_t x_rows_of(const matvec_args& a, std::int64_t tokens) {
        return has_experts(a) ? tokens * a.x_slots : a.columns;
    }
    static std::int64_t x_rows_of(const matmul_args& a, std::int64_t) { return a.x_rows; }

    static const head_member* head_of(const matmul_args&, const matvec_member&) { return nullptr; }
    static const head_member* head_of(const matvec_args& a, const matvec_member& m) {
        return a.heads.members > 0 ? &a.heads.member[&m - a.member] : nullptr;
    }

    template <class Args>
    void begin_group(const step& s, const row& r, const Args& a, std::int32_t stream) {
        begin(stream, beyond(s, r, a));
        if (!wrong) run_group(s, r, a);
    }

    template <class Args>
    void run_group(const step& s, const row& r, const Args& a) {
        const product_computation& c = r.computes.product();
        const matvec_args* const few = matvec_of(a);
        const bool sums = few != nullptr && few->combined;
        const std::int64_t tokens = !has_experts(a) ? 1
                                    : sums          ? a.columns
                                                    : quotient(a.columns, a.slots);
        const std::int64_t rows = x_rows_of(a, tokens);
        value ids = single(own_number);
        if (few != nullptr && few->routing.tokens > 0) {  // no other block reads what one writes
            if (few->routing.ids != a.ids || few->routing.ids_nb != a.ids_nb1)
                fail("are not those that the launch finds", address_of(a.ids), "the ids");
            ids = route(few->routing);
        } else if (a.ids != nullptr) {
            const char* const name = "the ids";
            ids = read_at(aligned_rows(a.ids, 4, name, a.slots, tokens, a.ids_nb1), name);
        }
        const value x = few != nullptr ? x_of_matvec(c, *few, rows) : x_of(c, a, rows);
        for (std::int32_t i = 0; i < a.members && !wrong; ++i)
            run_member(r, a, a.member[i], x, ids, tokens, sums);
        if (!wrong) check_bands(s, r, a);
    }

    template <class Args>
    void check_distances(const product_computation& c, const Args& a, std::int64_t rows) {
        const bool fp8 = c.activation == format::fp8_group;
        const bool in_blocks = !fp8 && c.activation != format::q8_1;  // rows of a block together
        if (!in_blocks && rows > 1 && a.x_bytes != (fp8 ? a.k : q8_1_row_bytes(a.k)))
            fail("has rows at other distances than they were written",
                 static_cast<std::uint64_t>(a.x_bytes), "the activation");
    }
    template <class Args>
    value x_of(const product_computation& c, const Args& a, std::int64_t rows) {
        if (c.activation == format::f32) return f32_rows(a, rows);
        check_distances(c, a, rows);
        return activation(a.x, c.activation, a.k, rows);
    }
    template <class Args>
    value f32_rows(const Args& a, std::int64_t rows) {
        const char* const name = "the activation";
        return read_at(aligned_rows(a.x, 16, name, a.k, rows, a.x_bytes), name);
    }
    value x_of_matvec(const product_computation& c, const matvec_args& a, std::int64_t rows) {
        if (a.begun_squares != nullptr) {
            check_distances(c, a, rows);
            return activation(a.x, c.activation, a.k, rows, a.begun_squares, a.eps);
        }
        if (!has_norm(c.stages)) return x_of(c, a, rows);
        value v = f32_rows(a, rows);
        if (a.gate.data != nullptr) return gated_heads(c, a, v);
        if (a.norm_weight == nullptr) return v;  // the row quantizes it as it is
        early.push_back({rows_at(a.norm_weight, a.k, 1, 0), "the norm's weight", false});
        v = times(normed(term::rms_norm, v, a.eps, a.k),
                  of_rows(vector(a.norm_weight, a.k, 16, "the norm's weight"), a.k, rows));
        if (a.norm_f32 != nullptr)  // by blocks that read nothing but x
            write(aligned_rows(a.norm_f32, 16, "the norm", a.k, rows, 4 * a.k), v, "the norm",
                  reads.size());
        if (a.norm_q8_1 != nullptr) quantize(a.norm_q8_1, format::q8_1, v, a.k, rows);
        const bool wanted = a.norm_f32 != nullptr || a.norm_q8_1 != nullptr;
        if (wanted && c.emits.empty()) fail("is not written by its row", 0, "the norm");
        return v;
    }

    /// One activation row, gated: or a norm of each of its heads.
    value gated_heads(const product_computation& c, const matvec_args& a, value v) {
        const activation_gate& by = a.gate;
        const std::int64_t heads = quotient(std::int64_t{a.k}, std::int64_t{by.k});
        if (a.norm_weight != nullptr) {
            const char* const name = "the norm's weight";
            early.push_back({rows_at(a.norm_weight, by.k, 1, 0), name, false});
            v = times(normed(term::rms_norm, v, a.eps, by.k),
                      of_rows(vector(a.norm_weight, by.k, 16, name), by.k, heads));
        }
        if (is_own(by.function) && !c.own) fail("is nothing that its row can do", 0, "an own op");
        const value gate =
            read_at(aligned_rows(by.data, 16, "the gate", by.k, heads, by.nb1), "the gate");
        return gated(by.function, gate, v, by.alpha, by.limit);
    }

    template <class Args>
    void run_member(const row& r, const Args& a, const matvec_member& m, const value& x,
                    const value& ids, std::int64_t tokens, bool sums) {
        const product_computation& c = r.computes.product();
        const std::size_t own_reads = reads.size();  // other members have other threads
        const bool picked = m.experts > 0, beside = has_experts(a) && !picked;
        if (picked && !has_experts(a)) fail("stands behind dense ones", 0, "an expert matrix");
        if (picked && a.ids == nullptr && (a.x_slots != a.slots || tokens % m.experts != 0))
            fail("has not a matrix for each token", 0, "an expert matrix");
        if (beside && (sums || a.x_slots != 1))
            fail("stands beside experts with other rows", 0, "a dense matrix");
        if (!c.weights.has(m.type))
            fail("is of a format that its row does not have", 0, "a matrix");
        const std::int64_t columns = picked   ? std::int64_t{a.slots} * tokens
                                     : beside ? tokens
                                              : a.columns;
        multiplied p;
        p.type = m.type;
        p.row_bytes = m.row_bytes;
        p.k = a.k;
        p.rows = m.rows;
        p.x = x.hash;
        if (picked) {
            p.experts = m.experts;
            p.expert_bytes = m.expert_bytes;
            p.x_slots = a.x_slots;
            p.ids = ids.hash;
        }
        const auto product = [&](const void* weight, const float* scales) {
            const std::uint64_t at = address_of(weight);
            aligned(at, copy_of(r.policy) == copy_method::plain ? 2 : 16, "a weight");
            early.push_back({bytes_at(at, std::uint64_t(m.weight_bytes)), "a weight", false});
            multiplied own = p;
            own.weight = at;
            if (scales != nullptr) {
                own.scale_rows = m.scale_rows;
                own.scale_values = m.scale_values;
                own.scale_stride = m.scale_stride;
                own.scales_of_matrix = m.scales;
                aligned(address_of(scales), 4, "a weight's scales");
                own.scales = read_at(own.scales_at(scales), "a weight's scales").hash;
            }
            return single(own.hash());
        };
        member_products out{c, m};
        out.v = product(m.weight, m.weight_scale);
        if (m.up != nullptr) out.up = product(m.up, m.up_scale);
        out.ids = ids;
        out.columns = columns;
        out.tokens = tokens;
        out.picked = picked;
        out.beside = beside;
        out.sums = sums;
        out.first_read = own_reads;
        out.head = head_of(a, m);
        finish(a, out);
    }

    /// Bands follow each other, and the launch has a block for each.
    void check_bands(const step& s, const row& r, const matvec_args& a) {
        const std::int64_t tokens =
            has_experts(a) ? quotient(a.columns, a.combined ? 1 : a.slots) : 1;
        std::int64_t first = 0, blocks = 0, by_ids = 0;
        for (std::int32_t i = 0; i < a.members; ++i) {
            const matvec_member& m = a.member[i];
            const std::int64_t own = band_results(a, m);
            if (m.first_band != first || own <= 0)
                return fail("do not follow each other", static_cast<std::uint64_t>(m.first_band),
                            "bands");
            const std::int64_t bands = (m.rows + own - 1) / own;
            first += bands;
            const bool picked = m.experts > 0;
            if (!has_experts(a) || picked) by_ids += bands;
            blocks += bands * (picked ? a.columns : tokens);
        }
        const bool writes_norm = a.norm_f32 != nullptr || a.norm_q8_1 != nullptr;
        const std::int64_t of_column = blocks_that_write(r.policy.matvec(), a.k);
        const std::int64_t writing = a.routing.tokens + (writes_norm ? a.columns * of_column : 0);
        const std::int64_t all = blocks * s.config.cluster + writing;
        const std::int64_t dense = has_experts(a) ? a.dense_bands : 0;
        if (by_ids != a.bands || first != by_ids + dense || all != s.config.blocks)
            fail("do not have all bands", s.config.blocks, "its blocks");
    }
    void check_bands(const step& s, const row& r, const matmul_args& a) {
        std::int64_t first = 0;
        for (std::int32_t i = 0; i < a.members; ++i) {
            const matvec_member& m = a.member[i];
            const std::int64_t own = tile_rows(r.policy.matmul()) / (m.up != nullptr ? 2 : 1);
            if (m.first_band != first || own <= 0)
                return fail("do not follow each other", static_cast<std::uint64_t>(m.first_band),
                            "tiles");
            first += (m.rows + own - 1) / own;
        }
        const std::int64_t wide = r.policy.matmul().columns;
        const std::int64_t times = has_experts(a) ? a.experts : (a.columns + wide - 1) / wide;
        if (first != a.tiles || first * times * s.config.cluster != s.config.blocks)
            fail("do not have all tiles", s.config.blocks, "its blocks");
    }
};

}  // namespace CATENA_NAMESPACE::proof
