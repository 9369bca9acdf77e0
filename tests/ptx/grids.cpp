// The interpreter of PTX: grids that were launched programmatically, one behind the other. What one
// does before it has waited, the one before may still undo or miss. Whatever runs first, it is
// said.
#include "snippet.hpp"

#include <set>

using namespace catena_test;

namespace {

using launches = std::vector<snippet>;

const std::string trigger = "griddepcontrol.launch_dependents;\n", wait = "griddepcontrol.wait;\n";
const std::string store = "st.global.u32 [%d2], %r1;\n", load = "ld.global.u32 %r2, [%d2];\n";
const std::string keep = "st.global.u32 [%d3], %r2;\n";

/// A grid of three blocks, each with words of its own. The first waits for what ran before it.
snippet first(const std::string& body) {
    snippet s = kernel(
        "mov.u32 %r9, %ctaid.x; mul.wide.u32 %d5, %r9, 128;\n"
        "add.s64 %d2, %d2, %d5; add.s64 %d3, %d3, %d5; add.s32 %r1, %r0, 100;\n" +
        body);
    s.blocks = 3;
    s.in.resize(96);
    s.out.resize(96);
    return s;
}
snippet then(const std::string& body) {
    snippet s = first(body);
    s.dependent = true;
    return s;
}

constexpr std::uint64_t orders = 16;

/// What is found in any order.
std::set<std::string> found_in(const launches& all) {
    std::set<std::string> found;
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        snippet one = all[0];
        one.seed = seed;
        found.insert(one.run({all.begin() + 1, all.end()}));
    }
    return found;
}

void finds(const launches& all, const std::string& words) {
    for (const std::string& found : found_in(all)) {
        INFO(found);
        CHECK(found.find(words) != std::string::npos);
    }
}
void finds_nothing(const launches& all) { CHECK(found_in(all) == std::set<std::string>{""}); }

bool holds(const std::set<std::string>& found, const std::string& words) {
    for (const std::string& one : found)
        if (one.find(words) != std::string::npos) return true;
    return false;
}

const std::string unordered = "no griddepcontrol.wait is in between";

}  // namespace

TEST_CASE("PTX: a grid that reads before its wait what the grid before writes is found") {
    finds({first(trigger + store), then(load + wait + keep)}, unordered);
    finds({first(store + trigger), then(load + wait + keep)}, unordered);
    finds({first(store), then(load + keep)}, unordered);
    finds_nothing({first(trigger + store), then(wait + load + keep)});
    // What nobody writes is a constant.
    finds_nothing({first(trigger + "st.global.u32 [%d3], %r1;"), then(load + wait + keep)});
    snippet one = first(trigger + store);
    for (one.seed = 0; one.seed < orders; ++one.seed) {
        REQUIRE(one.run({then(wait + load + keep)}) == "");
        for (std::uint32_t i = 0; i < 96; ++i) CHECK(one.out[i] == 100 + i % 32);
    }
}

TEST_CASE("PTX: a grid that writes before its wait what the grid before reads or writes is found") {
    finds({first(trigger + load + keep), then(store + wait)}, unordered);
    finds({first(trigger + store), then(store + wait)}, unordered);
    finds_nothing({first(trigger + load + keep), then(wait + store)});
    finds_nothing({first(trigger + store), then(wait + store)});
    // Some lanes have waited, others have not.
    const std::string half = "setp.lt.u32 %p0, %r0, 16;\n";
    finds({first(trigger + load + keep), then(half + "@%p0 " + wait + store)}, unordered);
}

TEST_CASE("PTX: a grid starts while the grid before runs if all of its blocks have triggered") {
    const snippet early = then(load + wait);
    const std::string second_late = "reads 4 bytes at in[", first_late = "writes 4 bytes at in[";
    const auto triggered = found_in({first(trigger + store), early});
    CHECK(holds(triggered, second_late));
    CHECK(holds(triggered, first_late));
    // A block that has not, and one that triggers when it has written.
    const std::string not_last = "setp.ne.u32 %p1, %r9, 2; @%p1 ";
    CHECK_FALSE(holds(found_in({first(not_last + trigger + store), early}), first_late + "256"));
    CHECK_FALSE(holds(found_in({first(store + trigger), early}), first_late));
}

TEST_CASE("PTX: a grid that never waits lets the grid behind it overlap the grid before it") {
    const snippet writes = first(trigger + store), reads = then(wait + load + keep);
    finds({writes, then(trigger), reads}, unordered + ", or a grid on the way has none");
    finds_nothing({writes, then(trigger + wait), reads});
    // One thread that waits is enough: the grid does not end before.
    finds_nothing({writes, then(trigger + "setp.eq.u32 %p0, %r9, 1; @%p0 " + wait), reads});
    // A launch that is not programmatic starts when all before it have ended.
    finds_nothing({writes, first(trigger), reads});
    finds_nothing({writes, then(trigger), first(load + keep)});
    // Nor does the wait reach what ran before the first.
    finds({then(trigger), reads}, "no thread of that grid waits for it");
}

TEST_CASE("PTX: who waits for a grid that cannot end is told") {
    const std::string never =
        "mov.u32 %r7, tile; setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%r7], 1;\n"
        "bar.sync 0; again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0;\n"
        "@!%p1 bra again;\n";
    finds({first(trigger + never), then(wait)}, "threads wait for what never comes");
}
