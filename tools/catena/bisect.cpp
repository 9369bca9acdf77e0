// catena bisect: finds the chains with which a command fails, by running it with others switched
// off (CATENA_CHAINS_OFF).
#include "bisect/smallest.hpp"
#include "command.hpp"
#include "json_text.hpp"
#include "tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace catena::tool {
namespace {

constexpr const char* variable = "CATENA_CHAINS_OFF";

struct bisect_options {
    std::string arch = "sm_90";
    std::vector<std::string> command;
    output_options output;
};

std::string joined(const std::vector<std::string>& names) {
    return fmt::format("{}", fmt::join(names, ","));
}

/// Runs the command with every chain off but `on`. What it prints goes to stderr: our own output
/// is the answer.
class trial {
  public:
    trial(const std::vector<std::string>& command, std::vector<std::string> chains)
        : command_(command), chains_(std::move(chains)) {
        const char* off = std::getenv(variable);
        if (off != nullptr) kept_off_ = off;
    }

    bool fails(const std::vector<std::string>& on) {
        std::vector<std::string> off;
        if (!kept_off_.empty()) off.push_back(kept_off_);
        for (const std::string& chain : chains_)
            if (std::find(on.begin(), on.end(), chain) == on.end()) off.push_back(chain);
        setenv(variable, joined(off).c_str(), 1);
        fmt::print(stderr, "run {}: {} of {} chains on: ", ++runs_, on.size(), chains_.size());
        std::fflush(stderr);
        const bool failed = run() != 0;
        fmt::print(stderr, "{}\n", failed ? "fails" : "succeeds");
        return failed;
    }

    int runs() const { return runs_; }

  private:
    const std::vector<std::string>& command_;
    std::vector<std::string> chains_;
    std::string kept_off_;
    int runs_ = 0;

    int run() const {
        std::vector<char*> words;
        for (const std::string& word : command_) words.push_back(const_cast<char*>(word.c_str()));
        words.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, 2, 1);
        pid_t child = 0;
        const int error = posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ);
        posix_spawn_file_actions_destroy(&files);
        if (error != 0)
            throw failure(fmt::format("{} cannot be run: name a program in PATH, or its file",
                                      command_.front()));
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
};

std::vector<std::string> chains_of(const table& t) {
    std::vector<std::string> names;
    for (int c = 0; c < t.chain_count; ++c) {
        const std::string name = t.chains[c].name;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

std::string as_text(const std::vector<std::string>& guilty, int runs) {
    return fmt::format(
        "After {} runs: the command fails with {} on, and succeeds with every chain off.\n"
        "{}={} leaves {} to the engine.\n",
        runs, joined(guilty), variable, joined(guilty), guilty.size() > 1 ? "them" : "it");
}

}  // namespace

void add_bisect(CLI::App& app, int& code) {
    auto o = std::make_shared<bisect_options>();
    CLI::App* command = app.add_subcommand(
        "bisect",
        "Find the chains with which a command fails: run it again and again with others switched "
        "off, by the variable CATENA_CHAINS_OFF. The command's process must read that variable and "
        "exit with 0 when its output is right.");
    command->footer(exit_code_help);
    command->add_option("COMMAND", o->command, "The command and its arguments, behind --")
        ->required();
    add_arch(*command, o->arch);
    add_output_options(*command, o->output);
    command->callback([o, &code] {
        refuse_unwritable(o->output.file);
        const std::vector<std::string> chains = chains_of(table_for(o->arch));
        trial t(o->command, chains);
        if (!t.fails(chains))
            throw failure("the command succeeds with every chain on: there is nothing to find");
        if (t.fails({}))
            throw failure(
                "the command fails with every chain off too: no chain is the reason. Does it fail "
                "with CATENA_ENABLED=0?");
        const std::vector<std::string> guilty = smallest_failing(
            chains, [&t](const std::vector<std::string>& on) { return t.fails(on); });
        const nlohmann::ordered_json json{
            {"command", o->command}, {"chains", guilty}, {"runs", t.runs()}};
        write_result(o->output, o->output.json ? json_text(json) : as_text(guilty, t.runs()));
        code = exit_check_failed;
    });
}

}  // namespace catena::tool
