// The tuner on a device that does not exist: what it finds, what it keeps, what it spends.
#include "race.hpp"
#include "policies.hpp"
#include "simplicity.hpp"
#include "simulated.hpp"
#include "space.hpp"
#include "tuner.hpp"

#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/problems.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <stdexcept>

using namespace catena;
using namespace catena::tune;
using namespace catena_test;

namespace {

const arch& sm_90 = *arch_named("sm_90");

const described_set& listed() {
    static const described_set set(sm_90);
    return set;
}

computation computation_of(const problem& p) {
    const table t = listed().rows();
    return t.rows[pick(p, t).row].computes;
}

/// f16 weights: what warpgroups multiply.
product_problem float_prompt(std::int64_t columns, format layout = format::f32) {
    product_problem p = matvec_problem(4096, {{format::f16, 4096}}, columns);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = layout;
    return p;
}

product_problem prompt(std::int64_t columns, epilogue_set parts = {}) {
    product_problem p =
        matvec_problem(4096, {{.type = format::q4_K, .rows = 4096, .epilogue = parts}}, columns);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = format::q8_1_mmq_ds4;
    return p;
}

/// Four problems: a norm, a narrow matrix, a wide one of four columns, a prompt.
std::vector<shape> four_shapes() {
    std::vector<shape> out;
    const problem all[] = {norm_problem(4096), matvec_problem(2048, {{format::q4_K, 1024}}),
                           matvec_problem(4096, {{format::q4_K, 8192}}, 4), prompt(64)};
    for (const problem& p : all) out.push_back({computation_of(p), p, 10});
    return out;
}

tuning blank_of(simulated_device& on) {
    static const tuning nobody = blank(sm_90, listed(), four_shapes(), {}, {.candidates = 12});
    tuning t = nobody;
    t.on = on.who();
    return t;
}

const tuned_candidate& chosen(const tuned_problem& p) {
    const auto at = std::find_if(p.candidates.begin(), p.candidates.end(),
                                 [](const auto& c) { return c.is == verdict::chosen; });
    REQUIRE(at != p.candidates.end());
    return *at;
}

constexpr budget plenty = {.seconds = 1e6};

}  // namespace

TEST_CASE("What is chosen is the best there is, to within what noise allows", "[tune]") {
    // Medians that differ by four standard errors are a tie, and may mislead by as many. The tuner
    // takes the error from the quartiles of 33 samples, which make it half as large again at times.
    const double error = 1.253 * simulation{}.noise / std::sqrt(double{std::end(cuts)[-1]});
    const double allowed = (1.5 * 4 + 4) * std::hypot(error, error);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        simulated_device on(sm_90, {.seed = seed});
        tuning t = blank_of(on);
        REQUIRE(tune::tune(t, on, plenty, {}));
        for (const tuned_problem& p : t.problems) {
            double best = 1e9;
            for (const auto& c : p.candidates) best = std::min(best, on.true_us(p, c));
            INFO("seed " << seed << ", " << text(p.what));
            CHECK(on.true_us(p, chosen(p)) <= best * (1 + allowed));
        }
    }
}

TEST_CASE("A planted best is found wherever it stands", "[tune]") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        for (int planted = 0; planted < 12; planted += 5) {
            simulation s = {.seed = seed};
            s.truth = [planted](const tuned_problem& p, const tuned_candidate& c) {
                return &c - p.candidates.data() == planted ? 9.5 : 10.0;
            };
            simulated_device on(sm_90, s);
            tuning t = blank_of(on);
            REQUIRE(tune::tune(t, on, plenty, {}));
            for (const tuned_problem& p : t.problems) {
                if (static_cast<std::size_t>(planted) >= p.candidates.size()) continue;
                CHECK(&chosen(p) - p.candidates.data() == planted);
            }
        }
}

TEST_CASE("Of candidates that cannot be told apart the simplest is chosen", "[tune]") {
    int missed = 0, problems = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        simulation s = {.seed = seed};
        s.truth = [](const tuned_problem&, const tuned_candidate&) { return 10.0; };
        simulated_device on(sm_90, s);
        tuning t = blank_of(on);
        REQUIRE(tune::tune(t, on, plenty, {}));
        for (const tuned_problem& p : t.problems) {
            const auto simplest = std::min_element(
                p.candidates.begin(), p.candidates.end(), [](const auto& a, const auto& b) {
                    return generator::simpler(a.policy, b.policy);
                });
            ++problems;
            missed += &chosen(p) != &*simplest;
        }
    }
    CHECK(missed * 50 <= problems);
}

