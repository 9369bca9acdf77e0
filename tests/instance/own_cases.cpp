// The cases of computations that apply ops of an engine's own.
#include "sweep.hpp"

#include <algorithm>

namespace catena_test {

using namespace catena;

void apply_own(std::vector<row_case>& cases, const instance& on) {
    const stage_set does = on.computes.row().stages;
    const bool finished = does.has(stage_kind::own);
    if (finished)  // an own op may bound an infinity, and make something of a zero
        std::erase_if(cases, [](const row_case& c) {
            return c.put == row_values::infinity || c.put == row_values::zeros;
        });
    const auto usual = std::find_if(cases.begin(), cases.end(), [](const row_case& c) {
        return c.what == "k that is no power of two";
    });
    if (usual == cases.end()) return;
    const row_case plain = *usual;
    for (std::size_t i = 0; finished && i < cases.size(); ++i) {
        cases[i].own = own_function(static_cast<int>(i) % on.ops->count);
        if (does.has(stage_kind::join_residual)) cases[i].sum = cases[i].sum && cases[i].again;
    }
    for (int i = 0; i < on.ops->count; ++i) {
        row_case c = plain;
        c.what = on.ops->first[i].name;
        c.own = finished ? own_function(i) : gate_function::none;
        if (finished) cases.push_back(c);
        if (!gates(does)) continue;
        c.function = own_function(i);
        c.gate = does.has(stage_kind::gate);
        cases.push_back(c);
        c.alone = does.has(stage_kind::glu);
        cases.push_back(c);
    }
}

void apply_own(std::vector<matvec_case>& cases, const instance& on) {
    const epilogue_set can = on.computes.product().epilogue;
    const std::vector<format> formats = formats_in(on.computes.product().weights);
    const auto usual = std::find_if(cases.begin(), cases.end(), [](const matvec_case& c) {
        return c.what.starts_with("members with different parts");
    });
    if (usual == cases.end()) return;
    const matvec_case plain = *usual;
    const int rows = on.policy.visit([](const auto& p) { return p.rows; });
    for (std::size_t i = 0; can.has(epilogue_part::own) && i < cases.size(); i += 2) {
        if (cases[i].magnitude > 1) continue;  // of large values an op may leave only the sign
        for (member_shape& m : cases[i].members) {
            m.parts = m.parts | epilogue_part::own;
            m.own = own_function(static_cast<int>(i / 2) % on.ops->count);
        }
    }
    for (int i = 0; i < on.ops->count; ++i) {
        matvec_case c = plain;
        c.what = on.ops->first[i].name;
        c.members.clear();
        if (c.gate) c.gate->function = own_function(i);
        for (const epilogue_part part :
             {epilogue_part::glu, epilogue_part::act, epilogue_part::own}) {
            const bool pairs = part != epilogue_part::glu || rows % 2 == 0;
            if (!can.has(part) || !pairs) continue;
            for (const epilogue_set besides : {epilogue_set{}, can}) {
                epilogue_set parts = besides.without(epilogue_part::combine)
                                         .without(epilogue_part::glu)
                                         .without(epilogue_part::act) |
                                     part;
                if (on.computes.kind() == skeleton::matmul)
                    parts = parts_of_tile(on.policy.matmul(), parts);
                c.members.push_back({.type = formats.back(),
                                     .rows = 64,
                                     .parts = parts,
                                     .function = own_function(i),
                                     .own = own_function(i)});
            }
        }
        if (!c.members.empty()) cases.push_back(c);
    }
}

}  // namespace catena_test
