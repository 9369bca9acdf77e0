// Everything that a row which attends has to stand, with policies of 16, 8 and 4 warps as the
// tables have them.
#include "every_case.hpp"

#include "attention_case.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation of_attentions{
    .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight | stage_kind::rope |
              stage_kind::store | stage_kind::attend,
    .emits = format_set::of(format::f32) | format::f16 | format::q8_1};
constexpr row_policy shorter{.threads = 512, .values = 4, .rows = 16, .cluster = 8, .vector = true};
constexpr row_policy longer{.threads = 256, .values = 8, .rows = 8, .cluster = 8, .vector = true};
constexpr row_policy single_blocks{.threads = 128, .values = 4, .rows = 4, .vector = true};

template <row_policy P>
instance attending() {
    return on_host(of_attentions, P,
                   reinterpret_cast<const void*>(&instances::run_on_host<of_attentions, P>),
                   "test");
}

template <class T>
std::vector<T> part_of(const std::vector<T>& whole, int which, int parts) {
    const auto length = static_cast<std::ptrdiff_t>(whole.size()) / parts;
    return {whole.begin() + which * length, whole.begin() + (which + 1) * length};
}

}  // namespace

TEST_CASE("Attention to heads of 128 elements") { stands_every_case<of_attentions, shorter>(); }
TEST_CASE("Attention to heads of 256 elements") { stands_every_case<of_attentions, longer>(); }
TEST_CASE("Attention by one block for each head of keys") {
    stands_every_case<of_attentions, single_blocks>();
}

TEST_CASE("What a query attends to depends neither on the other tokens nor on the threads' order") {
    for (const instance& on : {attending<shorter>(), attending<longer>()})
        for (const int positions : {50, 300}) {
            const attention_case c{.what = "",
                                   .k = head_values(on.policy.row()),
                                   .group = 3,
                                   .tokens = 5,
                                   .positions = positions,
                                   .turned = true,
                                   .masked = true,
                                   .sinks = true,
                                   .hidden = hidden_positions::third,
                                   .differs = true};
            const attention_output together = run(on, c);
            CHECK(together == run(on, c));
            CHECK(together == run(on, c));
            const std::vector<float> results = results_in(c, together.f32);
            for (int t = 0; t < c.tokens; ++t) {
                INFO("token " << t << " of " << positions << " positions");
                const attention_output alone = run_token(on, c, together, t);
                CHECK(alone.keys == together.keys);
                CHECK(alone.values == together.values);
                CHECK(results_in(c, alone.f32) == part_of(results, t, c.tokens));
                CHECK(alone.q8_1 == part_of(together.q8_1, t, c.tokens));
            }
        }
}