TEST_CASE("A difference that is real is not given up for simplicity", "[tune]") {
    simulation s;
    s.truth = [](const tuned_problem& p, const tuned_candidate& c) {
        for (const auto& other : p.candidates)
            if (generator::simpler(c.policy, other.policy)) return 10.0;
        return 9.0;  // the least simple of all
    };
    simulated_device on(sm_90, s);
    tuning t = blank_of(on);
    REQUIRE(tune::tune(t, on, plenty, {}));
    for (const tuned_problem& p : t.problems)
        for (const auto& other : p.candidates)
            CHECK_FALSE(generator::simpler(chosen(p).policy, other.policy));
}

namespace {

/// A row has none.
int stages_of(const policy& p) {
    return p.kind() == skeleton::row      ? 0
           : p.kind() == skeleton::matvec ? p.matvec().stages
                                          : p.matmul().stages;
}

}  // namespace

TEST_CASE("A candidate whose result is wrong has no time and is not chosen", "[tune]") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        simulation s = {.seed = seed};
        const auto wrong = [seed](const policy& p) {
            const int rows = p.visit([](const auto& own) { return own.rows; });
            return (static_cast<unsigned>(p.threads() / 32 + rows + stages_of(p)) + seed) % 3 == 0;
        };
        s.truth = [wrong](const tuned_problem&, const tuned_candidate& c) {
            return wrong(c.policy) ? 1.0 : 10.0;
        };
        s.fault = [wrong](const policy& p) { return std::string(wrong(p) ? "differs" : ""); };
        simulated_device on(sm_90, s);
        tuning t = blank_of(on);
        REQUIRE(tune::tune(t, on, plenty, {}));
        for (const tuned_problem& p : t.problems)
            for (const tuned_candidate& c : p.candidates) {
                CHECK((c.is == verdict::failed) == wrong(c.policy));
                CHECK((c.samples == 0) == wrong(c.policy));
                CHECK((c.why == "differs") == wrong(c.policy));
            }
    }
}

TEST_CASE("A budget is kept whatever it is", "[tune]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        simulated_device on(sm_90, {.seed = seed});
        tuning t = blank_of(on);
        const double seconds = 0.5 * static_cast<double>(seed * seed);
        const bool all = tune::tune(t, on, {.seconds = seconds}, {});
        CHECK(on.now() <= seconds);
        const bool decided = std::all_of(t.problems.begin(), t.problems.end(),
                                         [](const auto& p) { return p.decided; });
        CHECK(all == decided);
    }
}

TEST_CASE("Stopped anywhere and resumed, it comes to the same and measures nothing twice",
          "[tune]") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const simulation s = {.seed = seed};
        simulated_device whole(sm_90, s);
        tuning at_once = blank_of(whole);
        REQUIRE(tune::tune(at_once, whole, plenty, {}));

        int measured = 0;
        std::string record;
        for (bool done = false; !done;) {
            simulated_device on(sm_90, s);
            tuning t = blank_of(on);
            if (!record.empty()) resume(t, generator::parse_tuning(record, "record"), "record");
            int asked = 0;
            watcher watch;
            watch.stop = [&] { return ++asked > 40 + static_cast<int>(seed) * 7; };
            done = tune::tune(t, on, plenty, watch);
            measured += on.measurements();
            record = generator::tuning_text(t);
        }
        CHECK(record == generator::tuning_text(at_once));
        CHECK(measured == whole.measurements());
    }
}

TEST_CASE(
    "A candidate that breaks the device has failed, and a run that goes on does not meet it again",
    "[tune]") {
    struct breaking : simulated_device {
        using simulated_device::simulated_device;
        std::optional<std::vector<prepared>> prepare(const tuned_problem& p,
                                                     double deadline) override {
            for (std::size_t i = 0; i < p.candidates.size(); ++i)
                if (p.candidates[i].is == verdict::open && stages_of(p.candidates[i].policy) == 3)
                    throw device_broken(static_cast<int>(i), "an illegal address");
            return simulated_device::prepare(p, deadline);
        }
    };
    std::string record;
    int broken = 0;
    watcher watch;
    watch.decided = [&](const tuning& t) { record = generator::tuning_text(t); };
    tuning t;
    for (bool done = false; !done;) {
        breaking on(sm_90, {.seed = 1});
        t = blank_of(on);
        if (!record.empty()) resume(t, generator::parse_tuning(record, "record"), "record");
        try {
            done = tune::tune(t, on, plenty, watch);
        } catch (const device_broken&) {
            REQUIRE(++broken < 100);
        }
    }
    int failed = 0;
    for (const tuned_problem& p : t.problems)
        for (const tuned_candidate& c : p.candidates) {
            failed += c.is == verdict::failed;
            CHECK((c.is == verdict::failed) == (c.why == "an illegal address"));
            CHECK((c.is == verdict::failed) == (stages_of(c.policy) == 3));
        }
    CHECK(failed == broken);
    CHECK(failed > 0);
}

