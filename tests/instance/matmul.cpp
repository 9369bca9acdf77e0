// The matmul's body under policies at the edges of what it takes and every format that can be taken
// apart: right for every case, and the same bits whatever the policy.
#include "edge_tiles.hpp"
#include "sampled.hpp"

#include "catena/match/pattern.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

template <format L, format... F>
constexpr product_computation tiles = {.kind = skeleton::matmul,
                                       .activation = L,
                                       .weights = (format_set{} | ... | F),
                                       .epilogue = every_part};

constexpr matmul_policy lone_warp = lone_tile(8, 256);
constexpr matmul_policy plain = {
    .threads = 64, .rows = 32, .columns = 16, .piece = 256, .stages = 3};
constexpr matmul_policy wide = {.threads = 128,
                                .rows = 16,
                                .columns = 64,
                                .piece = 512,
                                .stages = 4,
                                .copy = copy_method::async};

constexpr matmul_policy sliced = sliced_tile(256), sliced_plain = sliced_plain_tile(256);

template <product_computation C>
std::vector<instance> edges() {
    return {made<C, lone_warp>(), made<C, plain>(), made<C, wide>()};
}

/// Policies of one format on the layout that it wants.
template <format F>
void format_stands_every_case() {
    stands_every_case(edges<tiles<matmul_layout(F), F>>());
}

}  // namespace

TEST_CASE("A matmul stands every case, and all its policies give the same bits") {
    format_stands_every_case<format::q8_0>();
    format_stands_every_case<format::q4_0>();
    format_stands_every_case<format::q4_K>();
    format_stands_every_case<format::q6_K>();
    format_stands_every_case<format::q2_K>();
}

TEST_CASE("Warps that share the rows of a matmul stand every case, and give the same bits") {
    const auto stands = []<format F> {
        constexpr product_computation c = tiles<matmul_layout(F), F>;
        stands_every_case({made<c, sliced>(), made<c, sliced_plain>()});
    };
    stands.operator()<format::q8_0>();
    stands.operator()<format::q4_K>();
    stands.operator()<format::q6_K>();
}

TEST_CASE("A matmul reads the sums that its activation's layout carries, and adds the others") {
    stands_every_case(edges<tiles<format::q8_1_mmq_d4, format::q4_K>>());
}

TEST_CASE("A matmul of several formats takes each member's own") {
    stands_every_case(edges<tiles<format::q8_1_mmq_d4, format::q8_0, format::q6_K>>());
}

TEST_CASE("A matmul takes every format that can be taken apart") {
    const auto stands = []<format F> {
        const instance on = made<tiles<matmul_layout(F), F>, plain>();
        INFO(row_name(on.computes, on.policy, "test"));
        // A format with one minimum for 32 values wants their sum, which ds4 brings.
        constexpr bool wants_sum = kernel::unpack<F>::mins && kernel::unpack<F>::scales == 1;
        CHECK((matmul_layout(F) == format::q8_1_mmq_ds4 || !wants_sum));
        sweep(on, nullptr, sampled);
    };
    stands.operator()<format::q1_0>();
    stands.operator()<format::q2_0>();
    stands.operator()<format::q4_1>();
    stands.operator()<format::q5_0>();
    stands.operator()<format::q5_1>();
    stands.operator()<format::mxfp4>();
    stands.operator()<format::nvfp4>();
    stands.operator()<format::iq4_nl>();
    stands.operator()<format::iq4_xs>();
    stands.operator()<format::q3_K>();
    stands.operator()<format::q5_K>();
    stands.operator()<format::iq1_s>();
    stands.operator()<format::iq1_m>();
    stands.operator()<format::iq2_xxs>();
    stands.operator()<format::iq2_xs>();
    stands.operator()<format::iq2_s>();
    stands.operator()<format::iq3_xxs>();
    stands.operator()<format::iq3_s>();
    stands.operator()<format::tq1_0>();
    stands.operator()<format::tq2_0>();
}
