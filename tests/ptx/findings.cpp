// The interpreter of PTX: small kernels, each wrong in one way, and what is said of them; then
// right.
#include "snippet.hpp"

#include "catena_test/catch.hpp"

using namespace catena_test;

TEST_CASE("PTX: what is not known is refused with its line") {
    CHECK_THROWS_WITH(kernel("add.rn.f16x2 %r1, %r2, %r3;").run(),
                      Catch::Matchers::Contains("PTX line 12: an instruction that is not known"));
    CHECK_THROWS_WITH(kernel("bra nowhere;").run(), Catch::Matchers::Contains("no such label"));
    CHECK_THROWS_WITH(kernel("add.s32 %r1, %d0, 1;").run(),
                      Catch::Matchers::Contains("no register of this width"));
}

TEST_CASE("PTX: addresses outside of what was handed out are reported") {
    finds(kernel("ld.global.u32 %r1, [%d2+132];"), "in[256] (it has 256 bytes)");
    finds(kernel("st.global.u32 [%d3+-4], %r0;"), "out[-4]");
    finds(kernel("prefetch.global.L2 [%d2+256];"), "in[256] (it has 256 bytes)");
    finds(kernel("ld.global.u32 %r1, [%d2+2];"), "not aligned to 4");
    finds(kernel("ld.global.u32 %r1, [%d3];"), "nobody has written");
    finds(kernel("mov.u32 %r1, 0; st.shared.u32 [%r1], %r1;"), "outside of the 1024 of the block");
    finds(kernel("mov.u32 %r1, tile; ld.shared.u32 %r2, [%r1];"), "nobody has written");
}

TEST_CASE("PTX: what the grid before writes is not read before it has completed") {
    snippet s = kernel("ld.global.u32 %r1, [%d2]; griddepcontrol.wait;");
    s.dependent = true;
    finds(s, "before griddepcontrol.wait");
    s.body = "prefetch.global.L2 [%d2]; griddepcontrol.wait; ld.global.u32 %r1, [%d2];";
    CHECK(s.run() == "");
}

TEST_CASE("PTX: barriers and shuffles that not all reach are reported") {
    const std::string half = "setp.lt.u32 %p0, %r0, 16;\n";
    finds(kernel(half + "@%p0 bra past; bar.sync 0; past:"), "has left, and others wait");
    finds(kernel(half + "@%p0 bra past; bar.sync 0; bra end; past: bar.sync 0; end:"),
          "another bar.sync");
    finds(kernel(half + "@%p0 shfl.sync.bfly.b32 %r1|%p1, %r0, 1, 31, -1; bar.sync 0;"),
          "threads wait for what never comes");
    finds(kernel(half + "@%p0 shfl.sync.idx.b32 %r1|%p1, %r0, 20, 31, 0xffff; bar.warp.sync -1;"),
          "shuffles from lane 20");
    finds(kernel(half + "@%p0 bra past; bar.red.or.pred %p1, 0, %p0; past:"),
          "has left, and others wait");
    snippet two = kernel("setp.lt.u32 %p0, %r0, 32; @%p0 ret; bar.sync 0;");
    two.threads = 64;
    finds(two, "has left, and others wait");
}

TEST_CASE("PTX: bytes of cp.async arrive when their group is waited for") {
    const std::string copy =
        "mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; and.b32 %r2, %r2, 127;\n"
        "add.s32 %r1, %r1, %r2; cvt.u64.u32 %d5, %r2; add.s64 %d5, %d0, %d5;\n"
        "setp.lt.u32 %p0, %r0, 8;\n"
        "@%p0 cp.async.cg.shared.global [%r1], [%d5], 16;\n"
        "cp.async.commit_group;\n";
    const std::string rest = "ld.shared.u32 %r3, [%r1]; st.global.u32 [%d3], %r3;";
    finds(kernel(copy + "bar.warp.sync -1;" + rest), "on their way");
    // One group may still be on its way, and it is this one.
    finds(kernel(copy + "cp.async.wait_group 1; bar.warp.sync -1;" + rest), "on their way");
    finds(kernel(copy + "st.shared.u32 [%r1], %r0;"), "although they are on their way");
    snippet right = kernel(copy + "cp.async.wait_group 0; bar.warp.sync -1;" + rest);
    REQUIRE(right.run() == "");
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(right.out[t] == t % 8 * 4);
}

namespace {

const std::string make_barrier =
    "mov.u32 %r1, tile; add.s32 %r2, %r1, 512;\n"
    "setp.eq.u32 %p0, %r0, 0;\n"
    "@%p0 mbarrier.init.shared.b64 [%r2], 1;\n";
const std::string see_barrier = "fence.proxy.async.shared::cta; bar.warp.sync -1;\n";
const std::string start =
    "@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d6, [%r2], 64;\n"
    "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[%r1], [%d0], 64, [%r2];\n";
const std::string wait =
    "again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n"
    "@!%p1 bra again;\n";
const std::string use =
    "and.b32 %r3, %r0, 15; shl.b32 %r3, %r3, 2; add.s32 %r3, %r1, %r3;\n"
    "ld.shared.u32 %r4, [%r3]; st.global.u32 [%d3], %r4;\n";

}  // namespace

