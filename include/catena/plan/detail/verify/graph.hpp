// The engine's order, replayed: what every node that stays with the engine reads, and the value
// that every node which a step covers must have. Written from the meaning of ggml's ops alone.
#pragma once

#include "catena/match/own_ops.hpp"
#include "catena/plan/detail/verify/attention_values.hpp"
#include "catena/plan/detail/verify/convolution_values.hpp"
#include "catena/plan/detail/verify/delta_values.hpp"
#include "catena/plan/detail/verify/memory.hpp"
#include "catena/plan/detail/verify/overwrite.hpp"
#include "catena/plan/detail/verify/rope.hpp"
#include "catena/plan/detail/verify/routing_values.hpp"
#include "catena/plan/detail/verify/scan_values.hpp"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace CATENA_NAMESPACE::proof {

/// One number for `n` elements; a vector of `k` for each of `n` rows.
inline value of_all(const value& number, std::int64_t n) {
    spreading s;
    s.add(n, true);
    return s.of(number);
}
inline value of_rows(const value& vector, std::int64_t k, std::int64_t n) {
    spreading s;
    s.add(k, false);
    s.add(n, true);
    return s.of(vector);
}

/// One of several numbers for k elements each: `count` numbers.
inline value of_runs(const value& numbers, std::int64_t k, std::int64_t count) {
    spreading s;
    s.add(k, true);
    s.add(count, false);
    return s.of(numbers);
}

/// Part `slot` of a value of [k, slots, tokens] elements.
inline value slot_of(const value& all, std::int64_t k, std::int64_t slots, std::int64_t tokens,
                     std::int64_t slot) {
    const region whole = rows_at(nullptr, k, slots * tokens, 4 * k);
    const region one = rows_at(nullptr, k, tokens, 4 * k * slots);
    if (one.same_elements(whole)) return all;
    return part_of(all, whole, one, static_cast<std::uint64_t>(4 * k * slot));
}

/// The hash that stands for missing ids: part i of an activation reads matrix i.
inline constexpr std::uint64_t own_number = 1;

/// The rows of a weight times an activation. With experts each id picks a matrix.
struct multiplied {
    std::uint64_t weight = 0;  ///< address
    std::int64_t row_bytes = 0, k = 0, rows = 0, experts = 0, expert_bytes = 0;
    std::int64_t scale_rows = 0, scale_values = 0, scale_stride = 0, scales_of_matrix = 0;
    std::uint64_t scales = 0;  ///< the value of fp8's scales; 0: there are none
    std::uint64_t x = 0;       ///< the activation's value
    std::int64_t x_slots = 0;
    std::uint64_t ids = 0;  ///< the ids' value, or own_number; 0: it has one matrix
    format type = format::unknown;

    std::uint64_t hash() const {
        std::uint64_t h = hash_of(term::matmul, weight, row_bytes, k, rows, type, x);
        if (ids != 0) h = mixed(h, hash_of(term::picked, experts, expert_bytes, x_slots, ids));
        if (scales != 0)
            h = mixed(h, hash_of(term::product, scales, scale_rows, scale_values, scale_stride,
                                 scales_of_matrix));
        return h;
    }

    /// Where the scales at an address lie.
    region scales_at(const float* p) const {
        const std::int64_t groups = (rows + scale_rows - 1) / scale_rows;
        const std::int64_t across = (k + scale_values - 1) / scale_values;
        return rows_at(p, (groups - 1) * scale_stride + across, experts > 0 ? experts : 1,
                       4 * scales_of_matrix);
    }
};

