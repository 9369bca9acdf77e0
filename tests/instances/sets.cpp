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
#include <type_traits>

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
                if (t.rows[i].computes != c) continue;
                const policy& p = t.rows[i].policy;
                ++rows;
                if (c.kind() == skeleton::row) {  // heads and routers have registers for any k
                    const stage_set stages = c.row().stages;
                    const bool kept = has_heads(stages) || routes(stages);
                    plain += (p.row().values == 0 || kept) && !p.row().vector;
                }
                if (c.kind() == skeleton::matvec)
                    plain += copy_of(p) == copy_method::plain &&
                             p.matvec().activation == activation_source::global &&
                             columns_of(p) >= 8;
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

TEST_CASE("A device that is not there is named, and so are the sets where none has kernels") {
    const std::string said = instances::for_device(1000).state.message;
#if defined(CATENA_HAS_KERNELS)
    CHECK(said.find("CUDA device 1000 cannot be used: ") == 0);
#else
    CHECK(said.find("is linked: built in are host sm_75 ") != std::string::npos);
#endif
}

namespace {

/// What the generator says of a computation with a policy that `change` has changed.
template <class Policy>
struct objections {
    std::conditional_t<std::is_same_v<Policy, row_policy>, row_computation, product_computation>
        computes;
    Policy good;

    template <class Change>
    std::string operator()(const char* on, Change change) const {
        row r;
        Policy changed = good;
        change(changed);
        r.computes = computes, r.policy = changed;
        return generator::objection(*arch_named(on), r);
    }
};

}  // namespace

TEST_CASE("A policy of another skeleton is objected to") {
    row r;
    r.computes = row_computation{};
    r.policy = matvec_policy{.threads = 128};
    CHECK(generator::objection(*arch_named("sm_90"), r) == "the policy is one of another skeleton");
    r.policy = row_policy{.threads = 128};
    CHECK(generator::objection(*arch_named("sm_90"), r) == "");
    r.computes = product_computation{.kind = skeleton::matmul};
    CHECK(generator::objection(*arch_named("sm_90"), r) == "the policy is one of another skeleton");
}

TEST_CASE("A row policy that no kernel can have is objected to") {
    const objections<row_policy> said{{}, {.threads = 128}};
    CHECK(said("sm_90", [](row_policy&) {}) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.values = 6; }) ==
          "6 values a thread are no multiple of 4");
    CHECK(said("sm_90", [](row_policy& p) { p.rows = 8; }) ==
          "8 rows of a block have a warp each, which 128 threads are not");
    CHECK(said("sm_90", [](row_policy& p) { p.rows = 4; }) == "");
}

TEST_CASE("A matvec policy that no kernel can have is objected to, with the limit") {
    const objections<matvec_policy> said{{.kind = skeleton::matvec,
                                          .activation = format::q8_1,
                                          .weights = format_set::of(format::q4_K)},
                                         {.threads = 128,
                                          .min_blocks = 4,
                                          .rows = 2,
                                          .columns = 1,
                                          .piece = 1024,
                                          .stages = 4,
                                          .copy = copy_method::bulk,
                                          .activation = activation_source::shared}};
    CHECK(said("sm_90", [](matvec_policy&) {}) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.threads = 100; }) ==
          "100 threads a block; the arch runs at most 1024, in warps of 32");
    CHECK(said("sm_90", [](matvec_policy& p) { p.min_blocks = 17; }) ==
          "its launch bounds promise 2176 threads on an SM; the arch holds 2048");
    CHECK(said("sm_90", [](matvec_policy& p) { p.threads = 1024, p.min_blocks = 2; }) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 1000; }) ==
          "a piece of 1000 values is no multiple of 256");
    CHECK(said("sm_90", [](matvec_policy& p) { p.stages = 0; }) ==
          "rows, columns and stages must be positive");
    CHECK(said("sm_90", [](matvec_policy& p) { p.stages = 9; }) ==
          "a ring of 9 stages is longer than 8");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 32768; }) ==
          "it needs 591056 bytes of shared memory; a block may use 232448");
    CHECK(said("sm_90", [](matvec_policy& p) { p.product = inner_product::fma; }) ==
          "fma is for float weights, and no other product is");
    CHECK(said("sm_90", [](matvec_policy& p) { p.rows = 8, p.columns = 8; }) ==
          "a warp's lanes finish a result each, so 8 rows have no 8 columns");
    CHECK(said("sm_90", [](matvec_policy& p) { p.rows = 8, p.columns = 4; }) == "");
    CHECK(said("sm_80", [](matvec_policy&) {}) ==
          "the arch has no instruction for its copies (sm_90 on)");
    CHECK(said("sm_75", [](matvec_policy& p) { p.copy = copy_method::async; }) ==
          "the arch has no instruction for its copies (sm_80 on)");
    CHECK(said("sm_90", [](matvec_policy& p) { p.cluster = 3; }) ==
          "a band is shared by 2, 4 or 8 blocks, and not by 3");
    CHECK(said("sm_90", [](matvec_policy& p) { p.cluster = 8; }) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.cluster = 8, p.columns = 2; }) ==
          "blocks share a band of one column that another launch quantized");
    const auto split = [](matvec_policy& p) {
        p.threads = 256, p.min_blocks = 2, p.rows = 16, p.columns = 8, p.piece = 512, p.stages = 2;
        p.slices = 8, p.product = inner_product::mma;
    };
    CHECK(said("sm_90", split) == "");
    const auto with = [&](void (*change)(matvec_policy&)) {
        return said("sm_90", [&](matvec_policy& p) { split(p), change(p); });
    };
    CHECK(with([](matvec_policy& p) { p.slices = 2; }) ==
          "4 or 8 warps share their rows, and not 2");
    CHECK(with([](matvec_policy& p) { p.threads = 128; }) == "4 warps do not make 8 slices");
    const char* const who =
        "warps share rows of an mma with a shared activation that another launch made";
    CHECK(with([](matvec_policy& p) { p.activation = activation_source::global; }) == who);
    CHECK(said("sm_90", [](matvec_policy& p) { p.slices = 4; }) == who);
    CHECK(with([](matvec_policy& p) { p.stages = 1; }) ==
          "warps that share rows fill a stage while they multiply another: 2, and not 1");
    const objections<matvec_policy> router{{.kind = skeleton::matvec,
                                            .stages = stage_set::of(stage_kind::rms_norm),
                                            .activation = format::f32,
                                            .weights = format_set::of(format::f32)},
                                           {.threads = 256,
                                            .rows = 1,
                                            .columns = 1,
                                            .piece = 512,
                                            .stages = 4,
                                            .copy = copy_method::bulk,
                                            .product = inner_product::fma,
                                            .placement = norm_placement::passing}};
    CHECK(router("sm_90", [](matvec_policy&) {}) == "");
    CHECK(router("sm_90", [](matvec_policy& p) { p.activation = activation_source::shared; }) ==
          "a norm is made in passing from a row in global memory");
}

