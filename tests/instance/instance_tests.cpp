// With Catch2 2 this is the file that compiles it: the library must not bring a main function.
#define CATCH_CONFIG_RUNNER
#include "instance_tests.hpp"

#include "compiled_rows.hpp"
#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <utility>

namespace {

std::vector<catena::tested_set> under_test;

/// Is the body of a row of table `index` run with a table before it?
bool runs_before(const catena::row& r, std::size_t index) {
    return std::any_of(under_test.begin(), under_test.begin() + static_cast<std::ptrdiff_t>(index),
                       [&](const catena::tested_set& set) {
                           const catena::table& t = set.host;
                           return std::any_of(
                               t.rows, t.rows + t.row_count, [&](const catena::row& other) {
                                   return other.computes == r.computes && other.policy == r.policy;
                               });
                       });
}

}  // namespace

TEST_CASE("Every row stands every case", "[host]") {
    bool has_table = false;
    for (std::size_t i = 0; i < under_test.size(); ++i) {
        const catena::table& t = under_test[i].host;
        DYNAMIC_SECTION(t.target->name) {
            has_table = true;
            REQUIRE(t.state.ok());
            for (int r = 0; r < t.row_count; ++r) {
                if (t.kernels[r] == nullptr || runs_before(t.rows[r], i)) continue;
                const std::string name = row_name(t, r);
                INFO(name);
                catena_test::instance on =
                    catena_test::on_host(t.rows[r].computes, t.rows[r].policy, t.kernels[r], name);
                on.ops = t.ops;
                catena_test::sweep(on);
            }
        }
    }
    REQUIRE(has_table);  // a name after -c that no arch has
}

TEST_CASE("What nvcc makes of every row stands a third of the cases", "[ptx]") {
    int kernels = 0;
    for (const catena::tested_set& set : under_test) DYNAMIC_SECTION(set.host.target->name) {
            REQUIRE(set.host.state.ok());
            kernels += catena_test::run_compiled(set.host, set.ptx, 3);
            CHECK(kernels == set.host.row_count);
        }
    REQUIRE(kernels > 0);  // a name after -c that no arch has
}

int catena::test_instances(int argc, char** argv, std::vector<tested_set> sets) {
    under_test = std::move(sets);
    Catch::Session session;
    session.configData().warnings =
        Catch::WarnAbout::NoAssertions;  // an arch without a table fails
    return session.run(argc, argv);
}
