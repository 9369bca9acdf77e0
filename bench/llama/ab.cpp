// llama_ab: models of random weights, and what Catena changes in their speed and their logits.
// scripts/llama-bench calls it.
#include "ab_device.hpp"
#include "stages.hpp"
#include "synthetic.hpp"

#include <ggml.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <regex>

namespace {

using namespace catena::ab;

struct stage {
    std::string kind;
    int tokens = 0, sequences = 1;
};

/// Such as pp512, tg128x4, logits64, walk32.
stage stage_named(const std::string& name) {
    static const std::regex form(
        "(pp|tg|logits|steps|walk|phases)([1-9][0-9]{0,5})(x([1-9][0-9]?))?");
    std::smatch parts;
    const bool known = std::regex_match(name, parts, form);
    stage out;
    if (known) out = {parts[1], std::stoi(parts[2]), parts[4].matched ? std::stoi(parts[4]) : 1};
    const bool many = out.sequences > 1 && (out.kind == "pp" || out.kind == "logits");
    if (!known || many)
        throw std::runtime_error(
            "no stage '" + name +
            "': name some such as pp512, tg128, tg128x4, logits64, steps16, walk32");
    return out;
}

nlohmann::json measure(llama_model* model, const stage& s, const effort& e) {
    if (s.kind == "logits") return logits(model, s.tokens);
    if (s.kind == "steps") return steps(model, s.tokens, s.sequences);
    if (s.kind == "walk") return walk(model, s.tokens, s.sequences);
    if (s.kind == "phases") return phases(model, s.tokens, s.sequences);
    return speed(model, {s.kind == "pp", s.tokens, s.sequences}, e);
}

/// A line for each stage, as soon as it is measured.
void measure_all(const std::string& file, const std::vector<std::string>& names, const effort& e) {
    std::vector<stage> stages;
    for (const std::string& name : names) stages.push_back(stage_named(name));
    const model_handle model = load(file);
    for (std::size_t i = 0; i < stages.size(); ++i) {
        nlohmann::json out;
        try {
            out = measure(model.get(), stages[i], e);
        } catch (const std::runtime_error& failed) {
            out = {{"failed", failed.what()}};
        }
        out["stage"] = names[i];
        std::cout << out << std::endl;
    }
}

/// A line for each file of medians.
void race_all(const std::string& file, const std::string& name,
              const std::vector<std::string>& rows, const effort& e) {
    const stage s = stage_named(name);
    if (s.kind != "tg") throw std::runtime_error("races are of single tokens, such as tg16");
    const model_handle model = load(file);
    for (const std::string& of : rows)
        std::cout << race(model.get(), {false, s.tokens, s.sequences}, of, e) << std::endl;
}

void print_facts() {
    ggml_backend_dev_t device = measured_device();
    std::size_t free = 0, total = 0;
    ggml_backend_dev_memory(device, &free, &total);
    const nlohmann::json facts{{"gpu", ggml_backend_dev_description(device)},
                               {"memory_bytes", total},
                               {"ggml", ggml_version()},
                               {"cuda", build_facts().cuda},
                               {"catena", build_facts().catena}};
    std::cout << facts << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Models of random weights, and what Catena changes in them"};
    app.require_subcommand(1);
    std::string file, raced_stage;
    std::vector<std::string> stages, rows;
    effort asked;
    std::size_t copy_mb = 1024;

    app.add_subcommand("facts", "Prints what the device is")->callback(print_facts);
    CLI::App* make = app.add_subcommand("make", "Writes a GGUF file from a recipe on stdin");
    make->add_option("FILE", file)->required();
    make->callback([&] { write_model(std::cin, file); });
    CLI::App* measuring = app.add_subcommand("measure", "Prints a line of JSON for each stage");
    measuring->add_option("FILE", file)->required();
    measuring->add_option("STAGE", stages)->required();
    measuring->add_option("--turns", asked.turns)->check(CLI::Range(1, 1000));
    measuring->add_option("--copy-mb", copy_mb)->check(CLI::Range(1, 16384));
    measuring->callback([&] {
        asked.copy_bytes = copy_mb << 20;
        measure_all(file, stages, asked);
    });
    CLI::App* racing = app.add_subcommand(
        "race", "Prints a line of JSON for each file of medians, which decide on one side");
    racing->add_option("FILE", file)->required();
    racing->add_option("STAGE", raced_stage)->required();
    racing->add_option("ROWS", rows)->required();
    racing->add_option("--turns", asked.turns)->check(CLI::Range(1, 1000));
    racing->callback([&] { race_all(file, raced_stage, rows, asked); });
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e);
    } catch (const std::exception& e) {
        std::cerr << "llama_ab: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
