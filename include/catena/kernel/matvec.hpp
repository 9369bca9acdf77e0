// The matvec skeleton: 1 to 8 columns against a group of weight matrices that read the same
// activation. It is bound by memory: every warp streams its weight rows through stages of its own,
// so that bytes are in flight before the activation exists and while the dot stages work.
//
// Work is dealt in bands: a block owns `band_rows` rows of one member, its warps take `P.rows` rows
// at a time in turn; of a GLU's two matrices, half as many each. A stage holds the same piece of K
// of those rows; a step is 1024 values, 32 per lane, unpacked once for all columns. A lane adds its
// steps in K order, the warp adds its lanes in one fixed tree: neither depends on rows, columns,
// piece, stages or copy method, which is why all policies give the same bits. Then each lane
// finishes one result (kernel/epilogue.hpp).
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/dot.hpp"
#include "catena/kernel/dot/q4_0.hpp"
#include "catena/kernel/dot/q4_K.hpp"
#include "catena/kernel/dot/q6_K.hpp"
#include "catena/kernel/dot/q8_0.hpp"
#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/slice.hpp"

#include <utility>

namespace catena::kernel {

/// A warp's way through its part of a band: piece by piece of K, then the next group of P.rows
/// rows. Rows past the band repeat its last one and are not stored. The rows of a GLU alternate
/// between its matrices, so that neighbouring lanes end up with the two halves of a result.
template <policy P, format F>
struct matvec_walk {
    static constexpr int matrices = P.rows % 2 == 0 ? 2 : 1;
    static constexpr int piece_bytes = P.piece / block_elements<F> * block_bytes<F>;

    const std::byte* matrix[matrices];  ///< the second is the first, but for a GLU
    bool pairs;
    std::int64_t row_stride;
    int k;
    int row, end_row;             ///< first row of the group; end of the band
    int rows_on;                  ///< to the warp's next group
    int value;                    ///< first value of the piece
    const std::byte* at[P.rows];  ///< the piece of each row

    CATENA_FN void start_group() {
        value = 0;
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) {
            const int wanted = row + (pairs ? r / 2 : r);
            at[r] = matrix[r % matrices] + (wanted < end_row ? wanted : end_row - 1) * row_stride;
        }
    }
    CATENA_FN bool done() const { return row >= end_row; }
    CATENA_FN int values() const { return k - value < P.piece ? k - value : P.piece; }
    CATENA_FN int bytes() const {
        return k - value < P.piece ? (k - value) / block_elements<F> * block_bytes<F> : piece_bytes;
    }
    CATENA_FN bool last_piece() const { return k - value <= P.piece; }
    CATENA_FN void next() {
        if (last_piece()) {
            row += rows_on;
            start_group();
            return;
        }
        value += P.piece;
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) at[r] += piece_bytes;
    }
};

/// Fills a stage with the slices that `walk` points at.
template <policy P, format F, int Room, int Matrices, class X, class Stream>
CATENA_FN void fill_stage(X& x, Stream& stream, std::byte* stages, int stage,
                          const tensor_bytes (&tensor)[Matrices], const matvec_walk<P, F>& walk) {
    slice part[P.rows];
    int total = 0;
    CATENA_UNROLL
    for (int r = 0; r < P.rows; ++r) {
        part[r] = slice_at<F, P.copy>(walk.at[r], walk.bytes(), tensor[r % Matrices]);
        total += part[r].whole;
    }
    std::byte* to = stages + stage * (P.rows * Room);
    stream.begin(stage, total);
    CATENA_UNROLL
    for (int r = 0; r < P.rows; ++r) copy_slice(x, stream, to + r * Room, part[r]);
    stream.commit(stage);
}

/// One step: 1024 values of P.rows rows against every column.
template <policy P, format F, class X>
CATENA_FN void matvec_step(X& x, const std::byte* const (&row)[P.rows], const std::byte* q8_1,
                           std::int64_t q8_1_stride, int columns, real (&sum)[P.rows][P.columns]) {
    using stage = dot<F>;
    const int lane = x.lane();
    typename stage::weights w[P.rows];
    CATENA_UNROLL
    for (int r = 0; r < P.rows; ++r) w[r] = stage::unpack(x, row[r], lane);
    CATENA_UNROLL
    for (int c = 0; c < P.columns; ++c) {
        if (c > 0 && c >= columns) continue;
        const typename stage::activation u = stage::load(x, q8_1 + c * q8_1_stride, lane);
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) sum[r][c] = stage::add(x, w[r], u, sum[r][c]);
    }
}

