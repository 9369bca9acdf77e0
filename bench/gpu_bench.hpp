// Contenders of one case on a GPU: Catena fused and node by node, and every peer that is there.
#pragma once

#include "chains.hpp"
#include "contest.hpp"
#include "record.hpp"

#include <memory>
#include <string>
#include <vector>

namespace catena::bench {

struct gpu_options {
    std::int64_t bytes = std::int64_t{24} << 30;  ///< of device memory, at most
    int rounds = 21;
};

/// The GPU, its memory and the peers, for the time of a run.
class gpu_bench {
  public:
    /// Throws std::runtime_error where there is no GPU that `rows` run on.
    gpu_bench(const table& rows, const gpu_options& asked);
    ~gpu_bench();

    measured_on where() const;

    /// Peers that are not there in the whole run, and what would bring them.
    std::map<std::string, std::string> missing_peers() const;

    /// A case broke the device: this process can run nothing more on it, nor free its memory.
    bool broken() const;

    /// A chain or a layer for so many columns. What fails there is in the case.
    measured_case time(const std::string& kind, const model& m, const chain_case& c, int columns);

    /// A row of the table on its shapes; likewise.
    std::vector<measured_case> time_instance(int row);

  private:
    struct state;
    class lineup;
    std::unique_ptr<state> s_;

    std::vector<measured_case> cases_of(int row);
};

}  // namespace catena::bench
