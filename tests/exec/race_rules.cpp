// The rules of stamps against a judge that remembers every access: for random scripts of accesses
// and barriers on one byte, both must find the same first race.
#include "catena/exec/host/memory.hpp"
#include "catena/exec/host/shadow.hpp"

#include "catena_test/catch.hpp"

#include <cstdint>
#include <vector>

using namespace catena::exec;

namespace {

struct access {
    int launch, block, thread, era, step;
    bool write;
};

/// Two accesses are ordered by the end of a launch, a block barrier, a warp barrier, or the thread
/// itself.
bool ordered(const access& a, const access& b) {
    if (a.launch != b.launch) return true;
    if (a.block != b.block) return false;
    if (a.era != b.era || a.thread == b.thread) return true;
    return a.thread / 32 == b.thread / 32 && a.step != b.step;
}

/// What the machine keeps for one block of one launch at a time, reduced to one byte.
class script {
  public:
    explicit script(std::uint32_t seed) : state_(seed) {}

    /// Runs `length` random events. False: the two judges disagreed.
    bool agrees(int length) {
        begin_launch();
        for (int i = 0; i < length; ++i) {
            const unsigned event = next() % 16;
            if (event == 0)
                begin_launch();
            else if (event == 1)
                begin_block();
            else if (event == 2)
                begin_era();
            else if (event < 6)
                ++steps_[next() % 3];
            else if (const int same = try_access(); same <= 0)
                return same == 0;
        }
        return true;
    }

    int races = 0;

  private:
    unsigned next() { return (state_ = state_ * 1664525u + 1013904223u) >> 12; }

    void begin_launch() {
        ++launch_;
        now_.oldest = stamps::before_all_launches;
        now_.launch = stamps::floor(era_ + 1);
        begin_block();
    }
    void begin_block() {
        ++block_;
        begin_era();
        now_.block = now_.era;
    }
    void begin_era() {
        now_.era = stamps::floor(++era_);
        for (auto& step : steps_) step = 0;
    }

    /// 1: no race, both say; 0: a race, both say; -1: they disagree.
    int try_access() {
        const int thread = static_cast<int>(next() % 3) * 32 + static_cast<int>(next() % 3);
        const std::uint32_t step = steps_[thread / 32];
        const access a{
            launch_,        block_, thread, static_cast<int>(era_), static_cast<int>(step),
            next() % 3 == 0};
        bool race = false;
        for (const access& b : history_) race |= (a.write || b.write) && !ordered(a, b);
        history_.push_back(a);

        const stamp me = stamps::make(era_, step, thread);
        verdict found = verdict::fine;
        const bool by_rules = next() % 4 == 0;  // alone, as for a copy of many bytes
        if (by_rules || !(a.write ? quick_write(cell_, me, now_) : quick_read(cell_, me, now_)))
            found = a.write ? catena::exec::detail::write_cell(cell_, me, me, now_)
                            : catena::exec::detail::read_cell(cell_, me, now_);
        races += race;
        return race != (found != verdict::fine) ? -1 : race ? 0 : 1;
    }

    std::uint32_t state_;
    int launch_ = 0, block_ = 0;
    std::uint32_t era_ = 0;
    std::uint32_t steps_[3] = {};
    present now_;
    cell cell_{stamps::before_all_launches, stamps::never};
    std::vector<access> history_;
};

}  // namespace

TEST_CASE("stamps find exactly the races that the full history has") {
    int races = 0;
    for (std::uint32_t seed = 1; seed <= 200000; ++seed) {
        script s(seed * 2654435761u);
        INFO("seed " << seed);
        REQUIRE(s.agrees(60));
        races += s.races;
    }
    CHECK(races > 150000);
}

TEST_CASE(
    "memory whose stamps are forgotten holds what it held, and no access before is in the way") {
    global_memory global;
    const auto words =
        reinterpret_cast<std::uintptr_t>(global.allocate("workspace", 64, memory::uninitialized));
    const shadow_view view = global.open(words)->shadow;
    const auto present_in = [](std::uint32_t era) {
        const stamp begin = stamps::floor(era);
        return present{stamps::before_all_launches, begin, begin, begin};
    };
    const stamp late = stamps::make(100, 0, 5), early = stamps::make(1, 0, 700);
    const auto read_early = [&](std::uintptr_t address, std::size_t bytes) {
        return read_shadow(view, address, bytes, early, present_in(1)).what;
    };
    CHECK(write_shadow(view, words, 8, late, late, present_in(100)).what == verdict::fine);
    CHECK(write_shadow(view, words + 17, 1, late, late, present_in(100)).what == verdict::fine);
    CHECK(read_early(words, 8) == verdict::races_with_write);
    CHECK(read_early(words + 17, 1) == verdict::races_with_write);
    global.renumber();
    CHECK(read_early(words, 8) == verdict::fine);
    CHECK(read_early(words + 17, 1) == verdict::fine);
    CHECK(read_early(words + 8, 4) == verdict::uninitialized);
    CHECK(read_early(words + 16, 1) == verdict::uninitialized);
}
