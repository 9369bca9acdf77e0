// The interpreter of PTX: accesses that nothing orders, and the same with what orders them. Whoever
// runs first, it is said.
#include "snippet.hpp"

using namespace catena_test;

namespace {

snippet with(int threads, const std::string& body) {
    snippet s = kernel(body);
    s.threads = threads;
    return s;
}

/// %r1: the thread's own word; %r2: that of the next lane but one; %r3: of the next warp's lane.
const std::string places =
    "mov.u32 %r9, tile; shl.b32 %r1, %r0, 2; add.s32 %r1, %r1, %r9;\n"
    "xor.b32 %r2, %r0, 2; shl.b32 %r2, %r2, 2; add.s32 %r2, %r2, %r9;\n"
    "xor.b32 %r3, %r0, 32; shl.b32 %r3, %r3, 2; add.s32 %r3, %r3, %r9;\n"
    "setp.eq.u32 %p0, %r0, 0;\n";
const std::string store = "st.shared.u32 [%r1], %r0;\n";
const std::string next_lane = "ld.shared.u32 %r4, [%r2]; st.global.u32 [%d3], %r4;\n";
const std::string next_warp = "ld.shared.u32 %r4, [%r3]; st.global.u32 [%d3], %r4;\n";
const std::string meet_warp = "bar.warp.sync -1;\n", meet = "bar.sync 0;\n";

}  // namespace

TEST_CASE("PTX: lanes of a warp are ordered by bar.warp.sync and by no shuffle") {
    const std::string shuffle = "shfl.sync.bfly.b32 %r5|%p1, %r0, 1, 31, -1;\n";
    const std::string there = places + store + meet;
    finds(with(32, there + store + shuffle + next_lane), "no bar.warp.sync is in between");
    finds_nothing(with(32, there + store + meet_warp + next_lane));
    finds_nothing(with(32, there + store + meet + next_lane));
    // Only those that it names: pairs of lanes, and the next lane but one is of another.
    const std::string pairs = "and.b32 %r5, %r0, 30; mov.u32 %r6, 3; shl.b32 %r6, %r6, %r5;\n";
    finds(with(32, there + store + pairs + "bar.warp.sync %r6;\n" + next_lane),
          "no bar.warp.sync is in between");
    const std::string fours = "and.b32 %r5, %r0, 28; mov.u32 %r6, 15; shl.b32 %r6, %r6, %r5;\n";
    finds_nothing(with(32, there + store + fours + "bar.warp.sync %r6;\n" + next_lane));
    // What is overwritten must have been read by all.
    const std::string again = "st.shared.u32 [%r1], %r4;\n";
    finds(with(32, there + next_lane + again), "no bar.warp.sync is in between");
    finds_nothing(with(32, there + next_lane + meet_warp + again));
}

TEST_CASE("PTX: a race is told with both threads, both instructions and the place") {
    snippet s = kernel(places + "@%p0 st.shared.u32 [%r9+8], %r0;\n" +
                       "setp.eq.u32 %p1, %r0, 5; @%p1 st.shared.u32 [%r9+8], %r0;\n");
    for (s.seed = 0; s.seed < 8; ++s.seed) {
        const std::string found = s.run();
        INFO(found);
        CHECK(found.find("writes 4 bytes at shared byte 8, which thread ") != std::string::npos);
        CHECK(found.find("thread 0") != std::string::npos);
        CHECK(found.find("thread 5") != std::string::npos);
        CHECK(found.find("'@%p0 st.shared.u32 [%r9+8], %r0'") != std::string::npos);
        CHECK(found.find("'@%p1 st.shared.u32 [%r9+8], %r0'") != std::string::npos);
    }
}

