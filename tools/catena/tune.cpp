// catena tune: searches the policies of an arch's launches on a GPU, or on a simulated one.
#include "command.hpp"
#include "json_text.hpp"
#include "output.hpp"
#include "run/progress.hpp"
#include "tables.hpp"

#include "cuda.hpp"
#include "json/bytes.hpp"
#include "model.hpp"
#include "nearest.hpp"
#include "registers.hpp"
#include "simulated.hpp"
#include "text_file.hpp"
#include "tuner.hpp"
#include "walks.hpp"

#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

namespace catena::tool {
namespace {

using tune::tuned_candidate;
using tune::tuned_problem;

struct tune_options {
    std::string arch = "native", root = root_of_headers(), nvcc = CATENA_NVCC, out, rows, walks,
                registers;
    std::vector<std::string> graphs;
    tune::selection wanted;
    tune::budget within;
    std::optional<std::uint64_t> simulate;
    bool resume = false, check_model = false, list = false;
    output_options output;
};

std::atomic<bool> interrupted{false};

/// The first interrupt asks for an end, so that the state is written whole; a second one kills.
void listen_for_interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
}

/// The graphs that the project was given.
std::vector<std::string> given_graphs(const std::string& root) {
    const std::filesystem::path folder = std::filesystem::path(root) / "tests/data/graphs";
    std::vector<std::string> files;
    if (std::filesystem::is_directory(folder))
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    if (files.empty()) throw failure(folder.string() + " holds no graphs: name some with --graphs");
    return files;
}

std::vector<std::string> tunable_archs() {
    std::vector<std::string> names;
    for (const arch& a : arch_registry)
        if (a.compute_capability != 0) names.emplace_back(a.name);
    return names;
}

const arch& target_of(const tune_options& o) {
    const std::string name = o.arch == "native" ? tune::native_arch() : o.arch;
    const arch* target = arch_named(name.c_str());
    if (name.empty())
        throw failure("there is no GPU to tune on: name an --arch and try --simulate SEED");
    if (target == nullptr || target->compute_capability == 0)
        throw failure(
            fmt::format("no arch is called '{}'{}", name, did_you_mean(name, tunable_archs())));
    return *target;
}

std::string duration(double seconds) {
    const auto s = static_cast<long>(std::max(seconds, 0.0));
    return s < 60 ? fmt::format("{} s", s) : fmt::format("{} m {} s", s / 60, s % 60);
}

const tuned_candidate* chosen(const tuned_problem& p) {
    const auto at = std::find_if(p.candidates.begin(), p.candidates.end(),
                                 [](const auto& c) { return c.is == generator::verdict::chosen; });
    return at == p.candidates.end() ? nullptr : &*at;
}

template <class... Kinds>
std::int64_t count_of(const tuned_problem& p, Kinds... kinds) {
    return std::count_if(p.candidates.begin(), p.candidates.end(),
                         [&](const tuned_candidate& c) { return ((c.is == kinds) || ...); });
}

/// A line for each problem: what was chosen, and the best of the other candidates beside it.
std::string as_text(const generator::tuning& t) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "{} on {}, driver {}, CUDA {}, {}\n\n", t.arch, t.on.gpu, t.on.driver,
                   t.on.cuda, t.on.date);
    fmt::format_to(put, "{:>9} {:>7} {:>10} {:>5} {:>5}  {:<44} {}\n", "median us", "spread",
                   "predicted", "tied", "fell", "problem", "chosen");
    for (const tuned_problem& p : t.problems) {
        const tuned_candidate* const at = chosen(p);
        if (at == nullptr) {
            fmt::format_to(put, "{:>9} {:>7} {:>10} {:>5} {:>5}  {:<44} {}\n", "-", "", "", "",
                           count_of(p, generator::verdict::failed), tune::text(p.what),
                           p.decided ? "no candidate is right" : "undecided");
            continue;
        }
        fmt::format_to(put, "{:>9.2f} {:>6.1f}% {:>10.2f} {:>5} {:>5}  {:<44} {}\n", at->median_us,
                       100 * at->spread, at->predicted_us, count_of(p, generator::verdict::tied),
                       count_of(p, generator::verdict::slower, generator::verdict::failed),
                       tune::text(p.what), policy_part(at->policy));
    }
    return fmt::to_string(out);
}

