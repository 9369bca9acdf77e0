// catena doctor: what of Catena runs on this machine, what falls back, and why.
#include "command.hpp"
#include "doctor/findings.hpp"
#include "json_text.hpp"
#include "output.hpp"
#include "version.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <memory>

namespace catena::tool {
namespace {

std::string cuda_version(int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string as_text(const diagnosis& d) {
    fmt::memory_buffer out;
    const auto line = [&out](const std::string& of, const std::string& text) {
        fmt::format_to(std::back_inserter(out), "{:<12} {}\n", of, text);
    };
    line("catena", fmt::format("{}, {}", version,
                               d.cuda.built_in ? "built with CUDA " + cuda_version(d.cuda.runtime)
                                               : std::string("built without CUDA")));
    if (d.cuda.built_in)
        line("driver", d.cuda.driver == 0 ? "none" : "for CUDA " + cuda_version(d.cuda.driver));
    line("nvcc", d.nvcc.empty() ? "none: catena tune has no compiler for its candidates" : d.nvcc);
    for (std::size_t i = 0; i < d.cuda.gpus.size(); ++i) {
        const seen_gpu& g = d.cuda.gpus[i];
        line(fmt::format("GPU {}", i),
             fmt::format("{}, sm_{}, {}", g.name, g.compute_capability,
                         g.set.empty() ? "served by no set" : "served by " + g.set));
    }
    for (const built_set& s : d.sets)
        line(name_of(s), fmt::format("{} rows, {}", s.rows,
                                     s.kernels == 0 ? std::string("to plan with")
                                                    : fmt::format("{} with kernels", s.kernels)));
    for (const std::string& variable : d.set_by_environment) line("environment", variable);
    const std::vector<std::string> findings = d.findings();
    for (const std::string& f : findings) line("\nfinding", f);
    if (findings.empty()) out.append(std::string("\nall runs here\n"));
    return fmt::to_string(out);
}

std::string as_json(const diagnosis& d) {
    nlohmann::ordered_json gpus = nlohmann::ordered_json::array(), sets = gpus;
    for (const seen_gpu& g : d.cuda.gpus)
        gpus.push_back({{"name", g.name},
                        {"compute_capability", g.compute_capability},
                        {"set", g.set},
                        {"why", g.why}});
    for (const built_set& s : d.sets)
        sets.push_back({{"of", s.of.empty() ? "catena" : s.of},
                        {"arch", s.arch},
                        {"rows", s.rows},
                        {"kernels", s.kernels}});
    return json_text({{"cuda", d.cuda.built_in ? cuda_version(d.cuda.runtime) : ""},
                      {"driver", d.cuda.driver == 0 ? "" : cuda_version(d.cuda.driver)},
                      {"nvcc", d.nvcc},
                      {"gpus", std::move(gpus)},
                      {"sets", std::move(sets)},
                      {"environment", d.set_by_environment},
                      {"findings", d.findings()}});
}

}  // namespace

void add_doctor(CLI::App& app, int& code) {
    auto o = std::make_shared<output_options>();
    CLI::App* command = app.add_subcommand(
        "doctor",
        "Say what of Catena runs on this machine: toolkit, driver, GPUs, instance sets, what falls "
        "back and why. 1: there is a finding.");
    command->footer(exit_code_help);
    add_output_options(*command, *o);
    command->callback([o, &code] {
        refuse_unwritable(o->file);
        const diagnosis d = diagnose();
        write_result(*o, o->json ? as_json(d) : as_text(d));
        code = d.findings().empty() ? exit_ok : exit_check_failed;
    });
}

}  // namespace catena::tool
