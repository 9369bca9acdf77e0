// A row of the table: one compiled kernel, what it computes, with which policy, and the evidence
// for the policy. A table is what an instance set hands to the planner.
#pragma once

#include "catena/exec/launch.hpp"
#include "catena/pick/stamp.hpp"

#include <optional>

namespace CATENA_NAMESPACE {

/// An instance set: all rows of an arch, the chains that they serve, and how they are launched.
struct table {
    table_stamp headers;  ///< stamp of the headers that made the table
    const arch* target = nullptr;
    const row* rows = nullptr;
    int row_count = 0;
    const lowered_chain* chains = nullptr;
    int chain_count = 0;
    const void* const* kernels = nullptr;  ///< kernel of each row; null: there is no code here
    launch_fn launch = nullptr;
    prepare_fn prepare = nullptr;  ///< makes kernels ready to be launched; null: nothing is done
    int device_number = 0;         ///< device that prepare gets
    const measurement* measured = nullptr;  ///< ordered by problem
    int measured_count = 0;
    const engine_median* engine = nullptr;  ///< ordered by steps
    int engine_count = 0;
    const engine_verdict* verdicts = nullptr;
    int verdict_count = 0;
    const preferred_row* preferred = nullptr;
    int preferred_count = 0;
    const own_ops* ops = nullptr;  ///< the engine's own ops that rows apply; null: none
    std::optional<arch> device;    ///< limits of the GPU that runs the table, if it is known
    /// The limits of the GPU that runs the table, those of its architecture if the GPU is not
    /// known, and no limits without a table.
    const arch& limits() const {
        static const arch none{};
        return device ? *device : target != nullptr ? *target : none;
    }
    status state;  ///< reason why there is no table, if there is none
};

namespace detail {

/// Makes an array of a table that of a vector.
template <class Vector, class T>
void point_to(const Vector& all, const T*& data, int& count) {
    data = all.data();
    count = static_cast<int>(all.size());
}

}  // namespace detail

/// The table, or one without rows whose state says that these headers cannot read it.
inline table readable(const table& t) {
    table none;
    none.state = match_headers(t.headers);
    return none.state.ok() ? t : none;
}

}  // namespace CATENA_NAMESPACE
