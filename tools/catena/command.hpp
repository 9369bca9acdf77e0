// The subcommands of `catena`, and what they share: exit codes, options, failures.
#pragma once

#include <CLI/CLI.hpp>

#include <stdexcept>
#include <string>

namespace catena::tool {

/// Exit codes of every subcommand.
enum exit_code : int {
    exit_ok = 0,
    exit_check_failed = 1,  ///< it ran, and a result is outside its tolerance
    exit_bad_input = 2,     ///< wrong usage, or a file or an arch that cannot be used
    exit_incomplete = 3     ///< nothing failed, but what was asked for could not be done
};

/// What the user can mend: printed as one sentence, exit code 2.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline constexpr const char* exit_code_help =
    "Exit codes: 0 done; 1 a check failed; 2 wrong usage or bad input (nothing is written); 3 "
    "nothing failed, but run or bench left something out, or tune decided nothing.";

inline constexpr const char* optimized_help =
    "As if the engine had asked for an order before it allocated: reorder, and deal the memory "
    "anew";

inline constexpr const char* host_help = "Use the host executor even if there is a GPU";

/// Each adds its subcommand to the app. When it was asked for, its exit code ends up in `code`.
void add_bench(CLI::App& app, int& code);
void add_coverage(CLI::App& app, int& code);
void add_diff(CLI::App& app, int& code);
void add_explain(CLI::App& app, int& code);
void add_instances(CLI::App& app, int& code);
void add_pages(CLI::App& app, int& code);
void add_run(CLI::App& app, int& code);
void add_tune(CLI::App& app, int& code);
void add_verify(CLI::App& app, int& code);

/// An option that names a file to write, which an empty name would silently leave out.
CLI::Option* add_output_file(CLI::App& command, const char* name, std::string& to,
                             const char* help);

/// The option that names an instance set, as table_for takes it.
inline constexpr const char* arch_help = "The instance set, or native: that of the GPU";
CLI::Option* add_arch(CLI::App& command, std::string& to, const char* help = arch_help);

/// --arch and, in its place, --gpu; returns --arch.
struct target_options;
CLI::Option* add_target(CLI::App& command, target_options& to, const char* help = arch_help);

/// --seed and --rows.
struct check_options;
void add_check_options(CLI::App& command, check_options& to);

/// Options that several subcommands have.
struct output_options {
    bool json = false;
    std::string file;  ///< empty: standard output
};
void add_output_options(CLI::App& command, output_options& to);

}  // namespace catena::tool
