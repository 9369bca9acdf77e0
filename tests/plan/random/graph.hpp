// A random graph in real memory: what the engine computes with, and what the planner is told of it.
#pragma once

#include "allocate.hpp"
#include "describe.hpp"
#include "memory.hpp"

#include "catena/match/detail/weight_scale.hpp"
#include "catena/match/op_name.hpp"
#include "catena/plan/optimize.hpp"

#include "catena_test/graph_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace catena_test {

class random_graph {
  public:
    /// `optimized`: in the order that catena::optimize gives the same graph before it is allocated.
    explicit random_graph(unsigned seed, bool optimized = false);

    /// Every tensor has its place. `told` is what the planner sees of them.
    std::vector<catena::tensor> truth, told;
    std::vector<id> nodes;
    std::vector<bool> wanted;  ///< per tensor: somebody looks at it in the end
    bool allocated = true;     ///< is the planner told where anything lies?
    catena::ordering ordered;  ///< what optimize said, if it was asked
    std::mt19937 random;

    catena::graph_view engine() const { return view_of(truth); }
    catena::graph_view planner() const { return view_of(told); }

    /// The nodes [first, last) of what the planner is told; `bare`: other nodes are shown as
    /// leaves, for all that a slice knows of them.
    struct slice {
        std::vector<catena::tensor> tensors;
        std::vector<id> nodes;
        catena::graph_view view() const {
            return {tensors.data(), static_cast<id>(tensors.size()), nodes.data(),
                    static_cast<id>(nodes.size())};
        }
    };
    slice cut(int first, int last, bool bare) const;

    /// Memory as it is before a run: NaNs, but for what the engine has put there.
    void reset();
    /// Who may touch what.
    machine permissions() const;
    std::vector<std::byte> bytes_of(id t) const;

    int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    bool one_in(int n) { return below(n) == 0; }

  private:
    friend class growth;

    std::vector<std::byte> arena_, state_;
    std::vector<const weight_pool::matrix*> pooled_;  // per tensor: its weight
    std::vector<int> below_;                          // per tensor: integers are below this
    std::vector<bool> cache_;                         // per tensor: keeps its bytes between graphs

    catena::graph_view view_of(const std::vector<catena::tensor>& tensors) const {
        return {tensors.data(), static_cast<id>(tensors.size()), nodes.data(),
                static_cast<id>(nodes.size())};
    }
    void optimize(const graph_builder& g);
    void place(graph_builder& g, std::vector<bool> wanted_roots);
    void tell();
};

}  // namespace catena_test