TEST_CASE("A matmul policy that no kernel can have is objected to") {
    objections<matmul_policy> said{
        {.kind = skeleton::matmul,
         .activation = format::q8_1_mmq_ds4,
         .weights = format_set::of(format::q4_K)},
        {.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 3}};
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    said.computes.stages = stage_set::of(stage_kind::rms_norm);
    CHECK(said("sm_90", [](matmul_policy&) {}) ==
          "a matmul leaves the norm of its activation to another launch");
    said.computes.stages = {};
    CHECK(said("sm_90", [](matmul_policy& p) { p.rows = 24; }) ==
          "24 rows of a warp are no whole mma of 16");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 12; }) ==
          "12 columns of a tile are no multiple of 8");
    CHECK(said("sm_90", [](matmul_policy& p) { p.threads = 512, p.columns = 24; }) ==
          "24 columns cannot be shared out to 16 warps");
    CHECK(said("sm_90", [](matmul_policy& p) { p.stages = 1; }) ==
          "one stage of a matmul is read while another is filled");
    CHECK(said("sm_90", [](matmul_policy& p) { p.piece = 384; }) ==
          "a piece of 384 values does not end within the padding of 512");
    CHECK(said("sm_90", [](matmul_policy& p) { p.piece = 128; }) ==
          "a piece of 128 values is no multiple of 256");
    CHECK(said("sm_90", [](matmul_policy& p) { p.copy = copy_method::bulk; }) ==
          "a tile has many short rows, and a warp starts bulk copies one after the other");
    CHECK(said("sm_90", [](matmul_policy& p) { p.slices = 3; }) == "4 warps do not make 3 slices");
    CHECK(said("sm_90", [](matmul_policy& p) { p.cluster = 2; }) ==
          "a tile is shared by 2 or more blocks, of warpgroups");
    said.computes.weights = format_set::of(format::f16);
    said.computes.activation = format::f32;
    said.good.piece = 32;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 24; }) ==
          "24 columns of a tile are no multiple of 16");
    CHECK(said("sm_90", [](matmul_policy& p) { p.threads = 256, p.columns = 16; }) ==
          "a warp's share of a stage's columns is not dealt out to all its lanes");
    said.good = {.threads = 256,
                 .rows = 32,
                 .columns = 128,
                 .piece = 64,
                 .stages = 3,
                 .copy = copy_method::async,
                 .product = tile_product::wgmma};
    CHECK(said("sm_90", [](matmul_policy&) {}) ==
          "warpgroups multiply fp8, f16, bf16 and what is decoded to it in a matmul, and nothing "
          "else, with an activation of that type");
    said.computes.activation = format::f16_mma;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_100", [](matmul_policy&) {}) ==
          "the arch does not multiply by warpgroups (sm_90 alone does)");
    CHECK(said("sm_90", [](matmul_policy& p) { p.threads = 64; }) ==
          "all threads are of whole warpgroups, and a warpgroup has all of K");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 64; }) ==
          "a warpgroup multiplies 128 columns, or 64 of fp8");
    CHECK(said("sm_90", [](matmul_policy& p) { p.stages = 2; }) ==
          "a warpgroup waits for its next stage before it fills another, so it has 3 or more");
    CHECK(said("sm_90", [](matmul_policy& p) { p.copy = copy_method::bulk; }) ==
          "a warpgroup takes pieces of 64 float weights that come by cp.async");
    said.computes.weights = format_set::of(format::bf16);
    CHECK(said("sm_90", [](matmul_policy&) {}) ==
          "warpgroups multiply fp8, f16, bf16 and what is decoded to it in a matmul, and nothing "
          "else, with an activation of that type");
    said.computes.weights = format_set::of(format::fp8_e4m3);
    said.computes.activation = format::fp8_group;
    said.good.piece = 128;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 64; }) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 32; }) ==
          "a warpgroup multiplies 128 columns, or 64 of fp8");
    CHECK(said("sm_90", [](matmul_policy& p) { p.piece = 256; }) ==
          "a warpgroup takes pieces of 128 float weights that come by cp.async");
    said.computes.weights = format_set::of(format::q4_K);
    said.computes.activation = format::bf16_mma;
    said.good.piece = 256;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.stages = 7; }) ==
          "a piece of 256 values is too short to be decoded before 7 stages fill its place");
    CHECK(said("sm_90", [](matmul_policy& p) { p.product = tile_product::mma; }) ==
          "warpgroups alone read bf16_mma and f16_mma");
}
