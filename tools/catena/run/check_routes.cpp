// Steps that send tokens to their experts: all of it runs, and experts and weights are compared.
#include "pieces.hpp"

#include "catena/chain/reference.hpp"

#include <cstddef>
#include <cstring>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

namespace catena::tool {
namespace {

lowered_chain routing_chain() {
    lowered_chain chain;
    for (const stage_kind kind : {stage_kind::score, stage_kind::choose, stage_kind::weigh})
        chain.stages[chain.count++] = {.kind = kind};
    chain.stages[chain.count++] = {.kind = stage_kind::emit,
                                   .formats = format_set::of(format::f32)};
    return chain;
}

template <class T>
T* row(T* first, std::int64_t nb, std::int64_t token) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(first) + nb * token);
}

/// By how much choices may be less than in double. A softplus near 0 has the error of a float near
/// 1, of which the root is taken.
double rounding_of(const routing_numbers& n) {
    return n.score == scoring::sqrt_softplus ? 3e-4 : 1e-6;
}

/// The experts of a token that are none, or stand behind one whose choice is less than theirs by
/// more than rounding. Experts may be as good as each other but for that.
int wrong_experts(const double* choice, const std::vector<std::int32_t>& found, double rounding) {
    int wrong = 0;
    double before = std::numeric_limits<double>::infinity();
    std::set<std::int32_t> seen;
    for (const std::int32_t e : found) {
        const bool is_expert = e >= 0 && e < static_cast<std::int32_t>(found.size());
        if (!is_expert || !seen.insert(e).second || choice[e] > before + rounding)
            ++wrong;
        else
            before = choice[e];
    }
    return wrong;
}

/// The weights of a token that is sent to these experts.
std::vector<double> weights_of(const chain::inputs& in, const double* scores,
                               const std::vector<std::int32_t>& experts) {
    chain::inputs one = in;
    one.rows = 1;
    chain::evaluation e{.in = one, .value = {}};
    for (std::int32_t i = 0; i < in.routing.chosen; ++i)
        e.value.push_back(scores[experts[static_cast<std::size_t>(i)]]);
    chain::weigh_op::apply(e, {});
    return e.value;
}

}  // namespace

chain::inputs checker::seed_routing(const route_args& a, std::uint64_t key) {
    chain::inputs in;
    in.k = a.experts, in.rows = a.tokens, in.routing = a.numbers;
    for (std::int64_t t = 0; t < a.tokens; ++t) {
        const auto logits = seeded(random_bits(key, static_cast<std::uint64_t>(t)), in.k, 0, 4);
        write_values(on_, row(const_cast<float*>(a.x), a.x_nb, t), logits);
        in.x.insert(in.x.end(), logits.begin(), logits.end());
    }
    if (a.bias != nullptr) {
        const auto bias = seeded(random_bits(asked_.seed, where_.key(a.bias)), in.k, 0, 0.1f);
        write_values(on_, const_cast<float*>(a.bias), bias);
        in[operand::bias].assign(bias.begin(), bias.end());
    }
    return in;
}

std::vector<std::int32_t> experts_of(const chain::inputs& in) {
    const auto all = chain::reference(routing_chain(), in).chosen;
    std::vector<std::int32_t> out;
    for (std::int64_t t = 0; t < in.rows; ++t) {
        const auto first = all.begin() + t * in.k;
        out.insert(out.end(), first, first + in.routing.chosen);
    }
    return out;
}

void checker::compare_routing(const route_args& a, const chain::inputs& in, step_result& result) {
    const chain::outputs wanted = chain::reference(routing_chain(), in);
    nmse_sum weights;
    int wrong = 0;
    for (std::int64_t t = 0; t < a.tokens; ++t) {
        const auto bytes = read_bytes(on_, row(a.ids, a.ids_nb, t), 4 * in.k);
        std::vector<std::int32_t> found(static_cast<std::size_t>(in.k));
        std::memcpy(found.data(), bytes.data(), bytes.size());
        wrong += wrong_experts(wanted.choice.data() + t * in.k, found, rounding_of(a.numbers));
        if (wrong > 0) break;
        const auto expected = weights_of(in, wanted.scores.data() + t * in.k, found);
        const auto values = read_values(on_, row(a.weights, a.weights_nb, t), a.numbers.chosen);
        for (std::size_t i = 0; i < values.size(); ++i) weights.add(values[i], expected[i]);
    }
    result.comparisons.push_back({"misplaced experts", static_cast<double>(wrong), 0});
    result.comparisons.push_back({"weights", weights.value(), 1e-10});
}

step_result checker::run_routes(int step, const route_args& a) {
    const chain::inputs in =
        seed_routing(a, random_bits(asked_.seed, static_cast<std::uint64_t>(step)));
    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = a.tokens;
    compare_routing(a, in, result);
    return result;
}

}  // namespace catena::tool
