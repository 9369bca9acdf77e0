// The generator of a catalogue of one's own: what catena_add_instances (CMake) makes a program of.
#pragma once

#include "catalogue_of.hpp"
#include "policy_change.hpp"

namespace catena::generator {

/// The program NAME_generate: `NAME_generate OUT ARCH...` writes the sets of the archs below OUT,
/// and says how many rows each has. With `--graph FILE` and `--shape SHAPE`, which may stand there
/// several times, it writes the rows that these graphs and matmuls need; with `--bytes N` or
/// `--seconds N` as well, as many of them as a set may have bytes of machine code or take time of
/// nvcc, and says what was left out. For that `--nvcc` and `-I` name the compiler and the folders
/// of Catena's headers. Policies are those after `change`, if it is not null, and those that were
/// measured where `--tuning` names a folder of records. Files that are the same are left. Returns
/// main's exit code; a sentence on stderr says what is wrong.
int generate_set(const char* name, const catalogue& all, policy_change change, int argc,
                 char** argv);

}  // namespace catena::generator
