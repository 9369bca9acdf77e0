// What one step does, read off the arguments with which it is launched and the computation of its
// row, as kernel/args.hpp says what a launch does with them: what it reads, what each of its
// results is, and where they go.
#pragma once

#include "catena/kernel/layout.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/verify/graph.hpp"

#include <cstdint>
#include <vector>

namespace catena::proof {

/// A quantized activation in the workspace.
struct slot_content {
    std::uint64_t begin = 0, end = 0;  ///< bytes of the workspace
    value what;
    format layout = format::unknown;
    std::int64_t k = 0, rows = 0;  ///< elements of a row, and rows, as they were quantized
    std::int32_t stream = 0;
};

/// Something that a step reads or writes in the engine's memory.
struct touched {
    region where;
    const char* name = "";
    bool by_element = false;  ///< whoever writes an element of the result has read this one before
};

struct result_of_step {
    region where;
    value what;
    const char* name = "";
};

/// What is wrong: a sentence's end, and the byte that shows it.
struct fault {
    const char* why = nullptr;  ///< null: nothing is
    std::uint64_t byte = 0;
    const char* operand = "";
    explicit operator bool() const { return why != nullptr; }
};

/// The work of one launch, replayed.
class step_replay {
  public:
    step_replay(const memory& there, const std::vector<written>& writes,
                const std::vector<slot_content>& workspace, std::uint64_t workspace_at)
        : there_(there), writes_(writes), workspace_(workspace), workspace_at_(workspace_at) {}

    std::vector<touched> reads;
    std::vector<result_of_step> results;
    std::vector<touched> early;  ///< what it may read before the kernels before it are done
    std::vector<slot_content> quantized;    ///< what it writes into the workspace
    std::vector<slot_content> activations;  ///< what it reads there
    fault wrong;                            ///< the first

    void run(const step& s, const row& r, const step_args& a) {
        reads.clear(), results.clear(), early.clear(), quantized.clear(), activations.clear();
        wrong = {};
        if (a.kind == skeleton::row) run_row(s, r, a.row);
        if (a.kind == skeleton::matvec) run_group(s, r, a.matvec);
        if (a.kind == skeleton::matmul) run_group(s, r, a.matmul);
    }

  private:
    const memory& there_;
    const std::vector<written>& writes_;
    const std::vector<slot_content>& workspace_;
    const std::uint64_t workspace_at_;

    void fail(const char* why, std::uint64_t byte, const char* operand) {
        if (!wrong) wrong = {why, byte, operand};
    }

    void aligned(std::uint64_t address, std::uint64_t to, const char* name) {
        if (address % to != 0) fail("is misaligned", address, name);
    }

    value read_at(const region& r, const char* name, bool by_element = false) {
        reads.push_back({r, name, by_element});
        return read(there_, writes_, r);
    }

    value vector(const float* p, std::int64_t k, std::uint64_t alignment, const char* name) {
        aligned(address_of(p), alignment, name);
        return read_at(rows_at(p, k, 1, 0), name);
    }
    value number(const float* p, std::int64_t elements, const char* name) {
        return of_all(vector(p, 1, 4, name), elements);
    }

    void write(const region& r, const value& v, const char* name) {
        results.push_back({r, v, name});
    }

    void quantize(const void* to, format layout, const value& v, std::int64_t k, std::int64_t rows,
                  std::int32_t stream) {
        if (to == nullptr) return;
        aligned(address_of(to), 16, "a quantized result");
        slot_content c;
        c.begin = address_of(to) - workspace_at_;
        c.end = c.begin + static_cast<std::uint64_t>(rows * activation_row_bytes(layout, k));
        c.what = v;
        c.layout = layout;
        c.k = k;
        c.rows = rows;
        c.stream = stream;
        quantized.push_back(c);
    }