TEST_CASE("PTX: threads that access bytes of one word do not race, and of one byte do") {
    const std::string bytes = "mov.u32 %r9, tile; add.s32 %r1, %r9, %r0; cvt.u16.u32 %h1, %r0;\n";
    finds_nothing(with(32, bytes + "st.shared.u8 [%r1], %h1; ld.shared.u8 %h2, [%r1];\n"));
    const std::string word = "and.b32 %r2, %r0, 28; add.s32 %r2, %r2, %r9;\n";
    const std::string first_of_word = "and.b32 %r4, %r0, 3; setp.eq.u32 %p0, %r4, 0;\n";
    finds(with(32, bytes + word + first_of_word + "@%p0 st.shared.u32 [%r2], %r0;\n" +
                       "bar.warp.sync -1; st.shared.u8 [%r1], %h1; ld.shared.u32 %r3, [%r2];\n"),
          "no bar.warp.sync is in between");
    finds(with(32, bytes + "shr.u32 %r2, %r0, 1; add.s32 %r2, %r2, %r9; st.shared.u8 [%r2], %h1;"),
          "no bar.warp.sync is in between");
}

TEST_CASE("PTX: warps of a block are ordered by bar.sync") {
    const std::string there = places + store + meet;
    finds(with(64, there + store + meet_warp + next_warp), "no bar.sync or mbarrier is in between");
    finds_nothing(with(64, there + store + meet + next_warp));
    const std::string again = "st.shared.u32 [%r1], %r4;\n";
    finds(with(64, there + next_warp + meet_warp + again), "no bar.sync or mbarrier is in between");
    finds_nothing(with(64, there + next_warp + meet + again));
}

TEST_CASE("PTX: accesses of global memory race too, and blocks of a grid always") {
    const std::string neighbor =
        "xor.b32 %r2, %r0, 32; mul.wide.u32 %d5, %r2, 4; add.s64 %d5, %d0, %d5;\n"
        "st.global.u32 [%d2], %r0;\n";
    const std::string load = "ld.global.u32 %r3, [%d5]; st.global.u32 [%d3], %r3;";
    finds(with(64, neighbor + load), "no bar.sync or mbarrier is in between");
    finds_nothing(with(64, neighbor + meet + load));
    snippet two = with(32, "st.global.u32 [%d3], %r0;");
    two.blocks = 2;
    finds(two, "nothing orders blocks of a grid");
    two.body =
        "ld.global.u32 %r1, [%d2]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p0, %r2, 1;\n"
        "@%p0 st.global.u32 [%d2], %r0;";
    two.blocks = 3;
    finds(two, "nothing orders blocks of a grid");
    two.body =
        "mul.wide.u32 %d5, %ctaid.x, 128; add.s64 %d3, %d3, %d5;\n"
        "ld.global.u32 %r1, [%d2]; st.global.u32 [%d3], %r1;";
    two.blocks = 2;
    finds_nothing(two);
}

TEST_CASE("PTX: cp.async is over for the thread that waited, for others when they have met it") {
    const std::string copy =
        "shl.b32 %r1, %r0, 4; cvt.u64.u32 %d5, %r1; and.b64 %d5, %d5, 127; add.s64 %d5, %d0, %d5;\n"
        "mov.u32 %r9, tile; add.s32 %r2, %r1, %r9; xor.b32 %r3, %r1, 16; add.s32 %r3, %r3, %r9;\n";
    const std::string start =
        "cp.async.cg.shared.global [%r2], [%d5], 16;\n"
        "cp.async.commit_group;\n";
    const std::string wait = "cp.async.wait_group 0;\n", look = "ld.shared.u32 %r4, [%r3];\n";
    finds(with(32, copy + start + wait + look));
    finds_nothing(with(32, copy + start + wait + meet_warp + look));
    finds_nothing(with(32, copy + start + wait + "ld.shared.u32 %r4, [%r2];"));
    // Nor may a copy overtake those that still read.
    const std::string once = copy + start + wait + meet_warp + look;
    finds(with(32, once + start + wait));
    finds_nothing(with(32, once + meet_warp + start + wait));
    // What it reads must stand until it is over.
    const std::string of_one = copy + "setp.eq.u32 %p0, %r0, 0; @%p0 " + start;
    const std::string change = "@%p0 st.global.u32 [%d5], 7;\n";
    finds(with(32, of_one + change + wait), "it was asked for before, and not waited for");
    finds_nothing(with(32, of_one + wait + change));
}

