// Tables joined: Catena's rows and those of an engine's own catalogue, picked from as one.
#include "catena/pick/join.hpp"
#include "catena/plan/step.hpp"

#include "catena/pick/pick.hpp"
#include "catena/plan/planner.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <cstring>
#include <string>
#include <type_traits>

using namespace catena;
using namespace catena_test;

namespace {

constexpr int half = toy_row_count / 2;

/// The toy table's first or second half of rows, with kernels and chains of its own.
table part(bool second, const void* const* kernels, const lowered_chain* chain) {
    table t = toy_table();
    t.rows = toy_rows + (second ? half : 0);
    t.row_count = second ? toy_row_count - half : half;
    t.chains = chain;
    t.chain_count = 1;
    t.kernels = kernels;
    t.launch = [](const void*, const launch_config&, const void*, std::size_t, void*) noexcept {
        return status{};
    };
    return t;
}

}  // namespace

TEST_CASE("Joined tables have all rows, chains, kernels and medians, in the order of the tables") {
    std::vector<const void*> first_kernels(half), second_kernels(toy_row_count - half);
    for (auto& k : first_kernels) k = &first_kernels;
    for (auto& k : second_kernels) k = &second_kernels;
    table first = part(false, first_kernels.data(), toy_chains);
    table second = part(true, second_kernels.data(), toy_chains + 1);
    second.launch = first.launch;
    const measurement of_first[] = {{7, 1, 2.f, 0}}, of_second[] = {{3, 0, 5.f, 0}, {9, 1, 4.f, 0}};
    first.measured = of_first, first.measured_count = 1;
    second.measured = of_second, second.measured_count = 2;

    const joined both = {first, second};
    const table t = both.rows();
    REQUIRE(t.state.ok());
    REQUIRE(t.row_count == toy_row_count);
    for (int i = 0; i < t.row_count; ++i) {
        CHECK(t.rows[i].computes == toy_rows[i].computes);
        CHECK(t.rows[i].policy == toy_rows[i].policy);
        CHECK(t.kernels[i] == (i < half ? static_cast<void*>(&first_kernels) : &second_kernels));
    }
    REQUIRE(t.chain_count == 2);
    CHECK(std::string(t.chains[1].name) == toy_chains[1].name);
    REQUIRE(t.measured_count == 3);  // ordered by problem
    CHECK(t.measured[0].row == half);
    CHECK(t.measured[1].row == 1);
    CHECK(t.measured[2].row == half + 1);
}

TEST_CASE("Joined tables keep what each prefers") {
    const preferred_row one[] = {{{.k = 512}, 1}};
    table first = part(false, nullptr, toy_chains), second = part(true, nullptr, toy_chains + 1);
    second.launch = first.launch;
    first.preferred = second.preferred = one;
    first.preferred_count = second.preferred_count = 1;
    const joined both = {first, second};
    REQUIRE(both.rows().preferred_count == 2);
    CHECK(both.rows().preferred[0].row == 1);
    CHECK(both.rows().preferred[1].row == half + 1);
    CHECK(both.rows().preferred[1].of.k == 512);
}

TEST_CASE("Tables that are bad, of two archs or of two executors do not join") {
    const table toy = toy_table();
    table bad = toy;
    bad.state = failure(status_code::no_instances, "none");
    CHECK(std::string(joined{toy, bad}.rows().state.message) == "none");
    CHECK(joined{toy, bad}.rows().row_count == 0);
    CHECK(std::string(joined{toy, table{}}.rows().state.message) ==
          "a joined table has no rows: name the set to join");
    table other = toy;
    other.target = arch_named("sm_80");
    CHECK(std::string(joined{toy, other}.rows().state.message).find("cannot join") !=
          std::string::npos);
    table host = toy;
    host.launch = [](const void*, const launch_config&, const void*, std::size_t, void*) noexcept {
        return status{};
    };
    CHECK(std::string(joined{toy, host}.rows().state.message).find("cannot join") !=
          std::string::npos);
    CHECK(joined{}.rows().row_count == 0);
}

