// The cases of a matvec that finds the experts of its tokens: every router, with the parts of an
// epilogue in turn.
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <iterator>

namespace catena_test {

using namespace catena;

std::vector<matvec_case> routed_cases(const product_computation& computes,
                                      const matvec_policy& how) {
    const std::vector<format> formats = formats_in(computes.weights);
    const format f = formats.back();
    int unit = 32;
    for (const format one : formats) unit = std::max(unit, info(one).block_elements);
    const member_shape plain = {f, 5}, hidden = {f, 32, every_part, gate_function::silu, false},
                       biased = {f, 7,
                                 epilogue_set::of(epilogue_part::bias) | epilogue_part::factor},
                       gated = {f, 9, epilogue_set::of(epilogue_part::glu) | epilogue_part::bias,
                                gate_function::swiglu_oai};
    member_shape shared = hidden;
    shared.dense = true;
    const std::vector<member_shape> members[] = {
        {plain}, {hidden}, {biased, gated}, {gated, hidden, shared}};
    std::vector<matvec_case> cases;
    for (route_case& routed : route_cases(routed_experts(how))) {
        if (routed.gap > 0 || routed.lies != route_case::place::apart) continue;
        if (routed.values != logits::different && cases.size() % 2 == 0) routed.tokens = 1;
        matvec_case c{.what = routed.what + ", and its experts",
                      .k = unit,
                      .members = members[cases.size() % std::size(members)],
                      .experts = routed.experts,
                      .slots = routed.numbers.chosen,
                      .ids = chosen_of(routed),
                      .band_rows = 64,
                      .width = cases.size() % 3 == 2 ? how.min_blocks : 1,
                      .early = cases.size() % 5 != 3};
        if (cases.size() % 4 == 1) c.k = how.piece * how.stages + c.k;
        c.routed = routed;
        for (member_shape& m : c.members) m.parts.bits &= computes.epilogue.bits;
        cases.push_back(c);
    }
    return cases;
}

}  // namespace catena_test
