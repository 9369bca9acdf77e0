// The sets as a program sees them: complete, legal, named once, and with the host kernels that
// the build asks for.
#include "catena_catalogue.hpp"
#include "expand.hpp"
#include "policies.hpp"

#include "catena/instances/for_device.hpp"
#include "catena/instances/rows.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/domain.hpp"
#include "catena/pick/join.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/step.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include <algorithm>
#include <set>
#include <string>

using namespace catena;

table sm_90_elsewhere();  // fewer_sets.cpp

namespace {

std::vector<table> all_tables() {
    std::vector<table> all;
    for (const arch& a : arch_registry) all.push_back(instances::table_named(a.name));
    return all;
}

}  // namespace

TEST_CASE("Every arch of the registry has a table with the catalogue's chains") {
    const std::vector<lowered_chain> chains = generator::catena_catalogue().chains;
    for (const table& t : all_tables()) {
        REQUIRE(t.state.ok());
        REQUIRE(t.target != nullptr);
        INFO(t.target->name);
        CHECK(t.row_count > 0);
        REQUIRE(t.chain_count == static_cast<int>(chains.size()));
        for (int i = 0; i < t.chain_count; ++i) {
            CHECK(std::string(t.chains[i].name) == chains[static_cast<std::size_t>(i)].name);
            CHECK(std::string(t.chains[i].signature) ==
                  chains[static_cast<std::size_t>(i)].signature);
            REQUIRE(t.chains[i].count == chains[static_cast<std::size_t>(i)].count);
            for (int s = 0; s < t.chains[i].count; ++s) {
                const stage& made = chains[static_cast<std::size_t>(i)].stages[s];
                CHECK(t.chains[i].stages[s].kind == made.kind);
                CHECK(t.chains[i].stages[s].reads == made.reads);
                CHECK(t.chains[i].stages[s].formats == made.formats);
                CHECK(t.chains[i].stages[s].parts == made.parts);
            }
        }
    }
}

TEST_CASE("Every arch makes and quantizes in one step what models feed to matrices") {
    using catena_test::graph_builder;
    using catena_test::id;
    graph_builder g;
    const auto input = [&g] { return g.input(format::f32, {512, 2}); };
    const auto row = [&g] { return g.weight(format::f32, {512}); };
    const auto layer_norm = [&] {
        const id x = input();
        return g.same_shape(op::norm, x, {x});
    };
    const auto squared_relu = [&] {
        const id relu = g.unary(input(), sub_op::relu);
        return g.same_shape(op::sqr, relu, {relu});
    };
    const auto joined = [&] { return g.add(input(), g.mul(g.rms_norm(input()), row())); };
    const id groups =
        g.mul(g.rms_norm(g.input(format::f32, {128, 4, 2})), g.weight(format::f32, {128, 4}));
    const id values[] = {g.rms_norm(input()),
                         g.mul(g.rms_norm(input()), row()),
                         layer_norm(),
                         g.mul(layer_norm(), row()),
                         g.add(g.mul(layer_norm(), row()), row()),
                         g.unary(input(), sub_op::gelu),
                         squared_relu(),
                         g.mul(input(), g.unary(input(), sub_op::sigmoid)),
                         g.mul(input(), input()),
                         g.mul(input(), row()),
                         joined(),
                         g.mul(g.rms_norm(joined()), row()),
                         g.reshape(groups, {512, 2})};
    for (const id v : values) g.matmul(format::q4_K, 64, v);
    for (const table& t : all_tables()) {
        INFO(t.target->name);
        const plan p = planner(t).plan(g.view());
        REQUIRE(p.state().ok());
        CHECK(p.chains().size() == std::size(values));
        CHECK(p.steps().size() == 2 * std::size(values));
        for (const planned_chain& c : p.chains()) CHECK(!c.stages.empty());
        for (int i = 0; i < p.size(); ++i)
            CHECK((launches_nothing(g.view().node(i).kind) || p.at(i).step >= 0));
    }
}

/// Need no plain row serve it? Checks that there are as many `rows` as there should be.
bool is_option(const product_computation& c, const arch& target, int rows) {
    if (has_norm(c.stages) || routes(c.stages)) {  // else a row step makes the norm, or routes
        CHECK(rows >= 1);
        return true;
    }
    if (c.kind == skeleton::matmul &&
        absence_of(*c.weights.begin(), min_matmul_columns, target) != nullptr) {
        CHECK(rows == 0);
        return true;
    }
    if (!in_mma_blocks(c.activation)) return false;
    CHECK((rows > 0) == target.wgmma);  // beside a layout that takes every problem
    return true;
}