TEST_CASE("Tables join if their ops of one's own are the same, wherever the lists lie") {
    const auto match = [](const tensor&, op_numbers&) { return false; };
    const auto twice = [](double v, const op_numbers&) { return 2 * v; };
    const auto thrice = [](double v, const op_numbers&) { return 3 * v; };
    const own_op listed[] = {{"twice", match, twice}, {"thrice", match, thrice}};
    const own_op again[] = {{"twice", match, twice}, {"thrice", match, thrice}};
    const own_op renamed[] = {{"twice", match, twice}, {"triple", match, thrice}};
    const own_op redefined[] = {{"twice", match, twice}, {"thrice", match, twice}};
    const own_ops all{listed, 2}, same{again, 2}, fewer{listed, 1}, other{renamed, 2},
        wrong{redefined, 2};
    const auto said = [&](const own_ops* ops) {
        table first = toy_table(), second = toy_table();
        first.ops = &all;
        second.ops = ops;
        return std::string(joined{first, second}.rows().state.message);
    };
    CHECK(said(&all).empty());
    CHECK(said(&same).empty());
    CHECK(said(nullptr).empty());
    using Catch::Matchers::Contains;
    CHECK_THAT(said(&fewer), Contains("at place 1 one has thrice, the other nothing;"));
    CHECK_THAT(said(&other), Contains("at place 1 one has thrice, the other triple;"));
    CHECK_THAT(said(&wrong), Contains("at place 1 one has thrice, the other thrice;") &&
                                 Contains("link it once"));
}

TEST_CASE("A table of other headers is named, joins no other and plans nothing") {
    table later = toy_table();
    std::strcpy(later.headers.made_by, "0.9.0");
    const std::string joined_with = joined{toy_table(), later}.rows().state.message;
    CHECK(joined_with.find("a table was compiled with Catena 0.9.0 (layout ") == 0);
    CHECK(joined_with.find(" is read by Catena " + std::string(headers_version)) !=
          std::string::npos);
    CHECK(joined_with.find("build the set anew") != std::string::npos);

    table wider = toy_table();
    wider.headers.layout += 1;
    wider.rows = reinterpret_cast<const row*>(8);  // nobody reads them
    const row_index index(wider);
    CHECK(index.rows().state.code == status_code::invalid_argument);
    CHECK(index.rows().row_count == 0);
    CHECK(pick(problem{}, wider).row < 0);
    CHECK(planner{wider}.plan(graph_view{}).state().code == status_code::invalid_argument);
}

namespace {

/// Does the stamp depend on what a member of a table points to? Numbers, functions and names hold
/// no layout of their own.
template <class Member>
constexpr bool stamped() {
    using pointee = std::remove_cv_t<std::remove_pointer_t<Member>>;
    if constexpr (std::is_pointer_v<Member>)
        return std::is_function_v<pointee> || std::is_void_v<std::remove_pointer_t<pointee>> ||
               std::is_same_v<pointee, char> || detail::table_types::has<pointee>;
    else
        return std::is_integral_v<Member> || detail::table_types::has<Member>;
}

}  // namespace

TEST_CASE("The stamp of a table depends on everything that the table holds") {
    // Structs are taken apart whole, so a new member does not compile until it is added here.
    const auto& [headers, target, rows, row_count, chains, chain_count, kernels, launch, prepare,
                 device_number, measured, measured_count, engine, engine_count, verdicts,
                 verdict_count, preferred, preferred_count, ops, device, state] = toy_table();
    const auto all = [](const auto&... member) {
        return (stamped<std::decay_t<decltype(member)>>() && ...);
    };
    CHECK(all(target, rows, row_count, chains, chain_count, kernels, launch, prepare, device_number,
              measured, measured_count, engine, engine_count, verdicts, verdict_count, preferred,
              preferred_count, ops, *device, state));
    const auto& [first, count] = own_ops{};
    CHECK(all(first, count));
    const auto& [name, match, reference] = own_op{};
    CHECK(all(name, match, reference));
    static_cast<void>(headers);
}

TEST_CASE("The stamp of a table depends on everything that a kernel takes") {
    const auto& [kind, row, heads, route, matvec, matmul] = step_args{};
    CHECK(stamped<std::decay_t<decltype(row)>>());
    CHECK(stamped<std::decay_t<decltype(heads)>>());
    CHECK(stamped<std::decay_t<decltype(route)>>());
    CHECK(stamped<std::decay_t<decltype(matvec)>>());
    CHECK(stamped<std::decay_t<decltype(matmul)>>());
    static_cast<void>(kind);
}
