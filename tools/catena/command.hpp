// The subcommands of `catena`, and the options that they share.
#pragma once

#include "failure.hpp"
#include "output.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace catena::tool {

inline constexpr const char* exit_code_help =
    "Exit codes: 0 done; 1 a check failed; 2 wrong usage or bad input (nothing is written); 3 "
    "nothing failed, but run or bench left something out, or tune decided nothing.";

inline constexpr const char* optimized_help =
    "As if the engine had asked for an order before it allocated: reorder, and deal the memory "
    "anew";

inline constexpr const char* host_help = "Use the host executor even if there is a GPU";

/// Each adds its subcommand to the app. When it was asked for, its exit code ends up in `code`.
void add_bench(CLI::App& app, int& code);
void add_bisect(CLI::App& app, int& code);
void add_coverage(CLI::App& app, int& code);
void add_diff(CLI::App& app, int& code);
void add_doctor(CLI::App& app, int& code);
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

/// --json and --output.
void add_output_options(CLI::App& command, output_options& to);

}  // namespace catena::tool
