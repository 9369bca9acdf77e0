#include "describe.hpp"

#include "engine.hpp"

#include "catena/match/op_name.hpp"
#include "catena/plan/step.hpp"

#include <sstream>
#include <vector>

namespace catena_test {

namespace {

using catena::format;

std::size_t index_of(std::int32_t t) { return static_cast<std::size_t>(t); }

}  // namespace

std::string describe(const catena::graph_view& view) {
    std::ostringstream out;
    std::vector<int> position(index_of(view.tensor_count), -1);
    for (int i = 0; i < view.size(); ++i) position[index_of(view.nodes[i])] = i;
    const auto write = [&](std::int32_t t) {
        const catena::tensor& x = view.at(t);
        out << catena::name(x.type) << '[';
        for (int d = 0; d < 4; ++d) out << (d > 0 ? " " : "") << x.ne[d];
        out << "] at " << x.buffer << '+' << x.offset;
        if (!catena::contiguous(x)) out << " nb1 " << x.nb[1];
        if (x.uses == catena::unknown_uses) out << " uses ?";
        if ((x.flags & catena::flag_output) != 0) out << " OUTPUT";
        if (!x.reachable) out << " unreachable";
    };
    for (int i = 0; i < view.size(); ++i) {
        const catena::tensor& t = view.node(i);
        out << i << ": ";
        for (const catena::op_spelling& s : catena::op_spellings)
            if (s.kind == t.kind) out << s.name << ' ';
        for (const catena::sub_op_spelling& s : catena::sub_op_spellings)
            if (s.kind == t.sub) out << s.name << (t.sub == catena::sub_op::none ? "" : " ");
        if (t.kind == catena::op::other) out << "OTHER ";
        write(view.nodes[i]);
        if (!runs(t)) out << " (not run)";
        if (t.stream != 0) out << " stream " << t.stream;
        if (t.view_src != catena::no_tensor) out << " names " << position[index_of(t.view_src)];
        out << " <-";
        for (const std::int32_t s : t.src) {
            if (s == catena::no_tensor) continue;
            out << ' ';
            if (position[index_of(s)] >= 0) {
                out << '#' << position[index_of(s)];
                continue;
            }
            out << (view.at(s).weight ? "weight " : "leaf ");
            write(s);
        }
        out << '\n';
    }
    return out.str();
}

std::string describe(const catena::plan& plan) {
    std::ostringstream out;
    const auto offsets = [&](std::int32_t chain, const char* verb) {
        const catena::planned_chain& c = plan.chains()[index_of(chain)];
        for (int l = 0; l < catena::layout_count; ++l)
            if (const format f = catena::activation_layouts[l]; c.layouts.has(f))
                out << verb << catena::name(f) << " of chain " << chain << " at "
                    << c.workspace_offset[l];
    };
    for (int i = 0; i < static_cast<int>(plan.steps().size()); ++i) {
        const catena::step& s = plan.steps()[index_of(i)];
        out << catena::name(s.what.kind()) << " step at " << s.launch_at << " for";
        for (const std::int32_t covered : plan.covered(s))
            out << ' ' << covered << (plan.at(covered).elided ? " (elided)" : "");
        const bool row = s.what.kind() == catena::skeleton::row;
        offsets(s.chain, row ? ", writes " : ", may read ");
        for (int m = 0; m < members_of(s.what); ++m)
            if (const std::int32_t c = plan.makes(i, m); c >= 0) offsets(c, ", writes ");
        out << '\n';
    }
    return out.str();
}

}  // namespace catena_test
