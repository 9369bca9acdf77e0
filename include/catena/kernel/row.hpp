// The row skeleton. Makes a value of a row of x (x or what experts made, plus a residual; its norm;
// or x gated by another row), scales it by a weight, adds a bias, gates it, and writes it in any
// set of formats in one pass. Or it joins a weighted norm with a residual, and norms and scales
// that again. A row has a block to itself, or a warp of one. x is read once, into registers; with a
// policy that holds none it is read again for everything that wants to know the whole row first, so
// any k will do.
//
// Thread t owns elements 4 * (j * threads + t) .. + 3 for j = 0, 1, ...: 32 quantized values belong
// to 8 neighbouring threads, and the order of additions depends on the number of threads alone.
// Every element is read before the thread that read it writes it: an output may lie exactly over x,
// residual or gate.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/activation.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/gate.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/reduce.hpp"
#include "catena/kernel/row_memory.hpp"
#include "catena/kernel/scaled.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

/// One row's work; see row_body.
template <class X, policy P, computation C>
class row_work {
  public:
    CATENA_FN row_work(X& x, const row_args& a, int row, int thread, float* meeting)
        : x_(x),
          a_(a),
          place_(place_of(a, row)),
          row_(row),
          mine_(thread * quad),
          meeting_(meeting) {}