std::string as_json(const generator::tuning& t) {
    using value = nlohmann::ordered_json;
    value root{{"arch", t.arch},    {"gpu", t.on.gpu},   {"driver", t.on.driver},
               {"cuda", t.on.cuda}, {"date", t.on.date}, {"problems", value::array()}};
    for (const tuned_problem& p : t.problems) {
        value v{{"problem", tune::text(p.what)},
                {"decided", p.decided},
                {"tied", count_of(p, generator::verdict::tied)},
                {"slower", count_of(p, generator::verdict::slower)},
                {"failed", count_of(p, generator::verdict::failed)}};
        if (const tuned_candidate* const c = chosen(p))
            v["chosen"] = {{"instance", row_name(p.computes, c->policy, t.arch.c_str())},
                           {"median_us", c->median_us},
                           {"spread", c->spread},
                           {"predicted_us", c->predicted_us}};
        root["problems"].push_back(std::move(v));
    }
    return json_text(root);
}

std::string as_json(const std::vector<tune::model_error>& today,
                    const std::vector<tune::model_error>& held,
                    const std::vector<tune::walk_sum>& walks, const std::string& file) {
    using value = nlohmann::ordered_json;
    const auto list = [](const std::vector<tune::model_error>& errors) {
        value out = value::array();
        for (const tune::model_error& e : errors)
            out.push_back({{"of", e.of},
                           {"measurements", e.measurements},
                           {"typical", e.typical},
                           {"deviation", e.deviation},
                           {"near", e.near},
                           {"worst", e.worst},
                           {"problems", e.problems},
                           {"lost", e.lost}});
        return out;
    };
    value root{{"record", file}, {"errors", list(today)}, {"held_back", list(held)}};
    root["walks"] = value::array();
    for (const tune::walk_sum& w : walks)
        root["walks"].push_back({{"model", w.model},
                                 {"load", w.load},
                                 {"steps", w.steps},
                                 {"measured_us", w.measured_us},
                                 {"predicted_us", w.predicted_us}});
    return json_text(root);
}

/// The listed rows, with the registers and counts of the code that was timed if a file has them.
std::vector<row> rows_as_timed(const arch& target, const std::string& registers) {
    const table listed = table_for(target.name);
    std::vector<row> rows(listed.rows, listed.rows + listed.row_count);
    if (registers.empty()) return rows;
    const evidence::records_by_name timed = evidence::read_register_file(registers);
    bool any = false;
    for (row& r : rows) {
        const auto at = timed.find(row_name(r, target.name));
        if (at == timed.end()) continue;
        r.registers = at->second.registers, r.code = at->second.code;
        any = true;
    }
    if (!any)
        throw failure(fmt::format("{} has no row of {}: name a record of its registers", registers,
                                  target.name));
    return rows;
}

/// The cost model's errors on a record, and on walks; both may be packed by gzip.
std::string checked_model(const tune_options& o, const arch& target, const std::string& file) {
    const bool there = std::filesystem::exists(file) && !std::filesystem::is_empty(file);
    if (!there && !o.out.empty())
        throw failure(file + " is not there, or empty: name a record that catena tune wrote");
    const std::vector<row> rows = rows_as_timed(target, o.registers);
    std::vector<tune::model_error> today, held;
    if (there) {
        const generator::tuning record = generator::parse_tuning(json::bytes_of(file), file);
        const tune::model_check check(record, target, rows);
        today = check.errors(check.predicted());
        if (!today.empty()) held = check.errors(check.predicted_held_back());
    }
    std::vector<tune::walk_sum> walks;
    if (!o.walks.empty()) walks = tune::walks_of(read_launches(o.walks), target, rows);
    if (o.output.json) return as_json(today, held, walks, file);
    return tune::text(today, held, file) + (walks.empty() ? "" : tune::text(walks, o.walks));
}