TEST_CASE("Another GPU's record is not gone on with", "[tune]") {
    simulated_device on(sm_90, {});
    tuning t = blank_of(on), other = t;
    other.on.gpu = "another";
    try {
        resume(t, other, "r.json");
        FAIL("it was gone on with");
    } catch (const std::runtime_error& e) {
        CHECK_THAT(e.what(), Catch::Contains("r.json was measured with another GPU (another, now"));
    }
}

TEST_CASE("A record keeps problems that are not asked for now", "[tune]") {
    simulated_device on(sm_90, {});
    tuning all = blank_of(on);
    REQUIRE(tune::tune(all, on, plenty, {}));
    tuning one = blank(sm_90, listed(), {four_shapes()[1]}, on.who(), plenty);
    resume(one, all, "r.json");
    CHECK(one.problems.size() == 4);
    CHECK(one.problems[0].decided);
}

TEST_CASE("Halving measures less than everything to the end", "[tune]") {
    simulated_device on(sm_90, {});
    tuning t = blank_of(on);
    REQUIRE(tune::tune(t, on, plenty, {}));
    std::size_t candidates = 0;
    for (const tuned_problem& p : t.problems) candidates += p.candidates.size();
    CHECK(on.measurements() * 3 < static_cast<int>(candidates) * std::end(cuts)[-1] * 2);
}

TEST_CASE("Candidates are measured in turns", "[tune]") {
    simulated_device on(sm_90, {});
    tuning t = blank_of(on);
    tuned_problem& p = t.problems[1];
    for (std::size_t i = 0; i < p.candidates.size(); ++i) {
        REQUIRE(next_candidate(p) == static_cast<int>(i));
        p.candidates[i].us.push_back(1);
    }
    CHECK(next_candidate(p) == 0);
}

TEST_CASE("Every candidate may run its problem, and those listed by hand are among them",
          "[tune]") {
    for (const shape& s : four_shapes()) {
        const std::vector<row> space = space_of(sm_90, s.computes),
                               by_hand = listed().rows_of(s.computes);
        CHECK(space.size() > by_hand.size());
        CHECK(std::is_sorted(space.begin(), space.end(), [](const row& a, const row& b) {
            return generator::simpler(a.policy, b.policy);
        }));
        const std::vector<candidate> few = candidates_of(space, by_hand, s.what, sm_90, 6);
        for (const candidate& c : few) CHECK(constraint(c.what, s.what, sm_90).why == limit::none);
        std::size_t able = 0;
        for (const row& r : by_hand) {
            if (constraint(r, s.what, sm_90).why != limit::none) continue;
            ++able;
            CHECK(std::any_of(few.begin(), few.end(),
                              [&](const candidate& c) { return c.what.policy == r.policy; }));
        }
        CHECK(few.size() >= able);
        CHECK(few.size() <= 6 + able);
    }
}

TEST_CASE("Tiles to choose from differ in everything that a tile is made of", "[tune]") {
    const product_problem p = prompt(16);
    const std::vector<row> space = space_of(sm_90, computation_of(p));
    for (const auto field :
         {&matmul_policy::threads, &matmul_policy::min_blocks, &matmul_policy::rows,
          &matmul_policy::columns, &matmul_policy::stages, &matmul_policy::slices}) {
        std::set<int> values;
        for (const row& r : space) values.insert(r.policy.matmul().*field);
        CHECK(values.size() > 1);
    }
    for (const row& r : space) CHECK(generator::objection(sm_90, r) == "");
    std::set<int> slices;
    for (const candidate& c : candidates_of(space, {}, p, sm_90, 16))
        slices.insert(c.what.policy.matmul().slices);
    CHECK(slices.count(4) == 1);
    const product_problem quantized = prompt(512, epilogue_set::of(epilogue_part::quantize));
    for (const candidate& c : candidates_of(space, {}, quantized, sm_90, 16))
        CHECK(tile_rows(c.what.policy.matmul()) % 32 == 0);
}

