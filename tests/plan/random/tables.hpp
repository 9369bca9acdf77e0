// The tables whose plans are tried: the one that ships, and an invented one.
#pragma once

#include "catena/pick/row.hpp"
#include "catena/plan/plan.hpp"

#include <random>
#include <vector>

namespace catena_test {

/// Rows and chains of the host set, without its kernels.
catena::table shipped_table();

/// The host set and matvecs that make their norm themselves, of all its formats and columns, on a
/// machine whose launches are so dear that this pays.
catena::table norm_inside_table();

/// The host set for a GPU, without the matvecs that multiply several columns of quantized weights:
/// matmuls do.
catena::table tiles_table();

/// A table with invented medians for what plans asked of it: of rows, and of the engine's own
/// kernels. It must not outlive the table that it was made of.
class tuned_table {
  public:
    tuned_table(const catena::table& rows, std::mt19937& random) : table_(rows), random_(random) {}

    /// As `catena tune` and a benchmark do for the steps of a plan, here by chance.
    void learn(const catena::plan& p);
    const catena::table& get() const { return table_; }

  private:
    catena::table table_;
    std::mt19937& random_;
    std::vector<catena::measurement> medians_;
    std::vector<catena::engine_median> engine_;

    bool one_in(unsigned n) { return random_() % n == 0; }
    float median() { return static_cast<float>(1 + random_() % 100); }
};

}  // namespace catena_test
