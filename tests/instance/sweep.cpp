#include "sweep.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>

namespace catena_test {

using namespace catena;

namespace {

template <class Case>
void sweep_cases(const instance& on, const instance* peer, std::size_t every,
                 std::vector<Case> cases) {
    constexpr bool finds_own =
        !std::is_same_v<Case, convolution_case> && !std::is_same_v<Case, delta_case> &&
        !std::is_same_v<Case, scan_case> && !std::is_same_v<Case, attention_case> &&
        !std::is_same_v<Case, head_case> && !std::is_same_v<Case, route_case>;
    if constexpr (finds_own)
        if (on.computes.visit([](const auto& c) { return c.own; })) apply_own(cases, on);
    if constexpr (std::is_same_v<Case, matvec_case> || std::is_same_v<Case, attention_case>)
        std::erase_if(cases, [&on](const Case& c) { return !has_room(on, c); });
    REQUIRE(!cases.empty());
    const std::size_t named = std::hash<std::string>()(row_name(on.computes, on.policy, ""));
    for (std::size_t i = named % std::min(every, cases.size()); i < cases.size(); i += every) {
        const Case& c = cases[i];
        INFO(c.what);
        const auto outputs = run(on, c);
        check(on, c, outputs);
        if (peer != nullptr) CHECK(outputs == run(*peer, c));
    }
}

}  // namespace

void sweep(const instance& on, const instance* peer, std::size_t every) {
    if (on.computes.kind() == skeleton::row && convolves(on.computes.row().stages))
        sweep_cases(on, peer, every, convolution_cases(on.policy.row()));
    else if (on.computes.kind() == skeleton::row && recalls(on.computes.row().stages))
        sweep_cases(on, peer, every, delta_cases(on.policy.row()));
    else if (on.computes.kind() == skeleton::row && scans(on.computes.row().stages))
        sweep_cases(on, peer, every, scan_cases(on.policy.row()));
    else if (on.computes.kind() == skeleton::row && attends(on.computes.row().stages))
        sweep_cases(on, peer, every, attention_cases(on.policy.row()));
    else if (on.computes.kind() == skeleton::row && has_heads(on.computes.row().stages))
        sweep_cases(on, peer, every, head_cases(on.computes.row(), on.policy.row()));
    else if (on.computes.kind() == skeleton::row && routes(on.computes.row().stages))
        sweep_cases(on, peer, every, route_cases(routed_experts(on.policy.row())));
    else if (on.computes.kind() == skeleton::row)
        sweep_cases(on, peer, every, row_cases(on.computes.row(), on.policy.row()));
    else if (on.computes.kind() == skeleton::matvec)
        sweep_cases(on, peer, every, matvec_cases(on.computes.product(), on.policy.matvec()));
    else
        sweep_cases(on, peer, every, matmul_cases(on.computes.product(), on.policy.matmul()));
}

}  // namespace catena_test