    /// The activation at an address of the workspace, as rows of k.
    value activation(const void* x, format layout, std::int64_t k, std::int64_t rows) {
        const char* const name = "the activation";
        aligned(address_of(x), 16, name);
        const std::uint64_t at = address_of(x) - workspace_at_;
        for (const slot_content& c : workspace_) {
            if (c.begin != at) continue;
            // Row after row: rows that need no padding lie as one long row does.
            const bool in_rows = layout == format::q8_1 || layout == format::fp8_group;
            const auto whole = [layout](std::int64_t n) {
                return stored_elements(layout, n) == n && n % info(layout).block_elements == 0;
            };
            const bool cut = c.k == k || (in_rows && whole(c.k) && whole(k));
            if (c.layout != layout || !cut || c.rows * c.k != rows * k)
                fail("lies in the workspace otherwise than it is read", at, name);
            activations.push_back(c);
            return c.what;
        }
        fail("is not, or no longer, in the workspace", at, name);
        return {};
    }

    // The row skeleton.

    struct rows_of {
        std::int64_t k, n1, n2, n3;
        std::int64_t all() const { return n1 * n2 * n3; }
    };

    region lies(const rows_of& n, const float* p, const row_strides& at) const {
        return rows_at(p, n.k, n.n1, at.nb1, n.n2, at.nb2, n.n3, at.nb3);
    }

    void aligned_rows(const rows_of& n, const float* p, const row_strides& at, bool vector,
                      const char* name) {
        const std::uint64_t to = vector ? 16 : 4;
        aligned(address_of(p), to, name);
        if (n.n1 > 1) aligned(static_cast<std::uint64_t>(at.nb1), to, name);
        if (n.n2 > 1) aligned(static_cast<std::uint64_t>(at.nb2), to, name);
        if (n.n3 > 1) aligned(static_cast<std::uint64_t>(at.nb3), to, name);
    }

    /// A dimension without a stride repeats its one row.
    value row_operand_at(const rows_of& n, const float* p, const row_strides& at, bool vector,
                         const char* name) {
        aligned_rows(n, p, at, vector, name);
        spreading over;
        over.add(n.k, false);
        rows_of own = n;
        over.add(n.n1, at.nb1 == 0), own.n1 = at.nb1 == 0 ? 1 : n.n1;
        over.add(n.n2, at.nb2 == 0), own.n2 = at.nb2 == 0 ? 1 : n.n2;
        over.add(n.n3, at.nb3 == 0), own.n3 = at.nb3 == 0 ? 1 : n.n3;
        const bool repeated = own.n1 != n.n1 || own.n2 != n.n2 || own.n3 != n.n3;
        return over.of(read_at(lies(own, p, at), name, !repeated));
    }

    value experts(const row_args& a, const rows_of& n, bool vector) {
        const expert_results& e = a.experts;
        const std::int64_t tokens = a.rows;
        aligned(address_of(e.results), vector ? 16 : 4, "what experts made");
        if (e.slots > 1) aligned(static_cast<std::uint64_t>(e.nb1), vector ? 16 : 4, "its slots");
        value all =
            read_at(rows_at(e.results, n.k, e.slots, e.nb1, tokens, e.nb2), "what experts made");
        if (e.weights != nullptr) {
            const value w =
                read_at(rows_at(e.weights, 1, e.slots, e.weights_nb1, tokens, e.weights_nb2),
                        "their weights");
            spreading over;
            over.add(n.k, true);
            over.add(e.slots * tokens, false);
            all = times(all, over.of(w));
        }
        value sum = slot_of(all, n.k, e.slots, tokens, 0);
        for (std::int64_t s = 1; s < e.slots; ++s)
            sum = plus(sum, slot_of(all, n.k, e.slots, tokens, s));
        if (a.x == nullptr) return sum;
        value shared = row_operand_at(n, a.x, a.x_at, vector, "a shared expert's result");
        if (e.gate != nullptr) {
            const value g = function_of(
                gate_function::sigmoid,
                read_at(rows_at(e.gate, 1, tokens, e.gate_nb), "a shared expert's gate"));
            spreading over;
            over.add(n.k, true);
            over.add(tokens, false);
            shared = times(shared, over.of(g));
        }
        return plus(sum, shared);
    }