TEST_CASE("Every chain's computations have rows on every arch, a plain one among them") {
    const std::vector<computation> wanted =
        generator::computations_of(generator::catena_catalogue());
    for (const table& t : all_tables())
        for (const computation& c : wanted) {
            int rows = 0, plain = 0;
            for (int i = 0; i < t.row_count; ++i) {
                const policy& p = t.rows[i].policy;
                if (c.kind() == skeleton::matvec && serves(t.rows[i].computes, c.product()))
                    plain += copy_of(p) == copy_method::plain &&
                             p.matvec().activation == activation_source::global &&
                             columns_of(p) >= 8;
                if (t.rows[i].computes != c) continue;
                ++rows;
                if (c.kind() == skeleton::row) {  // heads and routers have registers for any k
                    const stage_set stages = c.row().stages;
                    const bool kept = has_heads(stages) || routes(stages);
                    // Unaligned attention stays with the engine.
                    plain += (p.row().values == 0 || kept) && (!p.row().vector || attends(stages));
                }
                if (c.kind() == skeleton::matmul) plain += copy_of(p) == copy_method::plain;
            }
            INFO(t.target->name << " " << generator::family(c));
            if (c.kind() != skeleton::row && is_option(c.product(), *t.target, rows)) continue;
            // Where all copies are plain, the smallest tile may be the only one that fits.
            CHECK(rows > (c.kind() == skeleton::matmul && !t.target->async_copy ? 0 : 1));
            CHECK(plain >= 1);
        }
}

TEST_CASE("Every row is legal for its arch") {
    for (const table& t : all_tables())
        for (int i = 0; i < t.row_count; ++i) {
            INFO(row_name(t, i));
            CHECK(generator::objection(*t.target, t.rows[i]) == "");
            CHECK(t.rows[i].order == order_of(t.rows[i].policy));
        }
}

TEST_CASE("A row's name is its own, in all sets together") {
    std::set<std::string> names;
    int rows = 0;
    for (const table& t : all_tables())
        for (int i = 0; i < t.row_count; ++i, ++rows) names.insert(row_name(t, i));
    CHECK(static_cast<int>(names.size()) == rows);
}

TEST_CASE("Every row says where its numbers come from") {
    for (const table& t : all_tables())
        for (int i = 0; i < t.row_count; ++i) {
            const provenance& p = t.rows[i].evidence;
            INFO(row_name(t, i));
            if (p.kind == provenance_kind::inherited) CHECK(arch_named(p.arch) != nullptr);
            if (p.kind == provenance_kind::measured) CHECK(std::string(p.date) != "");
        }
}

TEST_CASE("Every row that the build asks for has a kernel on the host") {
    for (const table& t : all_tables()) {
        const table host = instances::on_host(t);
        CHECK(host.launch == launch_host);
        for (int i = 0; i < t.row_count; ++i) {
            INFO(row_name(t, i));
            const computation& c = t.rows[i].computes;
            const bool asked = (CATENA_EVERY_ROW || generator::in_every_build(*t.target, c)) &&
                               instances::built(launch_part(c), formats_part(c));
            if (asked) CHECK(host.kernels[i] != nullptr);
            CHECK(host.kernels[i] == reinterpret_cast<const void*>(instances::host_kernel_for(
                                         t.rows[i].computes, t.rows[i].policy)));
        }
    }
}

TEST_CASE("A row that no set has gets no host kernel") {
    policy unheard_of = instances::table_named("host").rows[0].policy;
    unheard_of.row().values = 64;
    CHECK(instances::host_kernel_for(instances::table_named("host").rows[0].computes, unheard_of) ==
          nullptr);
}

TEST_CASE("A wrong arch names the archs that are built in") {
    const table t = instances::table_named("sm_70");
    CHECK(t.state.code == status_code::no_instances);
    CHECK(std::string(t.state.message) ==
          "no instances for arch 'sm_70': built in are host sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 "
          "sm_120; "
          "link catena::instances_<arch>");
    CHECK(t.row_count == 0);
    CHECK(instances::table_named(nullptr).state.code == status_code::no_instances);
}

TEST_CASE("Each file of a program finds the sets that it was compiled with") {
    CHECK(instances::table_named("sm_90").state.ok());
    CHECK(sm_90_elsewhere().state.code == status_code::no_instances);
}

TEST_CASE("A chain with ops of one's own is refused where no header has them") {
    generator::catalogue all = generator::catena_catalogue();
    for (lowered_chain& c : all.chains)
        for (stage& s : c.stages)
            if (s.kind == stage_kind::epilogue) s.parts = s.parts | epilogue_part::own;
    CHECK_THROWS_WITH(generator::computations_of(all),
                      Catch::Matchers::Contains("has an op of one's own: name its header, OPS"));
}

TEST_CASE("A device that is not there is named, and so are the sets where none has kernels") {
    const std::string said = instances::for_device(1000).state.message;
#if defined(CATENA_HAS_KERNELS)
    CHECK(said.find("CUDA device 1000 cannot be used: ") == 0);
#else
    CHECK(said.find("is linked: built in are host sm_75 ") != std::string::npos);
#endif
}