    CATENA_FN void run() {
        const bool early = roomy && a_.weight_early;
        quads v;
        factors f;
        if (early) load_weights(f);
        x_.grid_wait();
        if (C.join && a_.sum_factor != nullptr) sum_factor_ = x_.load(a_.sum_factor);
        if constexpr (kept) load(mine_, v);
        if constexpr (roomy) {
            if (!early) load_weights(f);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) load_others(mine_, j, f);
        }
        if constexpr (norm) measure(v);
        unsigned largest = 0;
        if constexpr (kept) {
            finish_and_store(mine_, v, f);
            if (normed_again()) {
                measure_again(v, f);
                norm_again(mine_, v, f);
            }
            if constexpr (scaled::by_token)
                if (scaled::wants_largest(a_)) largest = largest_of_row(magnitude(v));
        } else {
            if (normed_again()) measure_again(v, f);
            if constexpr (scaled::by_token)
                if (scaled::wants_largest(a_)) largest = largest_of_row(largest_of_passes(v, f));
        }
        const scaled apart(a_, row_, largest);
        const bool blocks = in_blocks::wanted(a_);
        const in_blocks in_rows(a_, row_);
        const int end = blocks ? in_rows.end() : a_.k;
        if constexpr (kept) {
            write(mine_, v);
            // The quads in turn, so that this long code is there once.
            CATENA_NO_UNROLL
            for (int first = 0; first < end; first += stride) {  // whole warps: shuffles
                write_quantized(first + mine_, v[0], blocks, in_rows, apart);
                CATENA_UNROLL
                for (int j = 1; j < held; ++j)
                    for (int i = 0; i < quad; ++i) v[j - 1][i] = v[j][i];
            }
        } else {
            CATENA_NO_UNROLL
            for (int first = 0; first < end; first += stride) {
                load(first + mine_, v);
                finish_and_store(first + mine_, v, f);
                if (normed_again()) norm_again(first + mine_, v, f);
                write(first + mine_, v);
                write_quantized(first + mine_, v[0], blocks, in_rows, apart);
            }
        }
        if constexpr (C.emits.has(format::int8_token))
            if (a_.int8_sums != nullptr) store_int8_sum(int8_sum_);
    }

    static constexpr int rows = rows_of_block(P);
    static constexpr int team = P.threads / rows;  ///< threads of a row

  private:
    static constexpr bool kept = P.values > 0;
    static constexpr int held = kept ? P.values / quad : 1;  // quads in registers
    static constexpr bool roomy = kept && P.values <= 8;     // for what comes after the norm too
    static constexpr int stride = team * quad;
    static constexpr bool norm = is_norm(C.value);
    using in_blocks = activation_rows<C.emits>;
    using scaled = scaled_row<C.emits>;
    using quads = real[held][quad];

    /// What a row's values are times and plus, after the norm.
    struct factors {
        quads weight, bias, gate, residual, next_weight;
    };

    X& x_;
    const row_args& a_;
    const row_place place_;
    const int row_;
    const int mine_;        // the first element that the thread owns
    float* const meeting_;  // where warps meet
    int meetings_ = 0;
    real mean_{0}, scale_{1}, sum_factor_{1}, next_scale_{1};
    int int8_sum_ = 0;  // of what the thread wrote as int8_token

    /// Past the row values are zeros, from loading to writing: quantized blocks reach there.
    CATENA_FN bool inside(int at, int j, int i) const { return at + j * stride + i < a_.k; }

    CATENA_FN void load_row(const float* row, int at, quads& to) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) load_quad<P.vector>(x_, row, at + j * stride, a_.k, to[j]);
    }
    CATENA_FN void load_weight(int at, int j, factors& f) const {
        if (C.scale && a_.weight != nullptr)
            load_quad<P.vector>(x_, a_.weight, at + j * stride, a_.k, f.weight[j]);
    }
    CATENA_FN void load_next_weight(int at, int j, factors& f) const {
        if (normed_again())
            load_quad<P.vector>(x_, a_.next_weight, at + j * stride, a_.k, f.next_weight[j]);
    }
    CATENA_FN void load_weights(factors& f) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            load_weight(mine_, j, f);
            load_next_weight(mine_, j, f);
        }
    }
    CATENA_FN void load_others(int at, int j, factors& f) const {
        if (C.bias && a_.bias != nullptr)
            load_quad<P.vector>(x_, a_.bias, at + j * stride, a_.k, f.bias[j]);
        if (C.gate && a_.gate != nullptr)
            load_quad<P.vector>(x_, row_at(a_.gate, a_.gate_at, place_), at + j * stride, a_.k,
                                f.gate[j]);
        if (C.join && a_.residual != nullptr)
            load_quad<P.vector>(x_, row_at(a_.residual, a_.residual_at, place_), at + j * stride,
                                a_.k, f.residual[j]);
    }

    /// x, joined by the residual or by its gate. All loads are in flight before the first addition.
    CATENA_FN void load(int at, quads& v) const {
        if constexpr (C.value == value_kind::glu) {
            quads g;
            load_row(row_at(a_.gate, a_.gate_at, place_), at, g);
            if (a_.x != nullptr) {
                load_row(row_at(a_.x, a_.x_at, place_), at, v);
            } else {
                CATENA_UNROLL
                for (int j = 0; j < held; ++j)
                    for (int i = 0; i < quad; ++i) v[j][i] = inside(at, j, i) ? real{1} : real{0};
            }
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) gate_by(g[j], v[j]);
        } else {
            if (C.experts && a_.experts.results != nullptr)
                combine(at, v);
            else
                load_row(row_at(a_.x, a_.x_at, place_), at, v);
            if (!C.residual || a_.residual == nullptr) return;
            quads other;
            load_row(row_at(a_.residual, a_.residual_at, place_), at, other);
            scale(real{a_.x_scale}, v);
            add(other, v);
        }
    }

    CATENA_FN static void add(const quads& other, quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] + other[j][i];
    }

    CATENA_FN static void scale(real by, quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] * by;
    }

    /// What the experts made, slot after slot with a few in flight together, and x.
    CATENA_FN void combine(int at, quads& v) const {
        constexpr int abreast = slots_abreast(P);
        const expert_results& e = a_.experts;
        const auto of_row = [this](const float* tensor, std::int64_t nb) {
            return row_at(tensor, {nb, 0, 0}, {place_.i1, 0, 0});
        };
        const float* const results = of_row(e.results, e.nb2);
        const float* const weights = of_row(e.weights, e.weights_nb2);
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = -real{0};  // any number plus that is itself
        CATENA_NO_UNROLL
        for (int first = 0; first < e.slots; first += abreast) {
            quads result[abreast];
            real weight[abreast];
            CATENA_UNROLL
            for (int s = 0; s < abreast; ++s) {
                const int slot = first + s < e.slots ? first + s : first;
                load_row(row_at(results, {e.nb1, 0, 0}, {slot, 0, 0}), at, result[s]);
                weight[s] = real{1};
                if (e.weights != nullptr)
                    weight[s] = real{x_.load(row_at(weights, {e.weights_nb1, 0, 0}, {slot, 0, 0}))};
            }
            CATENA_UNROLL
            for (int s = 0; s < abreast; ++s) {
                if (first + s >= e.slots) continue;
                scale(weight[s], result[s]);
                add(result[s], v);
            }
        }
        if (a_.x == nullptr) return;
        quads joins;
        load_row(row_at(a_.x, a_.x_at, place_), at, joins);
        if (e.gate != nullptr) {
            const real g{x_.load(of_row(e.gate, e.gate_nb))};
            scale(gated(gate_function::sigmoid, g, real{1}, real{0}, real{0}), joins);
        }
        add(joins, v);
    }

    CATENA_FN void gate_by(const real (&g)[quad], real (&v)[quad]) const {
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i)
            v[i] = gated_apart(a_.function, g[i], v[i], real{a_.alpha}, real{a_.limit});
    }

    template <class T, class Combine>
    CATENA_FN T over_row(T value, Combine combine) {
        float* meeting = meeting_;
        if constexpr (team > warp_size) meeting += meetings_++ * (team / warp_size);
        return over_threads<team>(x_, value, meeting, combine);
    }

    /// The sum of `term` of every element of the row, each thread's in sequence. What is not kept,
    /// `make` makes.
    template <class Make, class Term>
    CATENA_FN real sum_of_row(quads& v, Make make, Term term) {
        real sum{0};
        const auto add = [&](int at) {
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int i = 0; i < quad; ++i) sum = term(sum, v[j][i], inside(at, j, i));
        };
        if constexpr (kept) {
            add(mine_);
        } else {
            for (int at = mine_; at < a_.k; at += stride) {
                make(at);
                add(at);
            }
        }
        return over_row(sum, [](real a, real b) { return a + b; });
    }

    /// What the norm takes off its values and multiplies them with.
    CATENA_FN void measure(quads& v) {
        const auto joined = [&](int at) { load(at, v); };
        if constexpr (C.value == value_kind::layer_norm)
            mean_ = sum_of_row(v, joined, [](real sum, real e, bool) { return sum + e; }) /
                    from_int(a_.k);
        const real squares = sum_of_row(v, joined, [this](real sum, real e, bool in_row) {
            const real rest = centered(e, in_row);
            return fma(rest, rest, sum);
        });
        if constexpr (C.value == value_kind::l2_norm) {
            const real length = sqrt(squares);
            scale_ = real{1} / (less(length, real{a_.eps}) ? real{a_.eps} : length);
        } else {
            scale_ = over_root_of_mean(squares, a_.eps);
        }
        scale_ = scale_ * real{a_.norm_scale};
    }

    CATENA_FN real over_root_of_mean(real squares, float eps) const {
        return real{1} / sqrt(squares / from_int(a_.k) + real{eps});
    }

    CATENA_FN bool normed_again() const { return C.again && a_.next_weight != nullptr; }

    /// The same of the sum of a norm and the residual.
    CATENA_FN void measure_again(quads& v, factors& f) {
        const auto sum = [&](int at) { load_finished(at, v, f); };
        const auto square = [](real sum, real e, bool) { return fma(e, e, sum); };
        next_scale_ = over_root_of_mean(sum_of_row(v, sum, square), a_.next_eps);
    }

    CATENA_FN real centered(real e, bool in_row) const {
        if constexpr (C.value == value_kind::layer_norm) return in_row ? e - mean_ : real{0};
        return e;
    }

    /// From the joined row to the finished one, but for a second norm.
    CATENA_FN void finish(int at, quads& v, factors& f) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            if constexpr (!roomy) {
                load_weight(at, j, f);
                load_others(at, j, f);
            }
            for (int i = 0; i < quad; ++i) {
                real e = centered(v[j][i], inside(at, j, i));
                if constexpr (norm) e = e * scale_;
                if (C.scale && a_.weight != nullptr)
                    e = e * (a_.one_plus_weight ? real{1} + f.weight[j][i] : f.weight[j][i]);
                if (C.bias && a_.bias != nullptr) e = e + f.bias[j][i];
                if (C.join && a_.residual != nullptr) e = (e + f.residual[j][i]) * sum_factor_;
                v[j][i] = e;
            }
            if (C.gate && a_.gate != nullptr) gate_by(f.gate[j], v[j]);
        }
    }

    CATENA_FN void load_finished(int at, quads& v, factors& f) const {
        load(at, v);
        finish(at, v, f);
    }

    /// The sum is that of the norm's input, or of the norm itself.
    CATENA_FN void finish_and_store(int at, quads& v, factors& f) const {
        if constexpr (!C.join) store_sum(at, v);
        finish(at, v, f);
        if constexpr (C.join) store_sum(at, v);
    }

    CATENA_FN void norm_again(int at, quads& v, factors& f) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            if constexpr (!roomy) load_next_weight(at, j, f);
            for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] * next_scale_ * f.next_weight[j][i];
        }
    }

    CATENA_FN unsigned magnitude(const quads& v) const {
        unsigned largest = 0;
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            const unsigned here = magnitude_of(v[j]);
            largest = here > largest ? here : largest;
        }
        return largest;
    }
    CATENA_FN unsigned largest_of_passes(quads& v, factors& f) const {
        unsigned largest = 0;
        for (int at = mine_; at < a_.k; at += stride) {
            load_finished(at, v, f);
            if (normed_again()) norm_again(at, v, f);
            const unsigned here = magnitude(v);
            largest = here > largest ? here : largest;
        }
        return largest;
    }
    CATENA_FN unsigned largest_of_row(unsigned mine) {
        return over_row(mine, [](unsigned a, unsigned b) { return b > a ? b : a; });
    }

    CATENA_FN void store_int8_sum(int mine) {
        const int sum = over_row(mine, [](int a, int b) { return a + b; });
        if (mine_ == 0) x_.store(a_.int8_sums + row_, sum);
    }

    CATENA_FN void store_sum(int at, const quads& v) const {
        if (!(C.residual || C.join) || a_.sum == nullptr) return;
        float* to = row_at(a_.sum, a_.sum_at, place_);
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) store_quad<P.vector>(x_, to, at + j * stride, a_.k, v[j]);
    }

    /// One format after the other, so that the address of one is held at a time.
    CATENA_FN void write(int at, const quads& v) {
        if (C.emits.has(format::f32) && a_.f32 != nullptr) {
            float* to = row_at(a_.f32, a_.f32_at, place_);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                store_quad<P.vector>(x_, to, at + j * stride, a_.k, v[j]);
        }
        const auto write_16 = [&](void* tensor, const row_strides& nb, auto narrow) {
            auto* to = row_at(static_cast<std::uint16_t*>(tensor), nb, place_);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                store_quad<P.vector>(x_, to, at + j * stride, a_.k, v[j], narrow);
        };
        if (C.emits.has(format::f16) && a_.f16 != nullptr)
            write_16(a_.f16, a_.f16_at, [](real r) { return to_half(r); });
        if (C.emits.has(format::bf16) && a_.bf16 != nullptr)
            write_16(a_.bf16, a_.bf16_at, [](real r) { return to_bfloat16(r); });
    }

    /// What needs neighbours, of one quad.
    CATENA_FN void write_quantized(int at, const real (&v)[quad], bool blocks,
                                   const in_blocks& in_rows, const scaled& apart) {
        if (blocks) in_rows.store(x_, at, v);
        if constexpr (!scaled::none) int8_sum_ = apart.store(x_, at, v, int8_sum_);
    }
};

