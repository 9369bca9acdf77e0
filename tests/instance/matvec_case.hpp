// One launch of a matvec instance: what it is given, what it computes, what it should.
#pragma once

#include "machine.hpp"

#include "catena/format/format.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

struct member_shape {
    catena::format type;
    int rows;
};

/// What a case puts into its activation, at one place of its last row, or everywhere.
enum class special { none, zeros, nan, infinity };

struct matvec_case {
    std::string what;
    int k = 0;
    std::vector<member_shape> members = {};
    int columns = 1;             ///< dense
    int experts = 0;             ///< 0: dense
    int slots = 1, x_slots = 1;  ///< expert
    std::vector<std::int32_t> ids =
        {};  ///< expert: [slots, tokens]; one outside 0 .. experts-1 gives NaN
    int band_rows = 0;
    int row_gap = 0;    ///< blocks between weight rows
    int offset = 0;     ///< bytes of every weight's address past a 16-byte boundary
    bool early = true;  ///< weights are leaves
    special put = special::none;

    int tokens() const { return static_cast<int>(ids.size()) / slots; }
    int x_rows() const { return experts == 0 ? columns : tokens() * x_slots; }
    int out_columns() const { return experts == 0 ? columns : static_cast<int>(ids.size()); }
};

/// Per member its output, [rows, columns] without gaps.
using matvec_outputs = std::vector<std::vector<float>>;

/// Launches the case. Fails the running test if the launch fails, or writes where it must not.
matvec_outputs run(const instance& on, const matvec_case& c);

/// Compares with the reference in double.
void check(const instance&, const matvec_case& c, const matvec_outputs& outputs);

}  // namespace catena_test