class engine_order {
  public:
    /// `ops`: of the engine's own. `covered(i)`: does a step do what node i does?
    template <class Covered>
    engine_order(const graph_view& view, const std::vector<region>& regions,
                 const std::unordered_set<std::uint64_t>& bounds, const weight_bytes& weights,
                 const own_ops* ops, Covered&& covered)
        : left(bounds),
          view_(view),
          regions_(regions),
          weights_(weights),
          ops_(ops),
          search_(view, regions) {
        const auto n = at(view.node_count);
        writes.resize(2 * n + 1);
        first_seen.assign(n + 1, 0);
        seen.reserve(2 * n);
        for (std::int32_t i = 0; i < view.node_count; ++i) {
            if (acts(i)) {
                search_.look_at(i, left, writes);
                const bool by_step = covered(i);
                writes[result(i)].what = by_step || moves(i) ? value_of(i) : opaque(i);
                writes[result(i)].where = regions_[at(view_.nodes[i])];
                writes[scratch(i)].what = single(hash_of(term::scratch, i));
                if (!by_step) each_read(i, [&](std::int32_t t) { seen.push_back(found(left, t)); });
                store(left, i);
            }
            first_seen[at(i) + 1] = static_cast<std::int32_t>(seen.size());
        }
    }

    /// Writes: 0 is memory as it was; then a result for each node, then scratch for each.
    std::vector<written> writes;
    std::vector<std::uint64_t> seen;       ///< what each source of an engine's node found
    std::vector<std::int32_t> first_seen;  ///< index into seen for each node, and the end

    bool acts(std::int32_t i) const {
        const tensor& t = view_.node(i);
        return !launches_nothing(t.kind) && elements(t) != 0;
    }
    static std::size_t result(std::int32_t node) { return at(node) + 1; }
    std::size_t scratch(std::int32_t node) const { return at(view_.node_count) + at(node) + 1; }
    const value& made(std::int32_t node) const { return writes[result(node)].what; }

    /// f(tensor) for what a node of the engine reads. What it writes a part of counts too.
    template <class F>
    void each_read(std::int32_t i, F&& f) const {
        const tensor& t = view_.node(i);
        for (int s = 0, slots = source_slots(t); s < slots; ++s)
            if (t.src[s] != no_tensor && !is_own_destination(t, view_.nodes[i], t.src[s]) &&
                !is_leaf(t.src[s]))
                f(t.src[s]);
        if (t.view_src != no_tensor && t.kind != op::cpy) f(view_.nodes[i]);
    }

    /// A number that says what a tensor's bytes are: equal numbers, equal bytes.
    std::uint64_t found(const memory& m, std::int32_t t) const {
        const region& r = regions_[at(t)];
        if (r.empty()) return 0;
        int runs = 0;
        std::uint64_t all = hash_of(term::pieces), only = 0;
        m.each_run(r, [&](std::uint64_t begin, std::uint64_t end, memory::write by) {
            only = static_cast<std::uint64_t>(by);
            all = mixed(mixed(mixed(all, only), begin), end);
            ++runs;
        });
        return runs == 1 ? only : all | std::uint64_t{1} << 63;
    }

    /// Writes what the engine's node leaves in memory: its result, and scratch in the bytes that
    /// were set aside behind the result.
    void store(memory& m, std::int32_t i) const {
        const region& own = regions_[at(view_.nodes[i])];
        m.store(scratch_behind(own, view_.node(i)), static_cast<memory::write>(scratch(i)));
        m.store(own, static_cast<memory::write>(result(i)));
    }
    static region scratch_behind(const region& own, const tensor& t) {
        region out = own;
        out.end = std::max(own.end, own.begin + static_cast<std::uint64_t>(t.allocated));
        return out;
    }

    /// Is it a leaf of weights?
    bool is_leaf(std::int32_t t) const {
        return view_.at(t).weight && view_.at(t).kind == op::none;
    }

    /// A value that the graph overwrites although it still reads it, if there is one.
    const overwrite& overwritten() const { return search_.first(); }

    /// A node that wrote into a tensor, if one did.
    overwrite written_into(std::int32_t t) const {
        overwrite out;
        const region& r = regions_[at(t)];
        if (r.empty()) return out;
        left.each_run(r, [&](std::uint64_t begin, std::uint64_t end, memory::write by) {
            if (by != 0 && !out.found() && search_.changes(by, writes, r))
                out = {search_.writer(by), -1, t, begin, end};
        });
        return out;
    }

