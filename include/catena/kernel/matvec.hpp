// The matvec skeleton: 1 to 8 columns against a group of weight matrices that read the same
// activation. It is bound by memory: every warp streams its weight rows through stages of its own,
// so that bytes are in flight before the activation exists and while the lanes multiply.
//
// Work is dealt in bands: a block owns `band_rows` rows of one member, or its share of them in a
// cluster; its warps take `P.rows` rows at a time in turn; of a GLU's two matrices, half as many
// each. Where a token's slots are added up, the rows of all slots' matrices are dealt so, one slot
// after the other. A stage holds the same piece of K of those rows. How a piece is multiplied, and
// in which order, is the inner product's alone (kernel/product.hpp): rows, columns, pieces, stages
// and copy methods do not change it. Then each lane finishes its results (kernel/epilogue.hpp).
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/band.hpp"
#include "catena/kernel/format_list.hpp"
#include "catena/kernel/objection/matvec.hpp"
#include "catena/kernel/route.hpp"
#include "catena/kernel/unpack/all.hpp"

namespace CATENA_NAMESPACE::kernel {

template <format_set W>
inline constexpr bool several = W.size() > 1;
template <format_set W>
inline constexpr format first_format = *W.begin();

/// Bytes of a stage that one weight row may take.
template <matvec_policy P, format_set W>
inline constexpr int slice_room = static_cast<int>(stage_bytes(P, W)) / P.rows;

/// Finds the token and the slot of a band of experts, and the matrix that the slot's id picks. It
/// waits for the ids, or for the logits of experts; the bands before the first write the experts of
/// a token each. Returns the band's number in the members that ids pick, or behind their bands, in
/// dense members. Blocks that have one band of several slots, or of several tokens in a dense
/// member, stand next to each other. Those of them that read one matrix get it from memory once,
/// and else from L2. `ring` is the memory of the ring, which may be written until it is filled.
template <matvec_policy P, class X>
CATENA_FN int take_slot(X& x, const matvec_args& a, matvec_band& b, int band, std::byte* ring) {
    const bool combined = combines<P> && a.combined;
    const int slots = combined ? 1 : a.slots;
    int token = 0, slot = 0;
    if (!P.routes || band >= 0) {
        const int dense = band - a.columns * a.bands, at = dense < 0 ? band : dense * slots;
        // Not as a call, as in kernel/divider.hpp: a warp that routes would stall 130 cycles more.
        const auto divided = [](int n, int by) {
            return static_cast<int>(static_cast<unsigned>(n) / static_cast<unsigned>(by));
        };
        band = divided(at, a.columns);
        slot = at - band * a.columns;
        token = divided(slot, slots);
        slot -= token * slots;
        if (dense >= 0) band += a.bands;
    }
    b.token = token;
    if (band >= a.bands) return band;
    b.slot = slot;
    if (a.ids != nullptr) x.grid_wait();
    if constexpr (P.routes) {
        const int routed = band < 0 ? band + a.routing.tokens : token;
        route_work<X, routed_by_thread> work(x, a.routing, routed, ring);
        work.rank();
        if (band < 0)
            work.write();
        else
            b.picked = work.expert_at(slot);
        return band;
    }
    if (combined) {
        b.slots = a.slots;
        slot = x.lane() < a.slots ? x.lane() : 0;
        b.weight = weight_of(x, a, b, slot);
    }
    b.picked = a.ids != nullptr ? expert_of(x, a, b, slot)
                                : token % a.member[0].experts;  // the tokens' in turns
    return band;
}

template <matvec_policy P, format_set W>
inline constexpr bool matvec_possible = !objection_to(matvec_of(P, W), P);

/// The body. Grid: one block per band, times the columns for members whose matrix ids pick, and
/// times the tokens for dense members beside them; for each column blocks_that_write more where the
/// norm that the launch makes is written too, or one for each token whose experts it finds. Shared
/// memory as kernel/layout.hpp says. `a` follows args.hpp; a.columns <= P.columns when dense, every
/// member's format is in W, k is a multiple of every member's block.
template <class X, matvec_policy P, format_set W>
CATENA_FN void matvec_body(X& x, const matvec_args& a) {
    static_assert(matvec_possible<P, W>,
                  "kernel/objection/matvec.hpp says why no matvec can be so");
    constexpr int room = slice_room<P, W>, team_room = P.stages * P.rows * room;

    reaches(x, phase::entry);
    x.grid_trigger();
    auto stream = x.template stream<P.copy, P.stages>();
    auto own_columns = x.template stream<columns_by<P>, column_parts<P>>();
    std::byte* const all_stages =
        x.template shared<std::byte>(warp_teams(P, x.warps()) * team_room);
    std::byte* const stages = all_stages + x.warp() / warp_slices(P) * team_room;

    constexpr bool shares = P.cluster > 1;  // a cluster has a band, 1, 2, 4 or 8 blocks
    constexpr bool begins = begins_norms(P, false) || begins_norms(P, true);
    int band = shares ? x.cluster() : x.block();
    if constexpr (writes_norms(P))
        if (band >= a.bands)
            return write_norm<P>(x, a, band - a.bands, reinterpret_cast<float*>(all_stages));
    if constexpr (P.routes) band -= a.routing.tokens;  // these blocks write experts
    // A block that makes its activation is dense.
    const bool expert = P.placement == norm_placement::producer && !P.turns && has_experts(a);
    matvec_band b{.columns = P.columns == 1 || expert ? 1 : a.columns,
                  .finished = reinterpret_cast<float*>(stages)};
    if (expert) band = take_slot<P>(x, a, b, band, all_stages);
    if constexpr (P.routes) {
        if (band < 0) return;
        stream.reuse();
    }
    int m = 0;
    CATENA_NO_UNROLL
    while (m + 1 < a.members && band >= a.member[m + 1].first_band) ++m;
    const matvec_member& member = a.member[m];
    b.member = &member;
    if constexpr (P.turns) b.head = &a.heads.member[m];
    const int rows = P.turns          ? a.band_rows / 2
                     : takes_pairs<P> ? band_results(a, member)
                                      : a.band_rows;
    const int share = shares ? share_of_band(x, rows) : rows;
    b.first_row = (band - member.first_band) * rows + (shares ? x.cluster_rank() * share : 0);
    const int left = (P.turns ? member.rows / 2 : member.rows) - b.first_row;
    b.end_row = b.first_row + (left < share ? left : share);
    if constexpr (begins) prefetch_begun_weight(x, b);
    const int matrices = member.experts > 0 ? member.experts : 1;
    if (static_cast<unsigned>(b.picked) >= static_cast<unsigned>(matrices)) b.picked = -1;
    // A launch of one format asks for no type.
    format_list<W>::visit(several<W> ? member.type : first_format<W>, [&]<format F> {
        band_product<P, F, room, several<W>, X, decltype(stream), decltype(own_columns)>(
            x, a, b, stream, own_columns, stages)
            .run();
    });
    if (combines<P> && a.combined) add_slots(x, a, b);
    if (!P.turns && member.q8_1 != nullptr) quantize_band<shares, begins>(x, a, b);
    reaches(x, phase::end);
}

}  // namespace CATENA_NAMESPACE::kernel
