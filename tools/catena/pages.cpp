// catena pages: the man pages and the completion for bash, from the options as they are declared.
#include "command.hpp"
#include "output.hpp"
#include "version.hpp"

#include "catena/instances/all.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace catena::tool {
namespace {

using option_list = std::vector<const CLI::Option*>;

option_list of(const CLI::App& command, bool positional) {
    option_list out;
    for (const CLI::Option* o : command.get_options())
        if (o->get_positional() == positional) out.push_back(o);
    return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

/// "FILE" of "FILE:no file is named": what stands for the value, without the checks. Empty: a flag.
std::string value_of(const CLI::Option& o) {
    const std::string type = o.get_type_size() == 0 ? "" : o.get_type_name();
    return type.substr(0, type.find_first_of(": "));
}

bool names_files(const CLI::Option& o) {
    const std::string type = o.get_type_name();
    return o.get_positional() || type.find("FILE") != std::string::npos ||
           type.find("DIR") != std::string::npos;
}

/// Text as roff has it: no character of it is an order.
std::string roff(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string item(const CLI::Option& o) {
    const std::string name =
        o.get_positional() ? "" : "\\fB" + roff(o.get_name(false, true)) + "\\fR";
    const std::string value = o.get_positional() ? o.get_name(true) : value_of(o);
    const std::string space = name.empty() || value.empty() ? "" : " ";
    const std::string standard = o.get_default_str();
    return fmt::format(
        ".TP\n{}{}{}\n{}{}\n", name, space, value.empty() ? "" : "\\fI" + roff(value) + "\\fR",
        roff(o.get_description()), standard.empty() ? "" : roff(" (default: " + standard + ")"));
}

std::string section(const char* title, const option_list& all) {
    std::string out = all.empty() ? "" : fmt::format(".SH {}\n", title);
    for (const CLI::Option* o : all) out += item(*o);
    return out;
}

/// The first sentence, as the line that whatis shows.
std::string first_sentence(const std::string& text) {
    return text.substr(0, std::min(text.find(": "), text.find(". ")));
}

/// The page of the command itself, or of one of its subcommands.
std::string man_page(const CLI::App& app, const CLI::App* sub) {
    const CLI::App& of_this = sub == nullptr ? app : *sub;
    const std::string name = sub == nullptr ? "catena" : "catena-" + sub->get_name();
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    std::string out = fmt::format(
        ".TH {} 1 \"\" \"catena {}\" \"Catena\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B catena{}\n",
        roff(title), version, roff(name), roff(first_sentence(of_this.get_description())),
        sub == nullptr ? "" : " " + sub->get_name());
    out += sub == nullptr ? "\\fISUBCOMMAND\\fR [\\fIOPTIONS\\fR]\n" : "[\\fIOPTIONS\\fR]\n";
    for (const CLI::Option* o : of(of_this, false))
        if (o->get_required())
            out += fmt::format("\\fB{}\\fR \\fI{}\\fR\n", roff(o->get_name()), roff(value_of(*o)));
    for (const CLI::Option* o : of(of_this, true)) {
        const std::string name =
            roff(o->get_name(true)) + (o->get_items_expected_max() > 1 ? "..." : "");
        out += o->get_required() ? name + "\n" : "[" + name + "]\n";
    }
    out += ".SH DESCRIPTION\n" + roff(of_this.get_description()) + "\n";
    out += section("ARGUMENTS", of(of_this, true)) + section("OPTIONS", of(of_this, false));
    if (sub == nullptr) {
        out += ".SH SUBCOMMANDS\nEach has a page of its own.\n";
        for (const CLI::App* s : commands_of(app))
            out += fmt::format(".TP\n.BR catena\\-{} (1)\n{}\n", roff(s->get_name()),
                               roff(first_sentence(s->get_description())));
    }
    if (const std::string footer = of_this.get_footer(); !footer.empty())
        out += ".SH EXIT STATUS\n" + roff(footer) + "\n";
    return out + (sub == nullptr ? "" : ".SH SEE ALSO\n.BR catena (1)\n");
}

std::string option_names(const CLI::App& command) {
    std::string out;
    for (const CLI::Option* o : of(command, false))
        for (const std::string& name : o->get_lnames()) out += (out.empty() ? "--" : " --") + name;
    return out;
}

std::string bash_completion(const CLI::App& app) {
    std::string names, values, words;
    for (const CLI::App* c : commands_of(app)) {
        names += c->get_name() + " ";
        for (const CLI::Option* o : of(*c, false))
            for (const std::string& name : o->get_lnames())
                if (const std::string value = value_of(*o); !value.empty())
                    values += fmt::format("        \"{} --{}\") {} ;;\n", c->get_name(), name,
                                          value == "ARCH"   ? "words=$archs"
                                          : names_files(*o) ? "files=yes"
                                                            : "return");
        words += fmt::format("        {}) words=\"{}\"{} ;;\n", c->get_name(), option_names(*c),
                             of(*c, true).empty() ? "" : " files=yes");
    }
    return fmt::format(R"(# Completion of the command catena for bash, written by catena pages.
_catena() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} words= files= archs="{} native"
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{}{}" -- "$cur"))
        return
    fi
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}        *) case "${{COMP_WORDS[1]}}" in
{}        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [ -z "$files" ] || COMPREPLY+=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _catena catena
)",
                       instances::built_in + 1, names, option_names(app), values, words);
}

int write_pages(const CLI::App& app, const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw failure(folder + ": cannot be made: " + error.message());
    write_whole(folder + "/catena.1", man_page(app, nullptr));
    for (const CLI::App* c : commands_of(app))
        write_whole(folder + "/catena-" + c->get_name() + ".1", man_page(app, c));
    write_whole(folder + "/catena.bash", bash_completion(app));
    return exit_ok;
}

}  // namespace

void add_pages(CLI::App& app, int& code) {
    auto folder = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand(
        "pages",
        "Write the man pages of the command, and catena.bash, its completion, to a folder");
    command->footer(exit_code_help);
    command->add_option("FOLDER", *folder, "Where they go; it is made if it is not there")
        ->required();
    command->callback([&app, folder, &code] { code = write_pages(app, *folder); });
}

}  // namespace catena::tool
