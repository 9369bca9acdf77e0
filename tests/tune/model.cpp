// The cost model against the record of an H100: how far its predictions are off, and what its picks
// lose. The same is asked of problems that the constants were not fitted to.
#include "model.hpp"

#include "catena_catalogue.hpp"
#include "code.hpp"
#include "expand.hpp"
#include "h100_record.hpp"
#include "registers.hpp"
#include "walks.hpp"

#include "catena_test/problems.hpp"

#include <algorithm>
#include <cmath>

using namespace catena;
using namespace catena::evidence;
using namespace catena::generator;
using namespace catena::tune;

namespace {

const arch& sm_90 = *arch_named("sm_90");

/// The listed rows of sm_90 with the counts of the code that was timed.
const std::vector<row>& recorded() {
    static const std::vector<row> rows = [] {
        const auto sets = expand(
            computations_of(catena_catalogue()),
            read_register_file(CATENA_SOURCE_DIR "/bench/results/registers.sm_90.2026-11-26.txt"));
        const auto own = std::find_if(sets.begin(), sets.end(), [](const instance_set& s) {
            return std::string(s.target->name) == sm_90.name;
        });
        return own->rows;
    }();
    return rows;
}

const model_check& check() {
    static const model_check all(h100_record(), sm_90, recorded());
    return all;
}

const std::vector<double>& held_back() {
    static const std::vector<double> predicted = check().predicted_held_back();
    return predicted;
}

model_error of(const std::vector<model_error>& errors, const std::string& kind) {
    for (const model_error& e : errors)
        if (e.of == kind) return e;
    FAIL("no launch is of the kind " << kind);
    return {};
}

}  // namespace

TEST_CASE("The model foretells the launches that an H100 has timed", "[model]") {
    const auto errors = check().errors(check().predicted());
    const model_error all = of(errors, "all");
    CHECK(all.measurements > 3000);
    CHECK(all.typical > 0.95);
    CHECK(all.typical < 1.05);
    CHECK(all.deviation < 1.2);
    CHECK(all.near < 1.15);
    CHECK(all.lost < 0.05);
    for (const char* kind : {"row steps", "one column", "2 to 8 columns", "experts",
                             "routers, of float weights", "norm inside"}) {
        INFO(kind);
        CHECK(of(errors, kind).typical > 0.95);
        CHECK(of(errors, kind).typical < 1.05);
        CHECK(of(errors, kind).deviation < 1.2);
        CHECK(of(errors, kind).lost < 0.05);
    }
    CHECK(of(errors, "mxfp4").typical > 0.95);
    CHECK(of(errors, "mxfp4").typical < 1.05);
}

TEST_CASE("The model foretells problems that its constants were not fitted to", "[model]") {
    const auto errors = check().errors(held_back());
    for (const char* kind : {"row steps", "one column", "2 to 8 columns", "experts",
                             "routers, of float weights", "mxfp4", "norm inside"}) {
        INFO(kind);
        CHECK(of(errors, kind).typical > 0.95);
        CHECK(of(errors, kind).typical < 1.05);
        CHECK(of(errors, kind).deviation < 1.25);
        CHECK(of(errors, kind).near < 1.16);
        CHECK(of(errors, kind).lost < 0.05);
    }
    const model_error all = of(errors, "all");
    CHECK(all.typical > 0.95);
    CHECK(all.typical < 1.05);
    CHECK(all.deviation < 1.2);
    CHECK(all.near < 1.15);
    CHECK(all.lost < 0.05);
}

TEST_CASE("A prediction that displaces a median is of a faster launch", "[model]") {
    const displaced_medians all = check().displaced(held_back());
    CHECK(all.faster >= 5);
    CHECK(all.slower == 0);
}

TEST_CASE("The constants are those that a fit to the record gives, to a third", "[model]") {
    const cost_constants fitted = check().fitted_without(-1), here;
    CHECK(fitted.stalled == Approx(here.stalled).epsilon(0.15));
    CHECK(fitted.column_us == Approx(here.column_us).epsilon(0.3));
    CHECK(fitted.read_by_all_bytes == Approx(here.read_by_all_bytes).epsilon(0.3));
    CHECK(fitted.crowding == Approx(here.crowding).epsilon(0.3));
    CHECK(fitted.plain_slice_us == Approx(here.plain_slice_us).epsilon(0.3));
    CHECK(fitted.global_step_us == Approx(here.global_step_us).epsilon(0.3));
    CHECK(fitted.float_step_us == Approx(with_cold_columns().float_step_us).epsilon(0.3));
    CHECK(fitted.quantize_us == Approx(here.quantize_us).epsilon(0.3));
    CHECK(fitted.gate_us == Approx(here.gate_us).epsilon(0.3));
}

TEST_CASE("The model's steps of a walk come to what traces of an H100 have", "[model]") {
    tool::launch_record record =
        tool::read_launches(CATENA_SOURCE_DIR "/bench/results/launches.h100.2026-11-26.json.gz");
    const auto walks = walks_of(record, sm_90, recorded());
    REQUIRE(walks.size() == 9);
    for (const walk_sum& w : walks) {
        INFO(w.model << ", " << w.load);
        const double ratio = w.predicted_us / w.measured_us;
        CHECK(ratio > 0.91);
        CHECK(ratio < 1.07);
    }
    record.steps.front().instance = "matvec.q4_K.t1_r2_c1_q3.sm_90";
    CHECK_THROWS_WITH(walks_of(record, sm_90, recorded()),
                      Catch::Contains("is like matvec.q4_K.t1_r2_c1_q3.sm_90"));
    CHECK_THROWS_WITH(walks_of(record, *arch_named("sm_80"), recorded()),
                      Catch::Contains("ran on sm_90, not sm_80"));
}

TEST_CASE("Code that nobody has compiled is likely to be as that of the nearest row", "[model]") {
    const auto listed = std::find_if(recorded().begin(), recorded().end(), [](const row& r) {
        return r.computes.kind() == skeleton::matvec &&
               r.computes.product().weights == format_set::of(format::q4_K) &&
               r.policy.matvec().product == inner_product::dp4a &&
               r.policy.matvec().placement == norm_placement::producer &&
               r.policy.matvec().rows == 2;
    });
    REQUIRE(listed != recorded().end());
    row same = *listed, twice = *listed;
    same.code = {};
    CHECK(code_like(same, recorded()) == listed->code);
    twice.code = {};
    twice.policy.matvec().rows = 4;
    const warp_code one = listed->code.of[0], two = code_like(twice, recorded()).of[0];
    CHECK(two.product_issues > 1.5 * one.product_issues);
    CHECK(two.product_issues < 2 * one.product_issues);
    row other = *listed;
    other.code = {};
    other.computes.product().weights = format_set::of(format::q8_1);  // no matvec has these
    CHECK(code_like(other, recorded()) == warp_codes{});
}
