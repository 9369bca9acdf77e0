// Medians of a record, carried over to kernels and launches that have changed since.
#include "raced.hpp"
#include "tuning.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/problems.hpp"

#include <cmath>
#include <memory>
#include <string>

using namespace catena;
using namespace catena::generator;
using namespace catena_test;

namespace {

constexpr matvec_policy of_floats = {
    .threads = 128, .rows = 2, .columns = 1, .piece = 256, .product = inner_product::fma};
constexpr warp_codes counted = {{{500, 1500, 150, 700, 400, 1000}}};

/// A race of some policies, the last one fastest, in the shape and with the code that they have.
struct race {
    instance_set set = {.target = &sm_90, .rows = {}, .medians = {}, .engine = {}};
    tuned_problem problem;

    race(format weights, std::initializer_list<matvec_policy> policies) {
        problem = {.computes = matvec_of(weights),
                   .what = matvec_problem(4096, {{weights, 4096}}),
                   .places = 1,
                   .decided = true,
                   .candidates = {}};
        problem.what.product().needs.activation = problem.computes.product().activation;
        double us = 4 + static_cast<double>(policies.size());
        for (const matvec_policy& p : policies) {
            const row r = {.computes = problem.computes,
                           .policy = p,
                           .order = order_of(p),
                           .registers = 40,
                           .code = counted,
                           .evidence = {}};
            set.rows.push_back(r);
            problem.candidates.push_back(
                {.policy = p,
                 .registers = 40,
                 .shape =
                     shape_of_launch(r, problem.what, sm_90, blocks_per_sm(r, problem.what, sm_90)),
                 .code = counted,
                 .predicted_us = 7,
                 .is = us > 5 ? verdict::slower : verdict::chosen,
                 .why = "",
                 .samples = 33,
                 .median_us = us,
                 .spread = 0.01,
                 .us = {}});
            us -= 1;
        }
    }

    tuning record() const {
        return {.arch = "sm_90",
                .on = {"GPU", "580", "13.0", "2026-11-21", 1980, 2619},
                .problems = {problem}};
    }
    float median(std::size_t i) const {
        tunings all;
        all["sm_90"] = std::make_shared<const tuning>(record());
        const std::vector<measurement> medians = medians_of(set, all);
        REQUIRE(medians.size() == set.rows.size());
        return medians[i].median_us;
    }
};

}  // namespace

TEST_CASE("A median of code that has not changed stays as it is", "[tune]") {
    const race r(format::q4_K, {lean, rich});
    CHECK(r.median(0) == 6);
    CHECK(r.median(1) == 5);
    CHECK(race(format::f32, {of_floats}).median(0) == 5);  // columns are as cold as they were
}

TEST_CASE("Medians of a race are carried over to what has changed since, in the same order",
          "[tune]") {
    race r(format::q4_K, {lean, rich});
    r.problem.candidates[1].code.of[0].stage_issues *= 4;  // of the fastest, which has less now
    const float quicker = r.median(1);
    CHECK(quicker < 5);
    CHECK(std::abs(r.median(0) - 6 * quicker / 5) < 1e-4F);
    r.problem.candidates[1].code = {};  // as it is now
    r.problem.candidates[1].registers = 0;
    CHECK(r.median(1) == 5);
    r.problem.candidates[1].shape.band *= 4;  // a quarter of the blocks
    CHECK(r.median(1) < 5);
}

TEST_CASE("A record that has other counts than a kernel's is refused", "[tune]") {
    race r(format::q4_K, {lean});
    r.problem.candidates[0].code = {{{1, 2, 3, 4, 5, 6}}};
    const std::string text = tuning_text(r.record()), counts = "[[1,2,3,4,5,6]]";
    const auto with = [&](const char* other) {
        std::string out = text;
        return out.replace(out.find(counts), counts.size(), other);
    };
    CHECK_NOTHROW(parse_tuning(with("[[1,2,3,4,5,6],[1,2,3,4,5,6]]"), "t"));
    for (const char* other : {"[[1,2,3,4,5]]", "[[1,2,3,4,5,-6]]", "[[],[],[]]", "7"})
        CHECK_THROWS(parse_tuning(with(other), "t"));
}
