// The row skeleton. Makes a value of a row of x (x or what experts made, plus a residual; its norm;
// or x gated by another row), scales it by a weight, adds a bias, gates it, and writes it in any
// set of formats in one pass. Or it joins a weighted norm with a residual, and norms and scales
// that again. A row has a block to itself, or a warp of one. x is read once, into registers; with a
// policy that holds none it is read again for everything that wants to know the whole row first, so
// any k will do.
//
// Thread t owns elements 4 * (j * threads + t) .. + 3 for j = 0, 1, ...: 32 quantized values belong
// to 8 neighboring threads, and the order of additions depends on the number of threads alone.
// Every element is read before the thread that read it writes it: an output may lie exactly over x,
// residual or gate.
#pragma once

#include "catena/kernel/activation.hpp"
#include "catena/kernel/objection/row.hpp"
#include "catena/kernel/row/stages.hpp"
#include "catena/kernel/scaled.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// One row's work; see row_body.
template <class X, row_policy P, row_computation C>
class row_work {
  public:
    using thread = row_thread<X, P>;

    CATENA_FN row_work(X& x, const row_args& a, int row, int thread_of_row, float* meeting)
        : row_(x, a, row, thread_of_row, meeting) {}

    CATENA_FN void run() {
        const row_args& a = row_.a;
        const bool early = roomy && a.weight_early;
        quads v;
        if (early) load_constants();
        row_.x.grid_wait();
        stages_.template each<all>([&](auto& s) { s.load_numbers(row_); });
        if constexpr (kept) make(row_.first, v);
        if constexpr (roomy) {
            if (!early) load_constants();
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) load<all>(row_.first, j);
        }
        measure<norm_stages>(v, [&](int at) { make(at, v); });
        unsigned largest = 0;
        if constexpr (kept) {
            finish_and_store(row_.first, v);
            measure_again(v);
            apply<behind_sum>(row_.first, v);
            if constexpr (scaled::by_token)
                if (scaled::wants_largest(a)) largest = largest_of_row(magnitude(v));
        } else {
            measure_again(v);
            if constexpr (scaled::by_token)
                if (scaled::wants_largest(a)) largest = largest_of_row(largest_of_passes(v));
        }
        const scaled apart(a, row_.row, largest);
        const bool blocks = in_blocks::wanted(a);
        const in_blocks in_rows(a, row_.row);
        const int end = blocks ? in_rows.end() : a.k;
        if constexpr (kept) {
            write(row_.first, v);
            // The quads in turn, so that this long code is there once.
            CATENA_NO_UNROLL
            for (int first = 0; first < end; first += stride) {  // whole warps: shuffles
                write_quantized(first + row_.first, v[0], blocks, in_rows, apart);
                CATENA_UNROLL
                for (int j = 1; j < held; ++j)
                    for (int i = 0; i < quad; ++i) v[j - 1][i] = v[j][i];
            }
        } else {
            CATENA_NO_UNROLL
            for (int first = 0; first < end; first += stride) {
                const int at = first + row_.first;
                make(at, v);
                finish_and_store(at, v);
                apply<behind_sum>(at, v);
                write(at, v);
                write_quantized(at, v[0], blocks, in_rows, apart);
            }
        }
        if constexpr (C.emits.has(format::int8_token))
            if (a.int8_sums != nullptr) store_int8_sum(int8_sum_);
    }

  private:
    static constexpr bool kept = thread::kept, roomy = thread::roomy;
    static constexpr int held = thread::held, stride = thread::stride;
    static constexpr stage_set all = C.stages;
    /// The stages up to the sum that a second norm reads, and those behind it.
    static constexpr stage_set up_to_sum = stage_set::before(stage_kind::next_norm);
    static constexpr stage_set behind_sum = all.without(up_to_sum);
    static constexpr stage_set second_norm = stage_set::of(stage_kind::next_norm);
    static constexpr bool joins = C.stages.has(stage_kind::join_residual);
    using in_blocks = activation_rows<C.emits>;
    using scaled = scaled_row<C.emits>;
    using quads = typename thread::quads;

    thread row_;
    stage_sequence<C.stages, thread> stages_;
    int int8_sum_ = 0;  // of what the thread wrote as int8_token

    CATENA_FN void load_constants() {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) load_constants<all>(row_.first, j);
    }
    template <stage_set Some>
    CATENA_FN void load_constants(int at, int j) {
        stages_.template each<Some>([&](auto& s) {
            if (s.active(row_)) s.load_constants(row_, at, j);
        });
    }
    template <stage_set Some>
    CATENA_FN void load(int at, int j) {
        stages_.template each<Some>([&](auto& s) {
            if (s.active(row_)) s.load(row_, at, j);
        });
    }

    /// Makes the value of the first stages from x.
    CATENA_FN void make(int at, quads& v) {
        if constexpr (!C.stages.any(stage_kind::combine | stage_kind::glu))
            row_.load_row(row_at(row_.a.x, row_.a.x_at, row_.place), at, v);
        stages_.template each<all>([&](auto& s) { s.make(row_, at, v); });
    }

    template <stage_set Norm, class Remake>
    CATENA_FN void measure(quads& v, Remake remake) {
        stages_.template each<Norm>([&](auto& s) {
            if (s.active(row_)) s.measure(row_, v, remake);
        });
    }
    CATENA_FN void measure_again(quads& v) {
        measure<second_norm>(v, [&](int at) {
            make(at, v);
            apply<up_to_sum>(at, v);
        });
    }

    /// Changes what was made by the stages `Some`.
    template <stage_set Some>
    CATENA_FN void apply(int at, quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) {
            if constexpr (!roomy) {
                load_constants<Some>(at, j);
                load<Some>(at, j);
            }
            stages_.template each<Some>([&](auto& s) {
                if (s.active(row_)) s.apply(row_, at, j, v[j]);
            });
        }
    }

    /// The sum is that of the norm's input, or of the norm itself.
    CATENA_FN void finish_and_store(int at, quads& v) {
        if constexpr (!joins) store_sum(at, v);
        apply<up_to_sum>(at, v);
        if constexpr (joins) store_sum(at, v);
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
    CATENA_FN unsigned largest_of_passes(quads& v) {
        unsigned largest = 0;
        for (int at = row_.first; at < row_.a.k; at += stride) {
            make(at, v);
            apply<all>(at, v);
            const unsigned here = magnitude(v);
            largest = here > largest ? here : largest;
        }
        return largest;
    }
    CATENA_FN unsigned largest_of_row(unsigned mine) {
        return row_.over_row(mine, [](unsigned a, unsigned b) { return b > a ? b : a; });
    }

    CATENA_FN void store_int8_sum(int mine) {
        const int sum = row_.over_row(mine, [](int a, int b) { return a + b; });
        if (row_.first == 0) row_.x.store(row_.a.int8_sums + row_.row, sum);
    }

    CATENA_FN void store_sum(int at, const quads& v) const {
        if (!C.stages.any(sum_stages) || row_.a.sum == nullptr) return;
        row_.store_row(row_at(row_.a.sum, row_.a.sum_at, row_.place), at, v);
    }

    /// One format after the other, so that the address of one is held at a time.
    CATENA_FN void write(int at, const quads& v) {
        const row_args& a = row_.a;
        if (C.emits.has(format::f32) && a.f32 != nullptr)
            row_.store_row(row_at(a.f32, a.f32_at, row_.place), at, v);
        const auto write_16 = [&](void* tensor, const row_strides& nb, auto narrow) {
            auto* to = row_at(static_cast<std::uint16_t*>(tensor), nb, row_.place);
            row_.store_row_16(to, at, v, narrow);
        };
        if (C.emits.has(format::f16) && a.f16 != nullptr)
            write_16(a.f16, a.f16_at, [](real r) { return to_half(r); });
        if (C.emits.has(format::bf16) && a.bf16 != nullptr)
            write_16(a.bf16, a.bf16_at, [](real r) { return to_bfloat16(r); });
    }

    /// Writes the formats of one quad that need its neighbors.
    CATENA_FN void write_quantized(int at, const real (&v)[quad], bool blocks,
                                   const in_blocks& in_rows, const scaled& apart) {
        if (blocks) in_rows.store(row_.x, at, v);
        if constexpr (!scaled::none) int8_sum_ = apart.store(row_.x, at, v, int8_sum_);
    }
};

template <row_computation C, row_policy P>
inline constexpr bool row_possible = !objection_to(C, P);

/// The body. Grid: one block per rows_of_block(P) rows. Shared memory as kernel/layout.hpp says.
/// `a` follows args.hpp; with values > 0, k <= values * the threads of a row; with vector, k is a
/// multiple of 4 and every row of 16 bytes (f16, bf16: of 8).
template <class X, row_policy P, row_computation C>
CATENA_FN void row_body(X& x, const row_args& a) {
    using work = row_work<X, P, C>;
    using thread = typename work::thread;
    static_assert(row_possible<C, P>, "kernel/objection/row.hpp says why no row can be so");
    x.grid_trigger();
    if constexpr (thread::rows == 1) {
        auto* meeting = x.template shared<float>(row_meetings * (P.threads / warp_size));
        work(x, a, x.block(), x.thread(), meeting).run();
    } else {
        const int row = x.block() * thread::rows + x.warp();
        if (row < a.rows)
            work(x, a, row, x.lane(), nullptr).run();
        else
            x.grid_wait();
    }
}

}  // namespace CATENA_NAMESPACE::kernel