/// Adds the lanes of a group's rows, and finishes them: lane c * P.rows + r row r of column c.
template <policy P, class X>
CATENA_FN void finish_rows(X& x, const matvec_args& a, const matvec_block& b, int row,
                           const real (&sum)[P.rows][P.columns]) {
    static_assert(P.rows * P.columns <= warp_size, "a lane finishes one result of a group");
    real mine{0};
    CATENA_UNROLL
    for (int c = 0; c < P.columns; ++c) {
        if (c > 0 && c >= b.columns) continue;
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) {
            real total = sum[r][c];
            CATENA_UNROLL
            for (int mask = warp_size / 2; mask > 0; mask /= 2)
                total = total + x.shuffle_xor(total, mask);
            if (x.lane() == c * P.rows + r) mine = total;
        }
    }
    finish<P.rows>(x, a, b, row, mine);
}

/// Copies the columns to shared memory, whole chunks of 16 bytes; padding makes up the last one.
template <class X>
CATENA_FN void share_activation(X& x, const matvec_block& b, int k, std::byte* to) {
    const int row = static_cast<int>(q8_1_row_bytes(k));
    const int chunks = (k / 32 * q8_1_bytes + chunk_bytes - 1) / chunk_bytes;
    for (int c = 0; c < b.columns; ++c)
        for (int i = x.thread(); i < chunks; i += x.threads())
            x.store16(to + c * row + i * chunk_bytes,
                      x.load16(b.x + c * b.x_bytes + i * chunk_bytes));
}

/// The band of a block, all its rows and columns. `stages` is the warp's.
template <policy P, format F, int Room, class X, class Stream>
CATENA_FN void matvec_band(X& x, const matvec_args& a, matvec_block& b, Stream& stream,
                           std::byte* stages, std::byte* shared_x) {
    using walk = matvec_walk<P, F>;
    constexpr int step_bytes = warp_values / block_elements<F> * block_bytes<F>;
    const matvec_member& m = *b.member;
    const bool pairs = walk::matrices == 2 && m.up != nullptr;
    const int warp_rows = pairs ? P.rows / 2 : P.rows;
    walk fill{.matrix = {},
              .pairs = pairs,
              .row_stride = m.row_bytes,
              .k = a.k,
              .row = b.first_row + x.warp() * warp_rows,
              .end_row = b.end_row,
              .rows_on = x.warps() * warp_rows,
              .value = 0,
              .at = {}};
    tensor_bytes tensor[walk::matrices];
    CATENA_UNROLL
    for (int i = 0; i < walk::matrices; ++i) {
        fill.matrix[i] = static_cast<const std::byte*>(i == 1 && pairs ? m.up : m.weight);
        tensor[i] = {fill.matrix[i], fill.matrix[i] + m.weight_bytes};
    }

    const bool expert = a.ids != nullptr;
    const bool early = a.weights_early && !expert;
    if (!early) x.grid_wait();
    if (expert) {
        const matvec_column column = matvec_column::of(x, a);
        const int id = column.expert(x, a);
        if (id < 0 || id >= m.experts) {
            finish_without(x, a, b);
            return;
        }
        b.x += (static_cast<std::int64_t>(column.token) * a.x_slots +
                (a.x_slots == 1 ? 0 : column.slot)) *
               a.x_bytes;
        CATENA_UNROLL
        for (int i = 0; i < walk::matrices; ++i) fill.matrix[i] += id * m.expert_bytes;
    }
    fill.start_group();
    walk read = fill;
    CATENA_NO_UNROLL
    for (int stage = 0; stage < P.stages && !fill.done(); ++stage, fill.next())
        fill_stage<P, F, Room>(x, stream, stages, stage, tensor, fill);
    if (early) x.grid_wait();

    if constexpr (P.activation == activation_source::shared) {
        share_activation(x, b, a.k, shared_x);
        x.sync();
        b.x = shared_x;
        b.x_bytes = q8_1_row_bytes(a.k);
    }

    real sum[P.rows][P.columns];
    for (int stage = 0; !read.done(); stage = stage + 1 < P.stages ? stage + 1 : 0) {
        if (read.value == 0) {
            CATENA_UNROLL
            for (int i = 0; i < P.rows * P.columns; ++i)
                sum[i / P.columns][i % P.columns] = real{0};
        }
        stream.wait(stage);
        const std::byte* row[P.rows];
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r)
            row[r] = stages + (stage * P.rows + r) * Room + slice_offset<F>(read.at[r]);
        const std::byte* q8_1 = b.x + read.value / 32 * q8_1_bytes;
        const int values = read.values();
        CATENA_NO_UNROLL
        for (int at = x.lane() * 32; at < values; at += warp_values) {
            matvec_step<P, F>(x, row, q8_1, b.x_bytes, b.columns, sum);
            CATENA_UNROLL
            for (int r = 0; r < P.rows; ++r) row[r] += step_bytes;
            q8_1 += warp_size * q8_1_bytes;
        }
        stream.release(stage);
        if (!fill.done()) {
            fill_stage<P, F, Room>(x, stream, stages, stage, tensor, fill);
            fill.next();
        }
        if (read.last_piece()) finish_rows<P>(x, a, b, read.row, sum);
        read.next();
    }
}