TEST_CASE(
    "Tiles of warpgroups are raced where a GPU has them, those that its registers and memory hold",
    "[tune]") {
    const product_problem p = float_prompt(512, format::f16_mma);
    const computation c = computation_of(p);
    const auto by_warpgroups = [&c](const arch& on) {
        std::vector<matmul_policy> out;
        for (const row& r : space_of(on, c)) {
            if (!catena::by_warpgroups(r.policy.matmul())) continue;
            CHECK(generator::objection(on, r) == "");
            CHECK(registers_left(r.policy.threads(), r.policy.min_blocks(), on) >=
                  usual_registers(r));
            out.push_back(r.policy.matmul());
        }
        return out;
    };
    std::set<std::pair<int, int>> shapes;  // rows of a tile, stages
    for (const matmul_policy& n : by_warpgroups(sm_90)) shapes.insert({tile_rows(n), n.stages});
    const std::set<std::pair<int, int>> wanted = {{64, 3},  {64, 4},  {128, 3},
                                                  {128, 4}, {256, 3}, {256, 4}};
    CHECK(shapes == wanted);
    for (const char* without : {"sm_80", "sm_120"})
        CHECK(by_warpgroups(*arch_named(without)).empty());

    std::vector<candidate> few = candidates_of(space_of(sm_90, c), {}, p, sm_90, 16);
    CHECK(std::count_if(few.begin(), few.end(), [](const candidate& k) {
              return catena::by_warpgroups(k.what.policy.matmul());
          }) > 2);
}

TEST_CASE("Policies of a space have names of their own: kernels are known by them", "[tune]") {
    std::vector<computation> all = {computation_of(float_prompt(512, format::f16_mma))};
    for (const shape& s : four_shapes()) all.push_back(s.computes);
    for (const computation& c : all) {
        std::set<std::string> names;
        for (const row& r : space_of(sm_90, c)) CHECK(names.insert(row_name(r, "sm_90")).second);
    }
}

TEST_CASE("What the cost model likes best is raced without its cluster, too", "[tune]") {
    const product_problem p = float_prompt(128, format::f16_mma);
    const std::vector<row> space = space_of(sm_90, computation_of(p));
    for (const std::size_t most : {1, 4}) {
        const std::vector<candidate> few = candidates_of(space, {}, p, sm_90, most);
        REQUIRE(few.size() > most);
        matmul_policy alone = few.front().what.policy.matmul();
        REQUIRE(alone.cluster > 0);
        alone.cluster = 0;
        CHECK(std::count_if(few.begin(), few.end(), [&](const candidate& c) {
                  matmul_policy how = c.what.policy.matmul();
                  how.min_blocks = alone.min_blocks;
                  return how == alone;
              }) == 1);
        CHECK(std::is_sorted(few.begin(), few.end(), [](const candidate& a, const candidate& b) {
            return a.predicted_us < b.predicted_us;
        }));
    }
}

TEST_CASE("Tiles of fp8 by warpgroups are raced, too, a scale's 128 values at a step", "[tune]") {
    product_problem p = matvec_problem(4096, {{format::fp8_e4m3, 4096}}, 512);
    p.needs.kind = skeleton::matmul;
    p.needs.activation = format::fp8_group;
    std::set<std::pair<int, int>> shapes;  // rows of a tile, stages
    for (const row& r : space_of(sm_90, computation_of(p))) {
        const matmul_policy& n = r.policy.matmul();
        if (!by_warpgroups(n)) continue;
        CHECK(n.piece == 128);
        CHECK(n.copy == copy_method::async);
        shapes.insert({tile_rows(n), n.stages});
    }
    const std::set<std::pair<int, int>> wanted = {{64, 3},  {64, 4},  {128, 3},
                                                  {128, 4}, {256, 3}, {256, 4}};
    CHECK(shapes == wanted);
}

TEST_CASE("The best tile of warpgroups is found among all tiles", "[tune]") {
    const product_problem p = float_prompt(512, format::f16_mma);
    const auto is_best = [](const matmul_policy& n) {
        return by_warpgroups(n) && tile_rows(n) == 128 && n.threads == 128;
    };
    simulation s;
    s.truth = [is_best](const tuned_problem&, const tuned_candidate& c) {
        return is_best(c.policy.matmul()) ? 8.0 : 10.0;
    };
    simulated_device on(sm_90, s);
    tuning t = blank(sm_90, listed(), {{computation_of(p), p, 1}}, {}, {});
    t.on = on.who();
    REQUIRE(tune::tune(t, on, plenty, {}));
    CHECK(is_best(chosen(t.problems.front()).policy.matmul()));
}
