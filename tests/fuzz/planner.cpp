// Slices of given graphs that the bytes of an input change. If they change places in memory alone,
// the graph may overwrite its own values, but no plan is wrong. Whatever else they change, the view
// is refused or planned, and nothing outside of it is read.
#include "input.hpp"

#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/match/op_name.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

using namespace catena;

namespace {

constexpr int most_nodes = 80;

const json::graph& graph(int which) {
    static const json::graph all[] = {
        json::read(CATENA_TEST_DATA "/graphs/qwen3-8b-q4km.tg1.json.gz"),
        json::read(CATENA_TEST_DATA "/graphs/gpt-oss-20b-mxfp4.tg1.json.gz"),
        json::read(CATENA_TEST_DATA "/graphs/qwen3.6-35b-a3b-q4km.b4.json.gz")};
    return all[which];
}

struct changed_view {
    std::vector<tensor> tensors;
    std::vector<std::int32_t> nodes;
    catena_test::input_choices& choose;

    graph_view view() const {
        return {tensors.data(), static_cast<std::int32_t>(tensors.size()), nodes.data(),
                static_cast<std::int32_t>(nodes.size())};
    }
    std::int32_t any() {
        const std::int32_t node = nodes[choose.below(nodes.size())];
        const std::int32_t source = tensors[static_cast<std::size_t>(node)].src[choose.below(4)];
        return source == no_tensor ? node : source;
    }
    std::int32_t index_or_none() {
        return choose.below(static_cast<std::int32_t>(tensors.size()) + 1) - 1;
    }
    std::int64_t size() { return std::int64_t{1 + choose.below(1 << 16)} << choose.below(48); }

    /// Is it a leaf, or does it rename the memory of one? No allocator gives that away.
    bool of_leaf(const tensor& t) const {
        const std::int32_t named = named_by(t);
        return named == no_tensor ? t.kind == op::none
                                  : of_leaf(tensors[static_cast<std::size_t>(named)]);
    }
    /// A result lies where another tensor lies, and its views with it.
    void move() {
        const std::int32_t which = any(), other = any();
        tensor& t = tensors[static_cast<std::size_t>(which)];
        const tensor& to = tensors[static_cast<std::size_t>(other)];
        if (t.view_src != no_tensor || of_leaf(t) || of_leaf(to)) return;
        const std::uint64_t step = 128 * choose.below(std::uint64_t{64});
        const std::uint64_t from = t.offset;
        t.buffer = to.buffer, t.offset = to.offset + step;
        for (tensor& v : tensors)
            if (v.view_src == which) v.buffer = t.buffer, v.offset += t.offset - from;
    }
    void damage() {
        tensor& t = tensors[static_cast<std::size_t>(any())];
        switch (choose.below(14)) {
            case 0:
                t.ne[choose.below(4)] = size();
                break;
            case 1:
                t.nb[choose.below(4)] = size();
                break;
            case 2:
                t.allocated = size();
                break;
            case 3:
                t.kind = op_spellings[choose.below(std::size(op_spellings))].kind;
                break;
            case 4:
                t.type = static_cast<format>(choose.below(format_count));
                break;
            case 5:
                t.src[choose.below(max_src)] = index_or_none();
                break;
            case 6:
                t.view_src = index_or_none();
                break;
            case 7:
                t.uses = choose.below(5) + unknown_uses;
                break;
            case 8:
                t.flags = static_cast<std::uint8_t>(choose.below(256));
                break;
            case 9:
                t.weight = !t.weight;
                break;
            case 10:
                t.params[choose.below(max_params)] = choose.word();
                break;
            case 11:
                t.stream = choose.below(3);
                break;
            case 12:
                t.buffer = choose.below(4) - 1;
                break;
            default:
                t.offset = static_cast<std::uint64_t>(size());
        }
    }
};

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const planner by{instances::sm_90(), [] {
                                options o;
                                o.verify = false;
                                o.engine_may_skip_wait = true;
                                o.engine_version = ggml_cuda_version;
                                return o;
                            }()};
    catena_test::input_choices choose(data, size);
    const json::graph& g = graph(choose.below(3));
    const auto first = static_cast<std::ptrdiff_t>(choose.below(g.nodes.size()));
    const auto last = std::min(first + most_nodes, static_cast<std::ptrdiff_t>(g.nodes.size()));
    changed_view v{g.tensors, {g.nodes.begin() + first, g.nodes.begin() + last}, choose};
    const bool places_alone = choose.below(2) == 0;
    while (!choose.empty()) places_alone ? v.move() : v.damage();

    const std::vector<tensor> addressed = with_addresses(v.view());
    graph_view view = v.view();
    view.tensors = addressed.data();
    const plan p = by.plan(view);
    require(p.size() == view.node_count, "a plan has not the nodes of its view");
    const status proof = verify(view, p).state;
    if (p.state().ok() && places_alone)
        require(proof.code != status_code::wrong_plan, proof.message);
    const ordering o = optimize(view);
    require(o.state.ok() == p.state().ok(), "optimize and plan disagree about the view");
    if (!o.state.ok()) return 0;
    const std::vector<std::int32_t> nodes = o.nodes(view);
    view.nodes = nodes.data();
    const plan best = by.plan(view);
    require(best.state().ok(), "the better order has no plan");
    require(best.workspace_bytes() <= o.workspace_bound, "a workspace is above its bound");
    return 0;
}
