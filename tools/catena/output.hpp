// Where results go: standard output, or a file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <string>

namespace catena::tool {

/// Options that several subcommands have.
struct output_options {
    bool json = false;
    std::string file;  ///< empty: standard output
};

/// Columns that text has room for: those of COLUMNS, or of the terminal that is standard output; 80
/// at least. 0: as many as there are, since it is neither.
std::size_t text_width();

/// Writes the text or JSON of a subcommand to where its options say. Text for standard output is
/// broken to text_width().
void write_result(const output_options& to, const std::string& text);

/// Writes `text` to a file beside `path` and renames it; an empty `path` is standard output, and
/// what is no file, such as /dev/null, is written to. Throws failure; then the file, if it was
/// there before, is as it was.
void write_whole(const std::string& path, const std::string& text);

/// Throws as write_whole would where no file can be made, before the work whose result is to go
/// there.
void refuse_unwritable(const std::string& path);

}  // namespace catena::tool