template <format_set W, format F>
inline constexpr bool holds = W.has(F);

/// Bytes of a stage that one weight row may take.
template <policy P, format_set W>
inline constexpr int slice_room = static_cast<int>(stage_bytes(P, W)) / P.rows;

/// Calls `visit` with the format that `type` is, if the set holds it.
template <format_set W>
struct format_list {
    template <class Visit>
    CATENA_FN static void visit(format type, const Visit& visit) {
        each(type, visit, std::make_integer_sequence<int, format_count>{});
    }

  private:
    template <class Visit, int... I>
    CATENA_FN static void each(format type, const Visit& visit, std::integer_sequence<int, I...>) {
        (one<static_cast<format>(I)>(type, visit), ...);
    }
    template <format F, class Visit>
    CATENA_FN static void one(format type, const Visit& visit) {
        if constexpr (holds<W, F>)
            if (type == F) visit.template operator()<F>();
    }
};

/// The body. Grid: one block per band, times the columns when experts are picked by ids. Shared
/// memory as kernel/layout.hpp says. `a` follows args.hpp; a.columns <= P.columns when dense, every
/// member's format is in W, k is a multiple of every member's block.
template <class X, policy P, format_set W>
CATENA_FN void matvec_body(X& x, const matvec_args& a) {
    static_assert(P.threads % warp_size == 0 && P.threads > 0, "threads come in whole warps");
    static_assert(P.rows > 0 && P.columns > 0 && P.stages > 0,
                  "rows, columns and stages are at least 1");
    static_assert(P.piece > 0 && P.piece % warp_values == 0,
                  "a piece is a multiple of 1024 values");
    constexpr int room = slice_room<P, W>, warp_room = P.stages * P.rows * room;

    x.grid_trigger();
    std::byte* stages = x.template shared<std::byte>(x.warps() * warp_room) + x.warp() * warp_room;
    std::byte* shared_x = nullptr;
    if constexpr (P.activation == activation_source::shared)
        shared_x = x.template shared<std::byte>(
            static_cast<int>((a.ids != nullptr ? 1 : a.columns) * q8_1_row_bytes(a.k)));
    auto stream = x.template stream<P.copy, P.stages>();
    x.sync();

    const bool expert = a.ids != nullptr;
    const int band = expert ? x.block() % a.bands : x.block();
    int m = 0;
    while (m + 1 < a.members && band >= a.member[m + 1].first_band) ++m;
    const matvec_member& member = a.member[m];
    const int rows = band_results(a, member);
    const int first_row = (band - member.first_band) * rows;
    const int left = member.rows - first_row;
    matvec_block b{.member = &member,
                   .x = static_cast<const std::byte*>(a.x),
                   .x_bytes = a.x_bytes,
                   .columns = expert ? 1 : a.columns,
                   .first_row = first_row,
                   .end_row = first_row + (left < rows ? left : rows),
                   .finished = nullptr};
    if (member.q8_1 != nullptr)
        b.finished = x.template shared<float>(b.columns * max_requantized_rows);
    format_list<W>::visit(
        member.type, [&]<format F> { matvec_band<P, F, room>(x, a, b, stream, stages, shared_x); });
    if (member.q8_1 != nullptr) quantize_band(x, a, b);
}

}  // namespace catena::kernel
