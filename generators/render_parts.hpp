// What the files of CUDA sets and of the host set have in common.
#pragma once

#include "code.hpp"
#include "render.hpp"

namespace catena::generator {

inline bool is_host(const instance_set& set) { return set.target->compute_capability == 0; }

/// "CATENA_HAS_SM_90"
std::string has_macro(const instance_set& set);

/// "instances/sm_90/"
std::string folder(const instance_set& set);

/// The families of a set in the order of its rows, with their rows.
struct family_rows {
    std::string name;
    std::vector<row> rows;
};
std::vector<family_rows> families(const std::vector<row>& rows);

/// The beginning of the sets' namespace, or of a part of it, in which Catena's names are known.
std::string opened(const naming& names, const char* part = "");

/// The line that includes the header of ops of one's own, if there are some.
std::string include_ops(const naming& names);

rendered_file chains_inc(const std::vector<lowered_chain>& chains);

/// computations.hpp: what the rows of the sets compute, by the names that rows.inc uses.
rendered_file computations_header(const std::vector<instance_set>& sets, const naming& names);

/// rows.inc, and the header with `declarations`.
rendered_file rows_inc(const instance_set& set);
rendered_file set_header(const instance_set& set, const naming& names, const std::string& includes,
                         const std::string& declarations);

/// The constants that a set's table points to: `rows` and `chains`, in an anonymous namespace.
std::string table_data();

}  // namespace catena::generator
