// From the catalogue and the policies to the instance sets: what is to be compiled, as plain data.
#pragma once

#include "catena/pick/row.hpp"

#include <map>
#include <string>
#include <vector>

namespace catena::generator {

/// The rows of one arch. Rows of one family stand together: they are compiled in one file.
struct instance_set {
    const arch* target = nullptr;
    std::vector<row> rows;
};

/// Registers of a thread by row name, as ptxas reported them.
using registers_by_name = std::map<std::string, int>;

/// The chains of the catalogue, in its order.
std::vector<lowered_chain> catalogue_chains();

/// The computations that the chains' launches need, without those that another one serves by
/// switching parts off. Throws where no skeleton computes a chain.
std::vector<computation> computations_of(const std::vector<lowered_chain>& chains);

/// Every arch of the registry.
std::vector<instance_set> expand(const std::vector<computation>& computations,
                                 const registers_by_name& registers);

/// The file that a row is compiled in, without its ending: "row", "matvec_q4_K_q6_K".
std::string family(const computation& c);

}  // namespace catena::generator
