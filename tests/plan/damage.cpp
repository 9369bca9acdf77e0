// Slices of the given graphs with wrong fields at seeded random places. An adapter can be wrong:
// its view is refused, or gets a plan like any other; under the sanitizers, where the compiler has
// them, nothing outside the view is read and no size overflows.
#include "random/tables.hpp"

#include "catena/engine/json.hpp"
#include "catena/match/detail/check.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/match/op_name.hpp"
#include "catena/plan/step.hpp"
#include "catena/plan/verify.hpp"
#include "catena/runtime.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

struct slice {
    std::vector<tensor> tensors;
    std::vector<std::int32_t> nodes;
    std::mt19937& random;

    graph_view view() const {
        return {tensors.data(), static_cast<std::int32_t>(tensors.size()), nodes.data(),
                static_cast<std::int32_t>(nodes.size())};
    }

    template <class Integer>
    Integer below(Integer n) {
        return static_cast<Integer>(random() % static_cast<std::mt19937::result_type>(n));
    }

    /// A node, or one of its sources.
    tensor& any() {
        tensor& node = tensors[static_cast<std::size_t>(nodes[below(nodes.size())])];
        const std::int32_t source = node.src[below(4)];
        return source == no_tensor ? node : tensors[static_cast<std::size_t>(source)];
    }
    std::int32_t index_or_none() {
        return below(3) == 0 ? no_tensor : below(static_cast<std::int32_t>(tensors.size()));
    }
    std::int64_t size() {
        static constexpr std::int64_t sizes[] = {0,         1,         2,        3,    5,    31,
                                                 32,        33,        256,      4095, 4096, 65536,
                                                 1ll << 20, 1ll << 31, 512,      1024, 8192, 14336,
                                                 1ll << 32, 1ll << 40, 1ll << 47};
        return sizes[below(std::size(sizes))];
    }

    void damage() {
        tensor& t = any();
        const std::function<void()> changes[] = {
            [&] { t.ne[below(4)] = size(); },
            [&] { t.nb[below(4)] = size(); },
            [&] { t.allocated = size(); },
            [&] { t.kind = op_spellings[below(std::size(op_spellings))].kind; },
            [&] { t.sub = sub_op_spellings[below(std::size(sub_op_spellings))].kind; },
            [&] { t.type = static_cast<format>(below(format_count)); },
            [&] { t.src[below(3)] = index_or_none(); },
            [&] { t.src[below(3)] = no_tensor; },
            [&] { t.src[below(max_src)] = index_or_none(); },
            [&] { t.view_src = index_or_none(); },
            [&] { t.uses = below(4) + unknown_uses; },
            [&] { t.flags = static_cast<std::uint8_t>(random()); },
            [&] { t.weight = !t.weight; },
            [&] { t.params[below(4)] = static_cast<std::int32_t>(random()); },
            [&] { t.stream = below(3); },
            [&] { t.buffer = below(3) + no_buffer; },
            [&] { t.offset = static_cast<std::uint64_t>(size()); },
        };
        changes[below(std::size(changes))]();
    }
};

/// Whatever the view, so must its plan be; in the order that is best before allocation too.
void plan_soundly(const planner& by, const graph_view& view) {
    const plan p = by.plan(view);
    const ordering o = optimize(view);
    REQUIRE(p.size() == view.node_count);
    REQUIRE(o.state.ok() == p.state().ok());
    alignas(workspace_alignment) static std::byte workspace[1];
    int index = 0;
    for (const step& s : p.steps()) {
        REQUIRE((s.config.blocks > 0 && s.config.threads > 0 && s.config.threads <= 1024));
        REQUIRE(s.bytes > 0);
        CHECK(p.args(index++, workspace).data() != nullptr);
        for (const std::int32_t n : p.covered(s)) REQUIRE(p.at(n).step >= 0);
    }
    if (!o.state.ok()) return;
    // The proof may find that a view contradicts itself; it must not read past it.
    const std::vector<tensor> tensors = with_addresses(view);
    graph_view addressed = view;
    addressed.tensors = tensors.data();
    addressed.scratch = scratch_address(view);
    const verification v = verify(addressed, by.plan(addressed));
    CHECK((v.state.ok() || v.state.code == status_code::wrong_plan ||
           v.state.code == status_code::wrong_graph));
    CHECK((v.state.ok() || !v.proved));
    const std::vector<std::int32_t> nodes = o.nodes(view);
    graph_view reordered = view;
    reordered.nodes = nodes.data();
    const plan best = by.plan(reordered);
    CHECK(best.state().ok());
    CHECK(best.workspace_bytes() <= o.workspace_bound);
}

}  // namespace

TEST_CASE("a damaged view is refused or planned soundly", "[damage]") {
    options asked;
    asked.verify = false;  // a view that contradicts itself has no right plan
    asked.engine_may_skip_wait = true;
    asked.engine_version = ggml_cuda_version;
    const planner by{shipped_table(), asked};
    std::mt19937 random{11};
    int refused = 0, rounds = 0;
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs"))
        if (entry.path().extension() == ".gz") files.insert(entry.path().string());
    files.insert(CATENA_TEST_DATA "/run/moe_ffn.json");
    for (const std::string& file : files) {
        const json::graph g = json::read(file);
        for (int round = 0; round < 80; ++round, ++rounds) {
            INFO(file << " round " << round);
            const auto first = static_cast<std::ptrdiff_t>(random() % g.nodes.size());
            const auto last = std::min(first + 80, static_cast<std::ptrdiff_t>(g.nodes.size()));
            slice s{g.tensors, {g.nodes.begin() + first, g.nodes.begin() + last}, random};
            for (int i = 0; i < 1 + round % 8; ++i) s.damage();
            tensor_places places;
            refused += check_tensors(s.view(), places).ok() ? 0 : 1;
            plan_soundly(by, s.view());
        }
    }
    CHECK(rounds > 1000);
    CHECK(refused > 10);
    CHECK(refused < rounds / 2);
}