/// What pick/measured_file.hpp reads.
std::string as_rows(const generator::tuning& t) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "# Medians for catena::measured_file: {}, {}, CUDA {}, {}\n", t.arch,
                   t.on.gpu, t.on.cuda, t.on.date);
    for (const tuned_problem& p : t.problems) {
        if (!p.decided) continue;
        fmt::format_to(put, "# {}\n", tune::text(p.what));
        for (const tuned_candidate& c : p.candidates)
            if (c.samples > 0)
                fmt::format_to(put, "{} {:016x} {:.4f} {:.4f}\n",
                               row_name(p.computes, c.policy, t.arch.c_str()), problem_key(p.what),
                               c.median_us, c.spread);
    }
    return fmt::to_string(out);
}

/// The candidates of every problem in the same form, with predicted times: those of the set alone,
/// since nobody has compiled the others.
std::string as_list(const generator::tuning& t, const tune::described_set& set) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "# Candidates of {}, predicted us\n", t.arch);
    for (const tuned_problem& p : t.problems) {
        fmt::format_to(put, "# {}; {} launches\n", tune::text(p.what), p.places);
        for (const tuned_candidate& c : p.candidates) {
            const auto rows = set.rows_of(p.computes);
            const bool compiled = std::any_of(rows.begin(), rows.end(),
                                              [&](const row& r) { return r.policy == c.policy; });
            if (compiled)
                fmt::format_to(put, "{} {:016x} {:.4f} 0\n",
                               row_name(p.computes, c.policy, t.arch.c_str()), problem_key(p.what),
                               c.predicted_us);
        }
    }
    return fmt::to_string(out);
}

tune::watcher watcher_of(progress_line& line, const std::string& out) {
    tune::watcher watch;
    watch.stop = [] { return interrupted.load(); };
    watch.show = [&line](const tune::progress& p) {
        line.show(
            p.problem, p.problems,
            fmt::format("{}, {} candidates, {} left", p.what, p.candidates, duration(p.left_s)));
    };
    watch.decided = [out](const generator::tuning& t) {
        if (!out.empty()) write_whole(out, generator::tuning_text(t));
    };
    return watch;
}

std::unique_ptr<tune::timing_device> device_of(const tune_options& o, const arch& target) {
    if (o.simulate)
        return std::make_unique<tune::simulated_device>(target,
                                                        tune::simulation{.seed = *o.simulate});
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return tune::cuda_device(target, {.compiler = compiler_of_rows(o.nvcc, o.root), .jobs = cores});
}

int tune_now(const tune_options& o) {
    if (!(o.within.seconds > 0)) throw failure("--time leaves none: give it more than 0 s");
    const arch& target = target_of(o);
    const table* const own = own_table(target);
    const std::string recorded = own != nullptr ? std::string(target.name) + ".json"
                                                : o.root + "/" + generator::tuning_path(target);
    if (o.check_model) {
        write_result(o.output, checked_model(o, target, o.out.empty() ? recorded : o.out));
        return exit_ok;
    }
    const std::string out = o.out.empty() && !o.simulate ? recorded : o.out;
    const auto set = own != nullptr ? tune::described_set(*own)
                                    : tune::described_set(target, table_for(target.name));
    const auto shapes_wanted = [&] {
        return tune::shapes_of(o.graphs.empty() ? given_graphs(o.root) : o.graphs, set, o.wanted);
    };
    if (o.list) {
        write_result(o.output,
                     as_list(tune::blank(target, set, shapes_wanted(), {}, o.within), set));
        return exit_ok;
    }
    if (o.resume && out.empty())
        throw failure("--resume wants the --out that an earlier run wrote");
    for (const std::string& file : {out, o.rows, o.output.file}) refuse_unwritable(file);

    auto on = device_of(o, target);
    const auto shapes = shapes_wanted();
    if (shapes.empty())
        throw failure("the graphs ask for no launch of the chains and formats named");
    generator::tuning t = tune::blank(target, set, shapes, on->who(), o.within);
    if (const std::string earlier = o.resume ? read_text(out) : ""; !earlier.empty())
        tune::resume(t, generator::parse_tuning(earlier, out), out);

    listen_for_interrupts();
    bool all = false;
    try {
        progress_line line;
        all = tune::tune(t, *on, o.within, watcher_of(line, out));
    } catch (const tune::device_broken& e) {
        (void)on.release();  // to free its memory would wait for a kernel that may never end
        throw failure(fmt::format(
            "{}: this process can use the GPU no more{}", e.what(),
            out.empty() ? "" : "; the same command with --resume goes on without that candidate"));
    }
    if (!out.empty()) write_whole(out, generator::tuning_text(t));
    if (!o.rows.empty()) write_whole(o.rows, as_rows(t));
    write_result(o.output, o.output.json ? as_json(t) : as_text(t));
    if (!all)
        fmt::print(stderr, "{}: not everything is decided{}\n",
                   interrupted ? "interrupted" : "time is up",
                   out.empty() ? "" : "; the same command with --resume goes on");
    const bool decided =
        std::any_of(t.problems.begin(), t.problems.end(), [](const auto& p) { return p.decided; });
    return decided ? exit_ok : exit_incomplete;
}

}  // namespace

