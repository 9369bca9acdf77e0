// Weights that row steps bring to L2 for the steps behind them.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/arch/gpu.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/result/ahead.hpp"
#include "catena/plan/verify.hpp"

using namespace catena;
using namespace catena_test;
using Catch::Contains;

namespace {

/// A norm, a gated network of three matrices, and a norm of their sum that two more read; one of
/// those is the gate's matrix again.
struct network_case {
    explicit network_case(std::int64_t n = 1) : columns(n) {}

    std::int64_t columns;
    graph_builder g;
    id x = g.input(format::f32, {512, columns});
    id norm = g.scaled_norm(x);
    id gate = g.weight(format::q4_K, {512, 512}), up = g.weight(format::q4_K, {512, 512});
    id down = g.weight(format::q4_K, {512, 512}), last = g.weight(format::q4_K, {512, 1024});
    id inner = g.glu(g.mul_mat(gate, norm), g.mul_mat(up, norm));
    id sum = g.add(g.mul_mat(down, inner), x);
    id next = g.scaled_norm(sum);
    id again = g.mul_mat(gate, next), more = g.mul_mat(last, next);
    id end = g.other({norm, sum, next, again, more});
    std::int64_t matrix = extent_bytes(g[gate]);

    plan planned(std::int64_t percent) {
        table on = shipped_table();
        on.device = *arch_named("sm_90");
        options asked;
        asked.l2_percent_ahead = percent;
        return checked_plan(g, on, asked);
    }
};

/// "gate 128, up 64": what a step brings.
std::string ahead(const network_case& c, const plan& p, int step) {
    const row_args a = p.args(step, nullptr).row;
    std::string out;
    for (const weights_ahead& w : a.ahead)
        for (const auto& [name, t] : {std::pair{"gate", c.gate}, std::pair{"up", c.up},
                                      std::pair{"down", c.down}, std::pair{"last", c.last}})
            if (w.bytes > 0 && w.first == c.g.tensors[static_cast<std::size_t>(t)].data)
                out +=
                    (out.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(w.bytes);
    return out;
}

}  // namespace

TEST_CASE("a row step brings dense weights up to the next row step to L2, each once", "[ahead]") {
    network_case c;
    const plan p = c.planned(2);
    const std::string matrix = std::to_string(c.matrix), last = std::to_string(2 * c.matrix);
    REQUIRE(p.steps().size() == 5);
    CHECK(ahead(c, p, 0) == "up " + matrix + ", gate " + matrix + ", down " + matrix);
    CHECK(ahead(c, p, 3) == "last " + last);
    const step& first = p.steps()[0];
    CHECK(first.bytes_ahead == 3 * c.matrix);
    const weights_ahead whole{nullptr, static_cast<std::int32_t>(c.matrix)};
    CHECK(first.config.blocks == 1 + 3 * static_cast<std::uint32_t>(blocks_of(whole)));
    CHECK(p.choice_of(0).best.config.blocks == first.config.blocks);
}

TEST_CASE("a row step that has a block for every SM brings nothing", "[ahead]") {
    const plan few = network_case(131).planned(10), many = network_case(512).planned(10);
    CHECK(few.steps()[0].bytes_ahead > 0);
    for (const step& s : many.steps()) CHECK(s.bytes_ahead == 0);
}

TEST_CASE("without addresses a matrix is brought once too", "[ahead]") {
    network_case c;
    for (tensor& t : c.g.tensors) t.data = nullptr;
    const plan p = c.planned(2);
    REQUIRE(p.steps().size() == 5);
    CHECK(p.steps()[0].bytes_ahead == 3 * c.matrix);
    CHECK(p.steps()[3].bytes_ahead == 2 * c.matrix);
}

TEST_CASE("experts stay where they are, since nobody knows their ids yet", "[ahead]") {
    network_case c;
    const id ids = c.g.input(format::i32, {2, 1});
    const id experts = c.g.weight(format::q4_K, {512, 64, 4});
    c.g.mul_mat_id(experts, c.g.reshape(c.next, {512, 1, 1}), ids);
    CHECK(c.planned(2).steps()[3].bytes_ahead == 2 * c.matrix);
}

TEST_CASE("weights are brought ahead as far as a share of L2 goes, and by default none",
          "[ahead]") {
    network_case c;
    CHECK(l2_bytes(*arch_named("sm_90")) == 50 << 20);
    CHECK(c.planned(1).steps()[0].bytes_ahead == 3 * c.matrix);
    CHECK(c.planned(0).steps()[0].bytes_ahead == 0);
    CHECK(c.planned(0).steps()[0].config.blocks == 1);
    CHECK_THAT(to_string(c.planned(0).explain()), !Contains("L2"));
}

TEST_CASE("the budget cuts a weight, and misaligned weights stay where they are", "[ahead]") {
    alignas(16) static const std::byte memory[64] = {};
    row_args a, b;
    ahead_dealer deal(1000);
    deal.offer(0, memory, 160);  // no row step stands before
    deal.begin(a);
    deal.offer(1, memory + 2, 160);
    CHECK(bytes_ahead(a) == 0);
    deal.offer(0, memory, 160);
    deal.offer(0, memory, 160);  // not twice
    deal.offer(2, memory + 16, 4000);
    CHECK(bytes_ahead(a) == 160 + 832);  // a multiple of 16
    CHECK(a.ahead[1].first == memory + 16);
    deal.begin(b);
    deal.offer(2, memory + 16, 4000);
    CHECK(bytes_ahead(b) == 0);
    deal.offer(3, memory + 32, 160);
    CHECK(bytes_ahead(b) == 160);
    deal.end();
    deal.offer(4, memory + 48, 16);
    CHECK(bytes_ahead(b) == 160);
}

TEST_CASE("the proof finds bytes that are brought ahead and are no weight", "[ahead]") {
    network_case c;
    plan p = c.planned(2);
    const graph_view view = c.g.view();
    REQUIRE(verify(view, p).state.ok());
    const plan_faults inside{p};
    weights_ahead& w = inside.row(0).ahead[2];
    const weights_ahead right = w;
    w.first = c.g[c.sum].data;
    w.bytes = 512;
    inside.at(0).config.blocks -= static_cast<std::uint32_t>(blocks_of(right) - 1);
    CHECK_THAT(verify(view, p).state.message, Contains("weights ahead is read early"));
    w = {static_cast<const std::byte*>(right.first) + 8, 512};
    CHECK_THAT(verify(view, p).state.message, Contains("misaligned"));
    w = {right.first, 512};
    CHECK(verify(view, p).state.ok());
    --inside.at(0).config.blocks;
    CHECK_THAT(verify(view, p).state.message, Contains("do not have all rows"));
}

TEST_CASE("a report says which steps bring weights ahead, and what that may save", "[ahead]") {
    network_case c;
    const explanation e = c.planned(2).explain();
    CHECK(e.steps[0].bytes_ahead == 3 * c.matrix);
    CHECK(e.steps[0].predicted_gain_us > 0);
    CHECK(e.steps[1].predicted_gain_us == 0);
    CHECK_THAT(to_string(e), Contains("weights brought to L2 ahead, predicted to save") &&
                                 Contains(": " + std::to_string(3 * c.matrix) + " bytes"));
}