    void run_row(const step& s, const row& r, const row_args& a) {
        const computation& c = r.computes;
        const bool vector = r.numbers.vector;
        const std::int64_t outer = std::int64_t{a.n1} * a.n2;
        const rows_of n{a.k, a.n1, a.n2, outer > 0 ? quotient(std::int64_t{a.rows}, outer) : 0};
        if (n.all() != a.rows || a.rows <= 0) fail("are not n1 * n2 * n3", 0, "its rows");
        const std::int64_t values = n.k * a.rows;
        const std::uint64_t wide = vector ? 16 : 4;
        value v;
        if (c.value == value_kind::glu) {
            const value g = row_operand_at(n, a.gate, a.gate_at, vector, "the gate");
            v = a.x == nullptr ? function_of(a.function, g)
                               : gated(a.function, g, row_operand_at(n, a.x, a.x_at, vector, "x"),
                                       a.alpha, a.limit);
        } else {
            v = c.experts && a.experts.results != nullptr
                    ? experts(a, n, vector)
                    : row_operand_at(n, a.x, a.x_at, vector, "x");
            if (c.residual && a.residual != nullptr)
                v = plus(times(v, a.x_scale),
                         row_operand_at(n, a.residual, a.residual_at, vector, "the residual"));
        }
        const auto store_sum = [&] {
            if (a.sum == nullptr || !(c.residual || c.join)) return;
            aligned_rows(n, a.sum, a.sum_at, vector, "the sum");
            write(lies(n, a.sum, a.sum_at), v, "the sum");
        };
        if (!c.join) store_sum();
        if (c.value == value_kind::rms_norm || c.value == value_kind::layer_norm) {
            const term kind = c.value == value_kind::rms_norm ? term::rms_norm : term::layer_norm;
            v = times(normed(kind, v, a.eps, n.k), a.norm_scale);
        }
        const auto weight = [&](const float* p, const char* name) {
            const value w = of_rows(this->vector(p, n.k, wide, name), n.k, a.rows);
            if (a.weight_early) early.push_back({rows_at(p, n.k, 1, 0), name, false});
            return w;
        };
        if (c.scale && a.weight != nullptr) v = times(v, weight(a.weight, "the norm's weight"));
        if (c.bias && a.bias != nullptr)
            v = plus(v, of_rows(this->vector(a.bias, n.k, wide, "the norm's bias"), n.k, a.rows));
        if (c.join && a.residual != nullptr) {
            v = plus(v, row_operand_at(n, a.residual, a.residual_at, vector, "the residual"));
            if (a.sum_factor != nullptr)
                v = times(v, number(a.sum_factor, values, "the sum's factor"));
        }
        if (c.gate && a.gate != nullptr && c.value != value_kind::glu)
            v = gated(a.function, row_operand_at(n, a.gate, a.gate_at, vector, "the gate"), v,
                      a.alpha, a.limit);
        if (c.join) store_sum();
        if (c.again && a.next_weight != nullptr)
            v = times(normed(term::rms_norm, v, a.next_eps, n.k),
                      weight(a.next_weight, "the second norm's weight"));
        if (a.f32 != nullptr && c.emits.has(format::f32)) {
            aligned_rows(n, a.f32, a.f32_at, vector, "the result");
            write(lies(n, a.f32, a.f32_at), v, "the result");
        }
        if (a.one_plus_weight || a.f16 != nullptr || a.bf16 != nullptr)
            fail("is nothing that an engine's node computes", 0, "its result");
        store_quantized(c.emits, a, v, values, a.quant_k, s);
        if (a.fp8_group.data != nullptr) {
            if (!c.emits.has(format::fp8_group)) fail("is not written by its row", 0, "fp8_group");
            if (address_of(a.fp8_group.scales) !=
                address_of(a.fp8_group.data) + static_cast<std::uint64_t>(values))
                fail("are not behind the values", address_of(a.fp8_group.scales), "fp8 scales");
            quantize(a.fp8_group.data, format::fp8_group, v, n.k, a.rows, stream_);
        }
        const std::int64_t in_block = rows_of_block(r.numbers);
        if (s.config.blocks != static_cast<std::uint32_t>((a.rows + in_block - 1) / in_block))
            fail("do not have all rows", s.config.blocks, "its blocks");
    }