    memory left;  ///< memory after the nodes in the engine's order

  private:
    const graph_view& view_;
    const std::vector<region>& regions_;
    const weight_bytes& weights_;
    const own_ops* ops_;
    overwrite_search search_;

    value source(std::int32_t i, int slot) const { return of_tensor(view_.node(i).src[slot]); }
    value of_tensor(std::int32_t t) const { return read(left, writes, regions_[at(t)]); }

    /// Does it only move numbers? Then its value is told by theirs, whoever runs it.
    bool moves(std::int32_t i) const {
        return view_.node(i).kind == op::get_rows || view_.node(i).kind == op::repeat;
    }

    static value opaque(std::int32_t i) { return single(hash_of(term::made, i)); }

    /// Does it lie in a leaf of weights, each row without gaps?
    bool rows_of_weights(std::int32_t t) const {
        return view_.at(t).nb[0] == info(view_.at(t).type).block_bytes &&
               weights_.hold(regions_[at(t)]);
    }
    bool fills(std::int32_t t) const { return t != no_tensor && view_.at(t).kind == op::fill; }
    bool floats(std::int32_t t) const { return t != no_tensor && view_.at(t).type == format::f32; }
    bool same(std::int32_t t, const tensor& o) const {
        return floats(t) && same_shape(view_.at(t), o);
    }

    /// The value of a node that a step covers.
    value value_of(std::int32_t i) {
        const tensor& t = view_.node(i);
        if (t.src[0] == no_tensor) return opaque(i);
        const auto from = [&](int slot) { return source(i, slot); };
        const auto routed = [&] { return routing_value(view_, t, opaque(i), from); };
        const auto own_or_routed = [&] {
            const value v = own(i, t);
            return v == opaque(i) ? routed() : v;
        };
        if (t.kind == op::argsort) return routed();
        if (t.kind == op::set_rows) return fills(t.src[2]) ? routed() : stored_rows(i, t);
        if (t.type != format::f32) return opaque(i);
        switch (t.kind) {
            case op::soft_max:
            case op::sum_rows:
            case op::get_rows:
                return routed();
            case op::clamp:
            case op::sqrt:
                return own_or_routed();
            case op::rope:
                return turned_heads(i, t);
            case op::add:
            case op::mul:
            case op::div:
                return elementwise(i, t);
            case op::scale:
                if (!same(t.src[0], t) || (t.params[1] << 1) != 0) return opaque(i);
                return times(source(i, 0), float_of(t.params[0]));
            case op::rms_norm:
            case op::norm:
                if (!same(t.src[0], t)) return opaque(i);
                return normed(t.kind == op::norm ? term::layer_norm : term::rms_norm, source(i, 0),
                              float_of(t.params[0]), t.ne[0]);
            case op::sqr:
                return same(t.src[0], t) ? times(source(i, 0), source(i, 0)) : opaque(i);
            case op::unary:
                if (!formula_of(t.sub).known()) return own_or_routed();
                if (!same(t.src[0], t)) return opaque(i);
                return function_of(formula_of(t.sub), source(i, 0));
            case op::repeat:
                return repeated(i, t);
            case op::cont:
                return floats(t.src[0]) ? source(i, 0) : opaque(i);
            case op::cpy:
                return floats(t.src[0]) && elements(view_.at(t.src[0])) == elements(t)
                           ? source(i, 0)
                           : opaque(i);
            case op::concat:
            case op::ssm_conv:
                return convolution_value(view_, t, opaque(i), from);
            case op::gated_delta_net:
                return recalled_value(view_, t, opaque(i), from);
            case op::ssm_scan:
                return scanned_value(view_, t, opaque(i), from);
            case op::flash_attn_ext:
                return attended_value(view_, t, opaque(i),
                                      [&](const region& r) { return read(left, writes, r); });
            case op::glu:
                return glu(i, t);
            case op::add_id:
                return add_id(i, t);
            case op::mul_mat:
            case op::mul_mat_id:
                return matmul(i, t);
            default:
                return own(i, t);
        }
    }