TEST_CASE("PTX: bytes of a bulk copy arrive when its mbarrier's phase is waited for") {
    finds(kernel(make_barrier + see_barrier + start + use), "on their way");
    finds(kernel(make_barrier + see_barrier + start), "ends before a bulk copy");
    finds(kernel(make_barrier + "bar.warp.sync -1;" + start + wait),
          "no fence.proxy.async is in between");
    finds(kernel(make_barrier + see_barrier + wait), "threads wait for what never comes");
    finds(kernel(make_barrier + see_barrier + start + start + wait), "more arrivals");
    finds(kernel("mov.u32 %r1, tile; mov.u32 %r2, %r1; setp.eq.u32 %p0, %r0, 0;" + start),
          "no mbarrier");
    snippet right = kernel(make_barrier + see_barrier + start + wait + use);
    REQUIRE(right.run() == "");
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(right.out[t] == t % 16);
    // sm_120 names the block's own shared memory.
    std::string to_own = start;
    to_own.replace(to_own.find("shared::cluster"), 15, "shared::cta");
    finds(kernel(make_barrier + see_barrier + to_own + use), "on their way");
    snippet own = kernel(make_barrier + see_barrier + to_own + wait + use);
    REQUIRE(own.run() == "");
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(own.out[t] == t % 16);
    // A fence of new mbarriers is enough for them, in the thread that made them.
    const std::string of_barriers = "fence.mbarrier_init.release.cluster; bar.warp.sync -1;\n";
    CHECK(kernel(make_barrier + of_barriers + start + wait + use).run() == "");
    finds(kernel(make_barrier + "@!%p0 " + of_barriers + start + wait),
          "no fence.proxy.async is in between");
    // What a thread wrote itself there, the copy must not overtake.
    const std::string write = "st.shared.u32 [%r1], %r0;\n";
    finds(kernel(make_barrier + see_barrier + "@%p0 " + write + start + wait),
          "no fence.proxy.async is in between");
    CHECK(kernel(make_barrier + "@%p0 " + write + see_barrier + start + wait).run() == "");
    finds(kernel(make_barrier + "@%p0 " + write + of_barriers + start + wait),
          "no fence.proxy.async is in between");
}

TEST_CASE("PTX: blocks of a cluster meet before they store into one another, and after") {
    const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;\n";
    const std::string store =
        "mov.u32 %r1, tile; mov.u32 %r2, %cluster_ctarank; shl.b32 %r3, %r2, 7;\n"
        "shl.b32 %r4, %r0, 2; add.s32 %r3, %r3, %r4; add.s32 %r1, %r1, %r3;\n"
        "mapa.shared::cluster.u32 %r5, %r1, 0; mov.b32 %f1, %r3;\n"
        "st.shared::cluster.f32 [%r5], %f1;\n";
    const std::string show =
        "setp.ne.u32 %p0, %r2, 0; @%p0 bra end; mov.u32 %r6, tile;\n"
        "add.s32 %r6, %r6, %r4; ld.shared.u32 %r7, [%r6+128];\n"
        "st.global.u32 [%d3], %r7; end:";
    const auto pair = [](const std::string& body) {
        snippet s = kernel(body);
        s.blocks = s.cluster = 2;
        return s;
    };
    finds(pair(store + meet + show), "before it is known to have started");
    finds(pair(meet + store + show), "block");  // which of them is ahead is chance
    finds(pair(meet + "barrier.cluster.wait;"), "has not arrived");
    // That all blocks run needs no memory to be ordered; what they stored does.
    const std::string run = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n";
    finds(pair(meet + store + run + show), "shared");
    finds(pair(meet + store + run), "or none that releases it");
    for (const std::string& first : {meet, run}) {
        snippet right = pair(first + store + meet + show);
        REQUIRE(right.run() == "");
        for (std::uint32_t t = 0; t < 32; ++t) CHECK(right.out[t] == 128 + 4 * t);
    }
}

TEST_CASE("PTX: lanes go their own ways, call functions and come back") {
    snippet s = kernel(
        "and.b32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 1; @%p0 bra one;\n"
        "{ .param .b32 p0; st.param.b32 [p0+0], %r0; .param .b32 r0;\n"
        "call.uni (r0), twice, (p0); ld.param.b32 %r2, [r0+0]; }\n"
        "bra end;\n"
        "one: { .param .b32 p0; st.param.b32 [p0+0], 50; .param .b32 r0;\n"
        "call.uni (r0), twice, (p0); ld.param.b32 %r2, [r0+0]; }\n"
        "end: st.global.u32 [%d3], %r2;");
    s.functions =
        ".func (.param .b32 result) twice(.param .b32 v)\n{ .reg .b32 %r<3>;\n"
        "ld.param.u32 %r1, [v]; add.s32 %r1, %r1, %r1; st.param.b32 [result+0], %r1; ret; }\n";
    REQUIRE(s.run() == "");
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(s.out[t] == (t % 4 == 1 ? 100 : 2 * t));
}
