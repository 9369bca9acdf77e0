// Quantized weights by warpgroups (sm_90a): decoded to bf16 on their way into the operand, and
// multiplied with an activation that its maker rounded to bf16 (format::bf16_mma).
//
// Behind the stages, which hold the activation alone, lie two steps of decoded weights and two
// pieces as they come from the tensor, several steps long. A warp copies and decodes rows of its
// own, the next step's while tensor cores multiply this one. A piece comes with the stage of the
// step before its first, so that this one is decoded before its own stage is waited for.
#pragma once

#include "catena/kernel/matmul/wgmma.hpp"
#include "catena/kernel/quantize.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Four values of a word, scale * q - min, or scale * q.
template <int Scales, bool Mins, class X>
CATENA_FN void decode_word(X& x, unsigned q, const group_scales<Scales, Mins>& s, int scale,
                           real (&v)[quad]) {
    // Bytes behind the exponent of 2^23 are floats of it and themselves, exactly.
    const unsigned bytes = q ^ 0x80808080u;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) {
        const real whole = from_bits(x.permute(bytes, 0x4b000000u, 0x7440u + unsigned(i)));
        v[i] = whole - real{8388608.0f + 128.0f};
        if constexpr (Mins)
            v[i] = fma(v[i], s.scale[scale], -s.min[scale]);
        else
            v[i] = v[i] * s.scale[scale];
    }
}

template <matmul_policy P, format F, format_set W>
requires(!is_float(F)) struct warpgroup_step<P, F, W> {
    static constexpr int piece_steps = P.piece / warpgroup_values;
    static constexpr int room = weight_room<P, W>;

    std::byte *decoded, *pieces;  ///< decoded weights of the block, pieces of the warp
    weight_rows_of_warp<P, F> weights;
    warpgroup_columns<P, format::bf16_mma> columns;

    template <class X, class Block>
    CATENA_FN warpgroup_step(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part,
                             Block& b)
        : decoded(b.ring + P.stages * stage_bytes_of<P, W>),
          pieces(decoded + decoding_ring * operand_bytes_of<P> + x.warp() * P.rows * room),
          weights(weight_rows_of_warp<P, F>::of(x, a, t).of_part(part)),
          columns(x, a, t, part) {}

    template <class X, class Block>
    CATENA_FN void fill(X& x, Block& b, int step) {
        const int first = step == 0 ? 0 : step + 1;
        const bool brings = first % piece_steps == 0 && first * warpgroup_values < weights.k;
        const int value = first * warpgroup_values;
        b.stream.begin(b.fill,
                       columns.bytes + (brings ? weight_bytes_of_warp(x, weights, value) : 0));
        columns.copy(x, b.stream, b.ring + b.fill * stage_bytes_of<P, W>);
        if (brings) copy_weights_of_warp<room>(x, b.stream, weights, piece_of(first), value);
        b.stream.commit(b.fill);
    }

    /// Decodes the warp's rows: a lane has a group of one or of several.
    template <class X, class Block>
    CATENA_FN void prepare(X& x, Block& b, int step, int stage) const {
        if (step == 0) b.stream.wait(stage);  // the first piece is in it
        const int of_piece = step % piece_steps, value = (step - of_piece) * warpgroup_values;
        const int group = x.lane() / mma_rows;
        const bool there = step * warpgroup_values + group * group_values < weights.k;
        const std::byte* piece = piece_of(step);
        std::byte* to = operand_of(step) + operand_rows_of_warp<P>(x);
        CATENA_UNROLL
        for (int r = x.lane() % mma_rows; r < P.rows; r += mma_rows)
            decode_group(x, piece + r * room + slice_offset<F>(weights.at(r, value)),
                         of_piece * 2 + group, there, to, operand_row(r),
                         group * swizzled_chunks / 2);
        if (step != 0) b.stream.wait(stage);
    }

    template <class X, class Block>
    CATENA_FN void multiply(X& x, Block& b, int step, tile_sums<P>& sum) const {
        multiply_step<P, format::bf16>(x, operand_of(step), b.ring + b.read * stage_bytes_of<P, W>,
                                       2, sum);
    }

    template <class X, class Block>
    CATENA_FN void finish(X& x, Block&, int, tile_sums<P>& sum) const {
        x.template wgmma_wait<0>(sum);
    }

  private:
    CATENA_FN std::byte* operand_of(int step) const {
        return decoded + step % decoding_ring * operand_bytes_of<P>;
    }
    /// The place of the piece that has a step.
    CATENA_FN std::byte* piece_of(int step) const {
        return pieces + step / piece_steps % decoding_ring * piece_bytes_of<P, W>;
    }

    /// A group, from its place in a piece to four chunks of an operand's row; behind K, zeros.
    template <class X>
    CATENA_FN static void decode_group(X& x, const std::byte* piece, int group, bool there,
                                       std::byte* to, int row, int chunk) {
        using format_of = unpack<F>;
        int q[group_words] = {};
        group_scales<format_of::scales, format_of::mins> s{};
        if (there) {
            const std::byte* own = piece + group / block_groups<F> * block_bytes<F>;
            format_of::template words<group_words>(x, own, group % block_groups<F>, 0, q);
            s = format_of::scales_of(x, own, group % block_groups<F>);
        }
        CATENA_UNROLL
        for (int i = 0; i < group_words; i += 2) {
            real v[2][quad];
            CATENA_UNROLL
            for (int word = 0; word < 2; ++word)
                decode_word(x, unsigned(q[i + word]), s, i * format_of::scales / group_words,
                            v[word]);
            const auto low = rounded_quad<format::bf16>(v[0]),
                       high = rounded_quad<format::bf16>(v[1]);
            x.store16(
                to + exec::swizzled(row, chunk + i / 2),
                word4{unsigned(low), unsigned(low >> 32), unsigned(high), unsigned(high >> 32)});
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
