#include "sweep.hpp"

#include "catena_test/catch.hpp"

namespace catena_test {

using namespace catena;

namespace {

template <class Case>
void sweep_cases(const instance& on, const instance* peer, const std::vector<Case>& cases) {
    REQUIRE(!cases.empty());
    for (const Case& c : cases) {
        INFO(c.what);
        const auto outputs = run(on, c);
        check(on, c, outputs);
        if (peer != nullptr) CHECK(outputs == run(*peer, c));
    }
}

}  // namespace

void sweep(const instance& on, const instance* peer) {
    if (on.computes.kind == skeleton::row)
        sweep_cases(on, peer, row_cases(on.computes, on.numbers));
    else if (on.computes.kind == skeleton::matvec)
        sweep_cases(on, peer, matvec_cases(on.computes, on.numbers));
    else
        sweep_cases(on, peer, matmul_cases(on.computes, on.numbers));
}

}  // namespace catena_test
