// Linear attention by the gated delta rule: its launch is run and compared, and each damage to what
// it reads or writes is found.
#include "run/check.hpp"

#include "catena/kernel/args.hpp"

#include "run_parts.hpp"

#include <cstdint>
#include <utility>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

constexpr std::int64_t head_k = 64, value_heads = 4, key_heads = 2;

struct layer_shape {
    std::int64_t tokens = 3, sequences = 1;
    bool by_value = false;
    bool moves = false;  ///< heads of keys are repeated, and what makes decays and shares copied
};

/// The delta rule with states that are two more than sequences, and the copy of the next states
/// over the first. The decay is a softplus times a factor, or there for each value of a key.
json::graph recalling_layer(const layer_shape& is) {
    graph_builder b;
    const auto [tokens, sequences, by_value, moves] = is;
    const std::int64_t size = head_k * head_k * value_heads;
    const id all = b.input(format::f32, {size, sequences + 2});
    const id picked = b.node(op::get_rows, format::f32, {size, sequences},
                             {all, b.input(format::i32, {sequences})});
    const auto heads = [&](std::int64_t k, std::int64_t count) {
        return b.input(format::f32, {k, count, is.tokens, is.sequences});
    };
    const auto of_keys = [&] {
        const id t = heads(head_k, key_heads);
        if (!is.moves) return t;
        const std::int64_t all = is.tokens * is.sequences, times = value_heads / key_heads;
        const id repeated = b.node(op::repeat, format::f32, {head_k, times, key_heads, all},
                                   {b.reshape(t, {head_k, 1, key_heads, all})});
        return b.reshape(repeated, {head_k, value_heads, is.tokens, is.sequences});
    };
    const id q = of_keys(), keys = of_keys(), v = heads(head_k, value_heads);
    // A number of each head, as it is or copied out of a longer row.
    const auto numbers = [&] {
        const shape ne = {value_heads, is.tokens, is.sequences};
        if (!is.moves) return b.input(format::f32, ne);
        const id all = b.input(format::f32, {2 * value_heads, is.tokens, is.sequences});
        const id part = b.view(all, {2, value_heads / 2, is.tokens, is.sequences}, 0);
        b[part].nb[1] = 16, b[part].nb[2] = b[all].nb[1], b[part].nb[3] = b[all].nb[2];
        return b.node(op::cont, format::f32, ne, {part});
    };
    id decay = heads(head_k, value_heads);
    if (!by_value) {
        id of = numbers();
        if (moves) of = b.add(of, b.weight(format::f32, {value_heads}));
        const id softened = b.unary(of, sub_op::softplus);
        decay = b.reshape(b.mul(softened, b.weight(format::f32, {value_heads})),
                          {1, value_heads, tokens, sequences});
    }
    const id share = moves ? b.unary(numbers(), sub_op::sigmoid) : numbers();
    const id net = b.node(op::gated_delta_net, format::f32,
                          {head_k * value_heads, (tokens + head_k) * sequences},
                          {q, keys, v, decay, b.reshape(share, {1, value_heads, tokens, sequences}),
                           b.reshape(picked, {head_k, head_k, value_heads, sequences})});
    b[net].params[0] = 1;
    const std::int64_t kept = size * sequences;
    const id to = b.view(all, {kept});
    const id copy =
        b.node(op::cpy, format::f32, {kept},
               {b.view(net, {kept}, 4 * head_k * value_heads * tokens * sequences), to});
    b.rename(copy, all);
    b.share(copy, to);
    b.other({b.view(net, {head_k, value_heads, tokens, sequences})});
    return as_file(b, "recalling");
}

/// What the only step of the layer is found to be.
step_result run_layer(const layer_shape& is, const change<heads_args>& before = {},
                      const change<heads_args>& behind = {}) {
    return run_only_step(recalling_layer(is), (is.by_value ? 3 : 5) + (is.moves ? 6 : 0), before,
                         behind);
}

}  // namespace

TEST_CASE("a launch that recalls agrees with the reference, as do values and states it writes",
          "[run][recalled]") {
    for (const std::int64_t tokens : {1, 3, 8})
        for (const std::int64_t sequences : {1, 2})
            for (const auto& [by_value, moves] :
                 {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
                CAPTURE(tokens, sequences, by_value, moves);
                const step_result r = run_layer({tokens, sequences, by_value, moves});
                CHECK(wrong_in(r) == "");
                CHECK(r.comparisons.size() == 2);
                CHECK(r.computed == static_cast<double>(value_heads * head_k / 8 * sequences));
                CHECK(r.computed == r.rows);
            }
}

TEST_CASE("what a launch that recalls reads or writes wrong is found", "[run][recalled]") {
    const auto before = [](const change<heads_args>& f, bool by_value = false) {
        return wrong_in(run_layer({.by_value = by_value}, f));
    };
    // The other states have not been written.
    CHECK(before([](heads_args& a) { a.recalled.state_ids = nullptr; }) == "fault");
    CHECK(before([](heads_args& a) { a.recalled.decay_factor = nullptr; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.recalled.by_value = false; }, true) == "f32 states");
    CHECK(before([](heads_args& a) { a.recalled.beta = a.recalled.decay; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.recalled.keys = a.recalled.queries; }) == "f32 states");
    CHECK(before([](heads_args& a) { a.recalled.queries = a.recalled.keys; }) == "f32");
    CHECK(before([](heads_args& a) { a.member[0].scale *= 1.01f; }) == "f32");
    CHECK(before([](heads_args& a) { a.recalled.next_state = nullptr; }) == "states");
    const auto moved = [](const change<heads_args>& f) {
        return wrong_in(run_layer({.moves = true}, f));
    };
    CHECK(moved([](heads_args& a) { a.recalled.decay_bias = nullptr; }) == "f32 states");
    CHECK(moved([](heads_args& a) { a.recalled.logit = false; }) == "f32 states");
    CHECK(moved([](heads_args& a) { a.recalled.neighbors = false; }) == "f32 states");
    const step_result one =
        run_layer({.sequences = 2}, [](heads_args& a) { a.recalled.sequences = 1, a.rows /= 2; });
    CHECK(wrong_in(one) != "");
    const auto behind = [](const change<heads_args>& f) { return wrong_in(run_layer({}, {}, f)); };
    CHECK(behind([](heads_args& a) { a.member[0].f32[head_k * value_heads * 3 - 1] += 0.5f; }) ==
          "f32");
    CHECK(behind([](heads_args& a) {
              a.recalled.next_state[head_k * head_k * value_heads - 1] += 0.5f;
          }) == "states");
}