/// The body. Grid: one block per rows_of_block(P) rows. Shared memory as kernel/layout.hpp says.
/// `a` follows args.hpp; with values > 0, k <= values * the threads of a row; with vector, k is a
/// multiple of 4 and every row of 16 bytes (f16, bf16: of 8).
template <class X, policy P, computation C>
CATENA_FN void row_body(X& x, const row_args& a) {
    using work = row_work<X, P, C>;
    static_assert(P.threads % warp_size == 0 && P.threads > 0, "threads come in whole warps");
    static_assert(P.values % quad == 0 && P.values >= 0, "a thread owns whole quads");
    static_assert(!C.again || (C.join && C.value == value_kind::rms_norm),
                  "what is normed again is a sum with an rms_norm");
    static_assert(work::rows == 1 || work::team == warp_size,
                  "rows that share a block have a warp each");
    x.grid_trigger();
    if constexpr (work::rows == 1) {
        auto* meeting = x.template shared<float>(row_meetings * (P.threads / warp_size));
        work(x, a, x.block(), x.thread(), meeting).run();
    } else {
        const int row = x.block() * work::rows + x.warp();
        if (row < a.rows)
            work(x, a, row, x.lane(), nullptr).run();
        else
            x.grid_wait();
    }
}

}  // namespace catena::kernel