    value own(std::int32_t i, const tensor& t) const {
        const bool asked =
            t.kind == op::unary || t.kind == op::clamp || t.kind == op::sqrt || t.kind == op::other;
        const bool one = ops_ != nullptr && asked && same(t.src[0], t) && !has_more_sources(t, 1);
        const own_call call = one ? ops_->of(t) : own_call{};
        if (call.function == gate_function::none) return opaque(i);
        return function_of(call.function, source(i, 0), call.with);
    }

    static float float_of(std::int32_t word) {
        float f = 0;
        std::memcpy(&f, &word, sizeof f);
        return f;
    }

    value elementwise(std::int32_t i, const tensor& t) const {
        if (!same(t.src[0], t) || !floats(t.src[1])) return opaque(i);
        const tensor& b = view_.at(t.src[1]);
        region repeated(address_of(b.data), 4);
        for (int d = 0; d < 4; ++d) {
            if (b.ne[d] != t.ne[d] && b.ne[d] != 1) return opaque(i);
            repeated.add(t.ne[d], b.ne[d] == t.ne[d] ? b.nb[d] : 0);
        }
        const value first = source(i, 0), second = read(left, writes, repeated);
        return t.kind == op::add   ? plus(first, second)
               : t.kind == op::div ? divided(first, second)
                                   : times(first, second);
    }

    /// Heads [k, count, tokens] of one batch.
    value turned_heads(std::int32_t i, const tensor& t) const {
        if (!same(t.src[0], t) || t.src[1] == no_tensor || t.ne[3] != 1) return opaque(i);
        const rope_numbers n = numbers_of_rope(t.params);
        const tensor& p = view_.at(t.src[1]);
        const bool placed = p.type == format::i32 && elements(p) == t.ne[2] * n.positions();
        if (n.pairs == pairing::none || !placed) return opaque(i);
        if (t.src[2] != no_tensor && !floats(t.src[2])) return opaque(i);
        const std::uint64_t factors =
            t.src[2] == no_tensor
                ? 0
                : read(left, writes, rows_at(view_.at(t.src[2]).data, n.dims / 2, 1, 0)).hash;
        return turned(source(i, 0), rotation_of(n), t.ne[0], t.ne[1], source(i, 1).hash, factors);
    }

    /// Rows [n, tokens], one for each id, in the memory that the node names.
    value stored_rows(std::int32_t i, const tensor& t) const {
        if (!floats(t.src[0]) || t.src[1] == no_tensor || t.view_src == no_tensor) return opaque(i);
        const tensor& rows = view_.at(t.src[0]);
        const tensor& ids = view_.at(t.src[1]);
        const bool numbered = (ids.type == format::i64 || ids.type == format::i32) &&
                              contiguous(ids) && elements(ids) == rows.ne[1];
        const bool fits = rows.ne[0] == t.ne[0] && rows.ne[2] == 1 && rows.ne[3] == 1 &&
                          t.ne[2] == 1 && t.ne[3] == 1;
        if (!numbered || !fits) return opaque(i);
        return stored(of_tensor(view_.nodes[i]), source(i, 0), t.type, source(i, 1).hash,
                      ids.type == format::i64);
    }

    /// [1, n] again and again: [1, n, times].
    value repeated(std::int32_t i, const tensor& t) const {
        if (!floats(t.src[0])) return opaque(i);
        const tensor& s = view_.at(t.src[0]);
        spreading of;
        for (int d = 0; d < 4; ++d) {
            if (s.ne[d] != t.ne[d] && s.ne[d] != 1) return opaque(i);  // more than one element
            of.add(t.ne[d], s.ne[d] != t.ne[d]);
        }
        return of.of(source(i, 0));
    }