void add_tune(CLI::App& app, int& code) {
    auto o = std::make_shared<tune_options>();
    CLI::App* command = app.add_subcommand("tune",
                                           "Search the policies of the launches that real graphs "
                                           "ask for, on the GPU: candidates that the "
                                           "cost model likes are compiled, checked and raced; the "
                                           "simplest that nothing beats is chosen. "
                                           "Interrupted or out of time, it writes what it knows.");
    command->footer(exit_code_help);
    add_arch(*command, o->arch)->capture_default_str();
    command->add_option("--chains", o->wanted.chains,
                        "Only launches of these entries of the catalogue");
    command->add_option("--formats", o->wanted.formats, "Only matrices of these formats");
    command
        ->add_option("--graphs", o->graphs,
                     "Graph files to take shapes from (default: those given)")
        ->check(CLI::ExistingFile);
    const std::map<std::string, double> units = {{"s", 1}, {"m", 60}, {"h", 3600}};
    command->add_option("--time", o->within.seconds, "When to end, such as 90s or 5m (default 5m)")
        ->transform(CLI::AsNumberWithUnit(units))
        ->type_name("TIME");
    command
        ->add_option("--candidates", o->within.candidates,
                     "Policies to compile for a problem, besides those listed")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    add_output_file(
        *command, "--out", o->out,
        "The record (default instances/ARCH/tuning.json, of an engine's own set ARCH.json; none "
        "for --simulate)");
    CLI::Option* const resume = command->add_flag(
        "--resume", o->resume, "Go on from the record: nothing is measured twice");
    add_output_file(*command, "--rows", o->rows,
                    "Also write the medians as text for catena::measured_file");
    CLI::Option* const simulate =
        command
            ->add_option("--simulate", o->simulate,
                         "No GPU: the cost model, bent and with noise, by this seed")
            ->type_name("SEED");
    CLI::Option* const check =
        command
            ->add_flag("--check-model", o->check_model,
                       "Only print the cost model's error against the record")
            ->excludes(resume)
            ->excludes(simulate);
    command
        ->add_option("--walks", o->walks,
                     "With --check-model: also against this record of launches, such as those in "
                     "bench/results")
        ->type_name("FILE")
        ->needs(check);
    command
        ->add_option("--registers", o->registers,
                     "With --check-model: the registers and counts of the code that was timed, "
                     "such as those in bench/results (default: those on record)")
        ->type_name("FILE")
        ->needs(check);
    command
        ->add_flag("--list", o->list,
                   "Only list the candidates that the set has, as lines for catena::measured_file "
                   "with predicted times: for whoever measures them elsewhere")
        ->excludes(resume)
        ->excludes(simulate);
    command->add_option("--root", o->root, "The project's root, for headers, graphs and instances")
        ->check(CLI::ExistingDirectory);
    command->add_option("--nvcc", o->nvcc, "The compiler of candidates");
    add_output_options(*command, o->output);
    command->callback([o, &code] { code = tune_now(*o); });
}

}  // namespace catena::tool
