// The one list of stages: its order, its rules, and what a launch may leave out.
#include "catena/chain/stage.hpp"
#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <set>
#include <string>

using namespace catena;

namespace {

constexpr stage_kind kind_of(int i) { return static_cast<stage_kind>(i); }

}  // namespace

TEST_CASE("Every stage has a name of its own") {
    std::set<std::string> names;
    for (int i = 0; i < stage_kind_count; ++i) names.insert(name(kind_of(i)));
    CHECK(static_cast<int>(names.size()) == stage_kind_count);
}

TEST_CASE("A stage stands behind those before it in the list, and only emit stands twice") {
    for (int i = 0; i < stage_kind_count; ++i) {
        INFO(name(kind_of(i)));
        const stage_rule rule = rule_of(kind_of(i));
        const stage_set fewest = rule.behind;  // or none
        CHECK(stage_set::before(kind_of(i)).contains(rule.behind));
        CHECK(may_follow(fewest, kind_of(i)));
        CHECK(may_follow(fewest | kind_of(i), kind_of(i)) == (kind_of(i) == stage_kind::emit));
        for (int later = i + 1; later < stage_kind_count; ++later)
            CHECK_FALSE(may_follow(fewest | kind_of(later), kind_of(i)));
        for (int before = 0; before < i; ++before)
            if (rule.apart.has(kind_of(before)))
                CHECK_FALSE(may_follow(fewest | kind_of(before), kind_of(i)));
        if (!rule.behind.empty()) CHECK_FALSE(may_follow({}, kind_of(i)));
    }
}

TEST_CASE("A row serves with fewer of the stages that a launch can leave out, and with no other") {
    constexpr stage_set norm = stage_kind::rms_norm | stage_kind::mul_weight;
    CHECK(serves(norm, norm));
    CHECK(serves(norm | stage_kind::gate | stage_kind::combine, norm));
    CHECK(serves(norm, stage_set::of(stage_kind::rms_norm)));
    CHECK_FALSE(serves(stage_set::of(stage_kind::rms_norm), norm));
    CHECK_FALSE(serves(norm, stage_set::of(stage_kind::mul_weight)));  // the norm is always made
    CHECK_FALSE(serves(norm, stage_set{}));
    CHECK_FALSE(serves(norm | stage_kind::join_residual, norm));
    CHECK_FALSE(serves(stage_set::of(stage_kind::glu), stage_set{}));
    for (int i = 0; i < stage_kind_count; ++i)
        if (value_stages.has(kind_of(i))) CHECK_FALSE(optional_stages.has(kind_of(i)));
}

TEST_CASE("An instance's name lists the ops of its stages in their order") {
    row_computation c;
    CHECK(chain_part(c) == "quantize");
    c.stages = stage_kind::mul_weight | stage_kind::rms_norm | stage_kind::add_residual;
    CHECK(chain_part(c) == "add_rms_norm_mul");
    c.stages = stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::join_residual |
               stage_kind::next_norm | stage_kind::mul_next_weight;
    CHECK(chain_part(c) == "rms_norm_mul_add_rms_norm_mul");
}