    value glu(std::int32_t i, const tensor& t) {
        const gate_formula f = formula_of(t.sub);
        if (!f.known() || !floats(t.src[0])) return opaque(i);
        value gate, x;
        if (t.src[1] != no_tensor) {
            if (!same(t.src[0], t) || !same(t.src[1], t)) return opaque(i);
            gate = source(i, 0), x = source(i, 1);
        } else {
            const tensor& both = view_.at(t.src[0]);
            if (both.ne[0] != 2 * t.ne[0]) return opaque(i);
            const auto half = [&](bool second) {
                const auto* first = static_cast<const std::byte*>(both.data);
                return read(left, writes,
                            rows_at(first + (second ? t.ne[0] * 4 : 0), t.ne[0], both.ne[1],
                                    both.nb[1], both.ne[2], both.nb[2], both.ne[3], both.nb[3]));
            };
            const bool swapped = t.params[1] != 0;
            gate = half(swapped), x = half(!swapped);
        }
        return gated(f, gate, x, float_of(t.params[2]), float_of(t.params[3]));
    }

    value add_id(std::int32_t i, const tensor& t) const {
        if (!same(t.src[0], t) || !floats(t.src[1]) || t.src[2] == no_tensor) return opaque(i);
        const tensor& b = view_.at(t.src[1]);
        const value bias = source(i, 1);
        if (b.ne[1] == 1) return plus(source(i, 0), of_rows(bias, t.ne[0], t.ne[1] * t.ne[2]));
        return plus(source(i, 0), single(hash_of(term::picked, bias.hash, source(i, 2).hash)));
    }

    value matmul(std::int32_t i, const tensor& t) {
        const bool picked = t.kind == op::mul_mat_id;
        const tensor& w = view_.at(t.src[0]);
        if (!floats(t.src[1]) || !rows_of_weights(t.src[0]) || w.ne[3] != 1 ||
            (picked && t.src[2] == no_tensor))
            return opaque(i);
        const tensor& x = view_.at(t.src[1]);
        const bool own = !picked && w.ne[2] != 1;  // matrices, each for a part of x
        if (own && x.ne[2] != w.ne[2]) return opaque(i);
        multiplied m;
        m.type = w.type;
        m.weight = address_of(w.data);
        m.row_bytes = static_cast<std::int64_t>(w.nb[1]);
        m.k = w.ne[0];
        m.rows = w.ne[1];
        m.x = source(i, 1).hash;
        if (picked || own) {
            m.experts = w.ne[2];
            m.expert_bytes = static_cast<std::int64_t>(w.nb[2]);
            m.x_slots = x.ne[1];
            m.ids = picked ? source(i, 2).hash : own_number;
        }
        const std::int32_t scales = w.type == format::fp8_e4m3 ? t.src[picked ? 3 : 2] : no_tensor;
        if (scales != no_tensor) {
            const tensor& s = view_.at(scales);
            if (!floats(scales)) return opaque(i);
            m.scales_of_matrix = s.ne[0] * s.ne[1];
            const bool one = s.ne[0] == 1 && s.ne[1] == 1,
                       by_row = !one && s.ne[0] == 1 && s.ne[1] == m.rows;
            m.scale_rows = one ? m.rows : by_row ? 1 : 128;
            m.scale_values = one || by_row ? m.k : 128;
            m.scale_stride = one ? 0 : s.ne[0];
        }
        const auto* const first =
            scales == no_tensor ? nullptr : static_cast<const float*>(view_.at(scales).data);
        const auto scaled = [&](multiplied part, std::int64_t row) {
            if (first != nullptr)
                part.scales =
                    read(left, writes,
                         part.scales_at(first + row / part.scale_rows * part.scale_stride))
                        .hash;
            return part;
        };
        if (m.rows % 2 == 0 && contiguous(t)) {  // a GLU may take the halves
            multiplied half = m;
            half.rows /= 2;
            multiplied second = scaled(half, half.rows);
            second.weight += static_cast<std::uint64_t>(half.rows * half.row_bytes);
            written& out = writes[result(i)];
            out.half = half.rows;
            out.halves[0] = scaled(half, 0).hash(), out.halves[1] = second.hash();
        }
        return single(scaled(m, 0).hash());
    }
};

}  // namespace CATENA_NAMESPACE::proof