    /// What both skeletons write into the workspace, each in its own pointer.
    template <class Args>
    void store_quantized(format_set writes, const Args& a, const value& v, std::int64_t values,
                         std::int64_t k, const step&) {
        const auto store = [&](const void* to, format layout) {
            if (to == nullptr) return;
            if (!writes.has(layout)) fail("is not written by its row", 0, name(layout));
            if (k > 0) quantize(to, layout, v, k, quotient(values, k), stream_);
        };
        store(a.q8_1, format::q8_1);
        store(a.q8_1_mmq_d4, format::q8_1_mmq_d4);
        store(a.q8_1_mmq_ds4, format::q8_1_mmq_ds4);
        store(a.bf16_mma, format::bf16_mma);
        store(a.f16_mma, format::f16_mma);
    }

    // Groups: both skeletons of matmuls.

    static const matvec_args* matvec_of(const matvec_args& a) { return &a; }
    static const matvec_args* matvec_of(const matmul_args&) { return nullptr; }
    static std::int64_t x_rows_of(const matvec_args& a, std::int64_t tokens) {
        return a.ids != nullptr ? tokens * a.x_slots : a.columns;
    }
    static std::int64_t x_rows_of(const matmul_args& a, std::int64_t) { return a.x_rows; }

    template <class Args>
    void run_group(const step& s, const row& r, const Args& a) {
        const computation& c = r.computes;
        const matvec_args* const few = matvec_of(a);
        const bool sums = few != nullptr && few->combined;
        const std::int64_t tokens = a.ids == nullptr ? 1
                                    : sums           ? a.columns
                                                     : quotient(a.columns, a.slots);
        const std::int64_t rows = x_rows_of(a, tokens);
        value ids;
        if (a.ids != nullptr) {
            aligned(address_of(a.ids), 4, "the ids");
            if (tokens > 1) aligned(static_cast<std::uint64_t>(a.ids_nb1), 4, "the ids");
            const region r4 = rows_at(a.ids, a.slots, tokens, a.ids_nb1);
            ids = read_at(r4, "the ids");
        }
        const value x = few != nullptr ? x_of_matvec(s, c, *few, rows) : x_of(c, a, rows);
        if (a.members < 1 || a.members > max_members)
            return fail("are none or too many", 0, "its matrices");
        for (std::int32_t i = 0; i < a.members && !wrong; ++i)
            run_member(s, r, a, a.member[i], x, ids, tokens, sums);
        if (!wrong) check_bands(s, r, a);
    }

    template <class Args>
    value x_of(const computation& c, const Args& a, std::int64_t rows) {
        if (c.activation != format::f32) return activation(a.x, c.activation, a.k, rows);
        return f32_rows(a, rows);
    }
    template <class Args>
    value f32_rows(const Args& a, std::int64_t rows) {
        aligned(address_of(a.x), 16, "the activation");
        if (rows > 1) aligned(static_cast<std::uint64_t>(a.x_bytes), 16, "the activation");
        return read_at(rows_at(a.x, a.k, rows, a.x_bytes), "the activation");
    }
    value x_of_matvec(const step&, const computation& c, const matvec_args& a, std::int64_t rows) {
        if (!is_norm(c.value)) return x_of(c, a, rows);
        value v = f32_rows(a, rows);
        if (a.norm_weight == nullptr) return v;  // the row quantizes it as it is
        v = times(normed(term::rms_norm, v, a.eps, a.k),
                  of_rows(vector(a.norm_weight, a.k, 16, "the norm's weight"), a.k, rows));
        if (a.norm_f32 != nullptr) write(rows_at(a.norm_f32, a.k, rows, 4 * a.k), v, "the norm");
        if (a.norm_q8_1 != nullptr) quantize(a.norm_q8_1, format::q8_1, v, a.k, rows, stream_);
        const bool wanted = a.norm_f32 != nullptr || a.norm_q8_1 != nullptr;
        if (wanted && c.emits.empty()) fail("is not written by its row", 0, "the norm");
        return v;
    }