namespace {

const std::string barrier = "add.s32 %r8, %r9, 512; @%p0 mbarrier.init.shared.b64 [%r8], 1;\n";
const std::string arrive =
    "@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d6, [%r8], 0;\n";
const std::string wait =
    "again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r8], 0;\n@!%p1 bra again;\n";
const std::string first_word = "@!%p0 ld.shared.u32 %r4, [%r9];\n";

}  // namespace

TEST_CASE("PTX: who has waited for a phase of an mbarrier knows what came before its arrivals") {
    const std::string begin = places + barrier;
    const std::string first_store = "@%p0 st.shared.u32 [%r9], %r0;\n";
    finds_nothing(with(64, begin + meet + first_store + arrive + wait + first_word));
    finds(with(64, begin + meet + arrive + first_store + wait + first_word));
    finds(with(64, begin + meet + first_store + arrive + first_word + wait));
    finds(with(64, begin + arrive + wait));  // who has made it is not known either
}

TEST_CASE("PTX: a bulk copy is over for those that waited, and those that met them") {
    const std::string begin = places + barrier + "fence.proxy.async.shared::cta;\n" + meet;
    const std::string copy =
        "@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d6, [%r8], 64;\n"
        "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r9], [%d0], 64, [%r8];\n";
    const std::string one_waits = "@!%p0 bra past;\n" + wait + "past:\n";
    finds_nothing(with(32, begin + copy + wait + first_word));
    finds(with(32, begin + copy + one_waits + first_word));
    finds_nothing(with(32, begin + copy + one_waits + meet_warp + first_word));
    // Who asks for it knows that all have read.
    const std::string read_first = "st.shared.u32 [%r1], %r0; fence.proxy.async.shared::cta;\n" +
                                   meet + "ld.shared.u32 %r4, [%r9];\n";
    finds(with(32, begin + read_first + copy + wait));
    finds_nothing(with(32, begin + read_first + meet_warp + copy + wait));
    // The fence stands on the way from the write to the copy.
    const std::string written = "setp.eq.u32 %p2, %r0, 1; @%p2 st.shared.u32 [%r9+4], %r0;\n";
    const std::string fence = "@%p2 fence.proxy.async.shared::cta;\n";
    finds(with(32, begin + written + meet + fence + copy + wait),
          "no fence.proxy.async is in between");
    finds_nothing(with(32, begin + written + fence + meet + copy + wait));
    finds_nothing(
        with(32, begin + written + meet + "@%p0 fence.proxy.async.shared::cta;\n" + copy + wait));
}

TEST_CASE("PTX: blocks of a cluster are ordered from arrival to wait") {
    const std::string arrive = "barrier.cluster.arrive;\n", wait = "barrier.cluster.wait;\n";
    const std::string in_first = "@%p0 st.shared.u32 [%r9], %r0;\n";  // its thread 0, by itself
    const std::string from_second = "@%p1 st.shared::cluster.f32 [%r5], %f1;\n";
    const auto pair = [&](const std::string& body) {
        snippet s = kernel(
            "mov.u32 %r9, tile; mapa.shared::cluster.u32 %r5, %r9, 0; mov.b32 %f1, %r0;\n"
            "mov.u32 %r2, %cluster_ctarank; shl.b32 %r3, %r2, 8; add.s32 %r3, %r3, %r0;\n"
            "setp.eq.u32 %p0, %r3, 0; setp.eq.u32 %p1, %r3, 256;\n" +
            arrive + wait + body + arrive + wait);
        s.blocks = s.cluster = 2;
        return s;
    };
    finds_nothing(pair(in_first + arrive + wait + from_second));
    finds_nothing(pair(from_second + arrive + wait + in_first));
    finds(pair(arrive + in_first + wait + from_second), "no barrier.cluster is in between");
    finds(pair(in_first + "barrier.cluster.arrive.relaxed;\n" + wait + from_second),
          "no barrier.cluster is in between");
    finds(pair(in_first + from_second));
}
