// Kernels in plain loops: what kernel/args.hpp says that a launch does, on the bytes that it is
// handed. They judge what they are handed, too: memory that a step may not touch, outputs over
// inputs of other threads, parts that the row does not compute, limits of its policy.
#pragma once

#include "catena/pick/row.hpp"

#include <vector>

namespace catena_test {

/// A table's rows with kernels: each row's kernel is the row itself. The stream of its launches is
/// a machine. The table must not outlive this.
class scalar_table {
  public:
    explicit scalar_table(const catena::table& rows);

    const catena::table& get() const { return table_; }

  private:
    catena::table table_;
    std::vector<const void*> kernels_;
};

}  // namespace catena_test