    static const void* x_pointer(const matvec_member& m) { return m.weight; }

    template <class Args>
    void run_member(const step& s, const row& r, const Args& a, const matvec_member& m,
                    const value& x, const value& ids, std::int64_t tokens, bool sums) {
        const computation& c = r.computes;
        const bool picked = a.ids != nullptr && m.experts > 0;
        const bool beside = a.ids != nullptr && !picked;
        if (beside && (tokens != 1 || a.x_slots != 1))
            fail("stands beside experts of several tokens", 0, "a dense matrix");
        if (!c.weights.has(m.type))
            fail("is of a format that its row does not have", 0, "a matrix");
        const std::int64_t columns = picked   ? std::int64_t{a.slots} * tokens
                                     : beside ? 1
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
            aligned(at, r.numbers.copy == copy_method::plain ? 2 : 16, "a weight");
            early.push_back({bytes_at(at, std::uint64_t(m.weight_bytes)), "a weight", false});
            p.weight = at;
            if (scales != nullptr) {
                p.scale_rows = m.scale_rows;
                p.scale_values = m.scale_values;
                p.scale_stride = m.scale_stride;
                p.scales_of_matrix = m.scales;
                aligned(address_of(scales), 4, "a weight's scales");
                p.scales = read_at(p.scales_at(scales), "a weight's scales").hash;
            }
            return single(p.hash());
        };
        const auto uses = [&](epilogue_part part) {
            if (!c.epilogue.has(part)) fail("is nothing that its row can do", 0, "an epilogue");
        };
        value v = times(product(m.weight, m.weight_scale), m.scale), up;
        if (m.scale != 1) uses(epilogue_part::scale);
        const bool pair = m.up != nullptr;
        if (pair) up = product(m.up, m.up_scale), uses(epilogue_part::glu);
        if (m.factor != nullptr) {
            uses(epilogue_part::factor);
            v = times(v, number(m.factor, m.rows * columns, "a factor"));
            if (pair && m.up_factor != nullptr)
                up = times(up, number(m.up_factor, m.rows * columns, "a factor"));
        }
        const auto bias = [&](const float* b) {
            uses(epilogue_part::bias);
            aligned(address_of(b), 4, "a bias");
            if (!picked || m.bias_nb1 == 0)
                return of_rows(vector(b, m.rows, 4, "a bias"), m.rows, columns);
            aligned(static_cast<std::uint64_t>(m.bias_nb1), 4, "a bias");
            const value all = read_at(rows_at(b, m.rows, m.experts, m.bias_nb1), "a bias");
            return single(hash_of(term::picked, all.hash, ids.hash));
        };
        if (m.bias != nullptr) v = plus(v, bias(m.bias));
        if (pair && m.up_bias != nullptr) up = plus(up, bias(m.up_bias));
        if (pair) {
            v = gated(m.function, v, up, m.alpha, m.limit);
        } else if (m.function != gate_function::none) {
            uses(epilogue_part::act);
            v = function_of(m.function, v);
        }
        std::int64_t n2 = picked ? tokens : 1, n1 = picked ? a.slots : columns;
        if (sums) {
            uses(epilogue_part::combine);
            v = sum_of_slots(a, v, m.rows, tokens);
            n1 = 1;
        }
        const auto lies = [&](const float* p, std::int64_t nb1, std::int64_t nb2,
                              const char* name) {
            aligned(address_of(p), 4, name);
            if (n1 > 1) aligned(static_cast<std::uint64_t>(nb1), 4, name);
            if (n2 > 1) aligned(static_cast<std::uint64_t>(nb2), 4, name);
            return rows_at(p, m.rows, n1, nb1, n2, nb2);
        };
        if (m.residual != nullptr) {
            uses(epilogue_part::residual);
            const region where = lies(m.residual, m.residual_nb1, m.residual_nb2, "a residual");
            v = plus(v, read_at(where, "a residual", true));
        }
        if (m.dst != nullptr) write(lies(m.dst, m.dst_nb1, m.dst_nb2, "a result"), v, "a result");
        const std::int64_t results = sums ? tokens : columns;
        const bool few = r.computes.kind == skeleton::matvec;
        const format_set writes = !c.epilogue.has(epilogue_part::quantize) ? format_set{}
                                  : few
                                      ? format_set::of(format::q8_1)
                                      : format_set::of(format::q8_1_mmq_d4) | format::q8_1_mmq_ds4 |
                                            format::bf16_mma | format::f16_mma;
        store_quantized(writes, m, v, m.rows * results, m.rows, s);
    }

