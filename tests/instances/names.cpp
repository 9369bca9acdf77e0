// Every name of every set: short enough to read, and says all that tells its row from others.
#include "catena/instances/all.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <string>
#include <vector>

using namespace catena;

namespace {

template <class Check>
void each_row(const Check& check) {
    for (const arch& a : arch_registry) {
        const table t = instances::table_named(a.name);
        REQUIRE(t.row_count > 0);
        for (int i = 0; i < t.row_count; ++i) check(t.rows[i], a, row_name(t, i));
    }
}

}  // namespace

TEST_CASE("A name that is read gives the fields of its row, and they give the name") {
    each_row([](const row& r, const arch& a, const std::string& name) {
        INFO(name);
        const std::optional<named_row> read = row_named(name);
        REQUIRE(read);
        const bool makes_rows = r.computes.kind() == skeleton::row;
        CHECK(read->launch == launch_part(r.computes));
        CHECK(read->formats ==
              (makes_rows ? r.computes.row().emits : r.computes.product().weights));
        CHECK(read->policy == r.policy);
        CHECK(read->arch == a.name);
        CHECK(std::string(read->launch) + "." + formats_part(read->formats) + "." +
                  policy_part(read->policy) + "." + std::string(read->arch) ==
              name);
    });
}

TEST_CASE("No name is longer than 66 characters") {
    std::string longest;
    each_row([&](const row&, const arch&, const std::string& name) {
        if (name.size() > longest.size()) longest = name;
    });
    INFO("the longest: " << longest << ", of " << longest.size());
    CHECK(longest.size() <= 66);
}
