// With Catch2 2 this is the file that compiles it: the library must not bring a main function.
#define CATCH_CONFIG_RUNNER
#include "instance_tests.hpp"

#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <utility>

namespace {

std::vector<catena::table> under_test;

/// Is the body of a row of table `index` run with a table before it?
bool runs_before(const catena::row& r, std::size_t index) {
    return std::any_of(under_test.begin(), under_test.begin() + static_cast<std::ptrdiff_t>(index),
                       [&](const catena::table& t) {
                           return std::any_of(
                               t.rows, t.rows + t.row_count, [&](const catena::row& other) {
                                   return other.computes == r.computes && other.policy == r.policy;
                               });
                       });
}

}  // namespace

TEST_CASE("Every row stands every case") {
    bool has_table = false;
    for (std::size_t i = 0; i < under_test.size(); ++i) {
        const catena::table& t = under_test[i];
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

int catena::test_instances(int argc, char** argv, std::vector<table> tables) {
    under_test = std::move(tables);
    Catch::Session session;
    session.configData().warnings =
        Catch::WarnAbout::NoAssertions;  // an arch without a table fails
    return session.run(argc, argv);
}
