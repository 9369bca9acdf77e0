// What one launch may write over what it reads: an operand of the same thread, element by element.
#include "cases.hpp"
#include "faults.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/plan/verify.hpp"

#include <string>

using namespace catena;
using namespace catena_test;

namespace {

/// Two matrices of one activation; to the first one's result a residual is added.
struct two_members {
    graph_builder g;
    id x, past, first, sum, second;

    explicit two_members(std::int64_t columns) {
        x = g.other({g.input(format::f32, {256, columns})});
        past = g.other({g.input(format::f32, {256, columns})});
        first = g.matmul(format::q4_K, 256, x);
        sum = g.add(first, past);
        second = g.matmul(format::q4_K, 256, x);
        g.other({sum});
        g.other({second});
    }

    plan planned() {
        options asked;
        asked.verify = false;
        return planner(instances::sm_90(), asked).plan(g.view());
    }
    /// The member of a plan that adds the residual, or that does not.
    static matvec_member& member(const plan_faults& p, bool adds) {
        for (std::size_t s = 0; s < p.steps(); ++s)
            for (int m = 0; m < p.members(s); ++m)
                if (p.members(s) == 2 && (p.member(s, m).residual != nullptr) == adds)
                    return p.member(s, m);
        FAIL("the two matrices have no launch of their own");
        return p.member(0, 0);
    }
};

constexpr std::int64_t many_columns[] = {1, 4, 40};

}  // namespace

TEST_CASE("a result over the residual that another member of the launch reads is a fault") {
    for (const std::int64_t columns : many_columns) {
        CAPTURE(columns);
        two_members c(columns);
        plan made = c.planned();
        REQUIRE(verify(c.g.view(), made).proved);
        c.g.share(c.second, c.past);  // as an allocator may: nobody reads the residual any more
        const verification own = verify(c.g.view(), c.planned());
        CHECK(own.state.message == std::string());
        CHECK(own.proved);
        const plan_faults inside{made};
        two_members::member(inside, false).dst = static_cast<float*>(c.g[c.second].data);
        const verification v = verify(c.g.view(), made);
        CHECK(v.state.code == status_code::wrong_plan);
        CHECK(std::string(v.state.message).find("a residual is written over by the same launch") !=
              std::string::npos);
    }
}

TEST_CASE("a result over the residual of its own member is none, row upon row") {
    for (const std::int64_t columns : many_columns) {
        CAPTURE(columns);
        two_members c(columns);
        c.g.share(c.sum, c.past);
        plan made = c.planned();
        const verification v = verify(c.g.view(), made);
        CHECK(v.state.message == std::string());
        CHECK(v.proved);
        const plan_faults inside{made};
        REQUIRE(two_members::member(inside, true).dst == c.g[c.past].data);
        if (columns == 1) continue;
        c.g.share(c.sum, c.past, 1024);  // a column further on
        two_members::member(inside, true).dst = static_cast<float*>(c.g[c.sum].data);
        CHECK(verify(c.g.view(), made).state.code == status_code::wrong_plan);
    }
}
