// Graph files, plain and packed: each is refused in a sentence, or its graph is planned, and no
// plan is wrong.
#include "input.hpp"

#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace catena;
    static const planner by{instances::sm_90(), [] {
                                options o;
                                o.verify = true;
                                return o;
                            }()};
    const catena_test::input_file file(data, size);
    try {
        const json::graph g = json::read(file.path());
        const plan p = by.plan(g.view());
        if (p.state().code != status_code::wrong_plan) return 0;
        std::fprintf(stderr, "%s\n", p.state().message);
        std::abort();
    } catch (const json::error& e) {
        if (*e.what() == '\0') std::abort();
    }
    return 0;
}
