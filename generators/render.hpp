// The instance sets as files: rows, tables, kernels, headers. Pure: text in memory, nothing
// written.
#pragma once

#include "expand.hpp"

#include <string>
#include <vector>

namespace catena::generator {

struct rendered_file {
    std::string path;  ///< below the project's root
    std::string content;
};

/// What the files of a catalogue's sets define, and where.
struct naming {
    std::string space = "CATENA_NAMESPACE::instances";  ///< namespace
    std::string headers = "catena/instances/";          ///< their folder, as files include them
    std::string symbols;                                ///< what a kernel's symbol ends with
    std::string ops;  ///< the header of ops of one's own; "": none
};

/// Every file, stamped, ordered by path.
std::vector<rendered_file> render(const std::vector<lowered_chain>& chains,
                                  const std::vector<instance_set>& sets);

/// `content` under a stamp: what made it, and a hash by which an edit by hand shows. `comment`
/// opens a comment line of the file's language.
std::string stamped(const std::string& comment, const std::string& content);

/// True when a text carries the stamp.
bool is_stamped(const std::string& text);

}  // namespace catena::generator
