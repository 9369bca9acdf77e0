// From the catalogue and the policies to the instance sets: what is to be compiled, as plain data.
#pragma once

#include "catalogue_of.hpp"
#include "policy_change.hpp"
#include "registers.hpp"

#include "catena/pick/measured_file.hpp"
#include "catena/pick/row.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace catena::generator {

struct tuning;
using tunings = std::map<std::string, std::shared_ptr<const tuning>>;  ///< by arch, see tuning.hpp

/// The rows of one arch. Rows of one family stand together: they are compiled in one file.
struct instance_set {
    const arch* target = nullptr;
    std::vector<row> rows;
    std::vector<measurement> medians;           ///< of its rows, ordered by problem
    std::vector<engine_median> engine;          ///< what the engine is faster at, ordered by steps,
    std::vector<engine_verdict> verdicts = {};  ///< and in whole models
    std::vector<preferred_row> preferred = {};
};

/// What an engine was measured to be faster at: the files of archs, see engine.hpp. What they name
/// must outlive the sets.
using engine_records = std::map<std::string, measured_file>;

/// Does a set keep each of these rows? Plain rows of one format go where a plain row of more
/// formats does what they do.
std::vector<bool> without_repeated_plain(const std::vector<row>& rows);

/// The computations that the chains' launches need, without those that another one serves by
/// switching parts off.
std::vector<computation> computations_of(const catalogue& all);

/// The rows of one arch, with policies after `change` if it is not null. Those that `measured`
/// knows take the place of the others, as in Catena's own sets. Evidence points into `measured`,
/// which must outlive the set.
instance_set expand_for(const arch& target, const std::vector<computation>& computations,
                        policy_change change, const tunings& measured = {});

/// Every arch of the registry. Evidence points into `measured`, which must outlive the sets.
std::vector<instance_set> expand(const std::vector<computation>& computations,
                                 const evidence::records_by_name& records,
                                 const tunings& measured = {}, const engine_records& engine = {});

/// The rows of `set` for which `kept` is true, with what the set says of them.
instance_set part_of(const instance_set& set, const std::vector<bool>& kept);

/// The set as a planner takes it: its rows are described, their kernels are missing. Both must
/// outlive the table.
table described(const instance_set& set, const catalogue& all);

/// Is the row run and compiled by every build? All of the host and of sm_90; of every other arch
/// the row skeleton and one weight format, for the bodies are the same and only the policies
/// differ. CATENA_EVERY_ROW brings the others.
bool in_every_build(const arch& target, const computation& c);

/// The file that a row is compiled in, without its ending: "row_add_rms_norm_mul",
/// "matvec_q4_K_q6_K", "matmul_q4_K".
std::string family(const computation& c);

}  // namespace catena::generator