    static region bytes_at(std::uint64_t at, std::uint64_t bytes) {
        region out(at, 1);
        out.add(static_cast<std::int64_t>(bytes), 1);
        return out;
    }

    value sum_of_slots(const matmul_args&, const value& v, std::int64_t, std::int64_t) { return v; }
    value sum_of_slots(const matvec_args& a, value v, std::int64_t rows, std::int64_t tokens) {
        if (a.slot_weights != nullptr) {
            aligned(address_of(a.slot_weights), 4, "the slots' weights");
            const value w =
                read_at(rows_at(a.slot_weights, a.slots * tokens, 1, 0), "the slots' weights");
            spreading over;
            over.add(rows, true);
            over.add(a.slots * tokens, false);
            v = times(v, over.of(w));
        }
        value sum = slot_of(v, rows, a.slots, tokens, 0);
        for (std::int64_t i = 1; i < a.slots; ++i)
            sum = plus(sum, slot_of(v, rows, a.slots, tokens, i));
        return sum;
    }

    /// Bands follow each other, and the launch has a block for each.
    void check_bands(const step& s, const row& r, const matvec_args& a) {
        std::int64_t first = 0, blocks = 0, by_ids = 0;
        const std::int64_t times = !a.combined ? a.columns : quotient(a.columns, 1);
        for (std::int32_t i = 0; i < a.members; ++i) {
            const matvec_member& m = a.member[i];
            const std::int64_t own = band_results(a, m);
            if (m.first_band != first || own <= 0)
                return fail("do not follow each other", static_cast<std::uint64_t>(m.first_band),
                            "bands");
            const std::int64_t bands = (m.rows + own - 1) / own;
            first += bands;
            const bool picked = a.ids != nullptr && m.experts > 0;
            if (a.ids == nullptr || picked) by_ids += bands;
            blocks += bands * (picked ? times : 1);
        }
        const bool writes_norm = a.norm_f32 != nullptr || a.norm_q8_1 != nullptr;
        const std::int64_t all = blocks * s.config.cluster + (writes_norm ? 1 : 0);
        if (by_ids != a.bands || all != s.config.blocks)
            fail("do not have all bands", s.config.blocks, "its blocks");
        (void)r;
    }
    void check_bands(const step& s, const row& r, const matmul_args& a) {
        std::int64_t first = 0;
        for (std::int32_t i = 0; i < a.members; ++i) {
            const matvec_member& m = a.member[i];
            const std::int64_t own = tile_rows(r.numbers) / (m.up != nullptr ? 2 : 1);
            if (m.first_band != first || own <= 0)
                return fail("do not follow each other", static_cast<std::uint64_t>(m.first_band),
                            "tiles");
            first += (m.rows + own - 1) / own;
        }
        const std::int64_t wide = r.numbers.columns;
        const std::int64_t times = a.ids != nullptr ? a.experts : (a.columns + wide - 1) / wide;
        if (first != a.tiles || first * times * s.config.cluster != s.config.blocks)
            fail("do not have all tiles", s.config.blocks, "its blocks");
    }

    std::int32_t stream_ = 0;

  public:
    /// The engine's stream on which the next step runs.
    void on_stream(std::int32_t stream) { stream_ = stream; }
};

}  // namespace catena::proof
