// bench_static instances: evidence about the speed of an arch's instances, read off the machine
// code that nvcc makes of them.
#include "commands.hpp"
#include "families.hpp"
#include "instance_evidence.hpp"
#include "text_file.hpp"
#include "today.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace catena::bench {

namespace {

using namespace catena::evidence;

void print(const std::vector<instance_evidence>& all, const arch& target) {
    std::printf(
        "%s, nvcc " CATENA_CUDA_VERSION
        ": compiled, not measured. Blocks an SM holds of those asked for, at %d "
        "values and the policy's columns.\nInstructions of a thread for a byte of weights; "
        "%s can issue %.1f, "
        "half of them integer. "
        "Predicted times: of one column and as many rows; by the instructions and the stalls "
        "of the whole\nway of a stage, and by a usual number of instructions for a byte.\n\n",
        target.name, evidence_k, target.gpu, issued_per_byte(target));
    std::printf("%9s %9s %7s %7s %5s %5s %5s %8s %8s %6s %6s %8s %8s  %s\n", "registers", "blocks",
                "load16", "cp.async", "bulk", "mma", "dp4a", "per byte", "integer", "stage",
                "cycles", "counted", "by bytes", "instance");
    for (const instance_evidence& e : all) {
        std::printf("%9d %4d of %2d %7d %7d %5d %5d %5d ", e.registers, e.blocks, e.asked,
                    e.loads16, e.async_copies, e.bulk_copies, e.mma, e.dp4a);
        if (e.dot.instructions > 0)
            std::printf("%8.1f %8.1f%c", e.dot.per_byte, e.dot.integer_per_byte,
                        e.keeps_up ? ' ' : '!');
        else
            std::printf("%8s %8s ", "", "");
        if (e.counted_us > 0)
            std::printf("%6d %6d %8.1f %8.1f ", e.code.of[0].stage_issues,
                        e.code.of[0].stage_cycles, e.counted_us, e.by_bytes_us);
        else
            std::printf("%6s %6s %8s %8s ", "", "", "", "");
        std::printf(" %s\n", e.name.c_str());
        for (const std::string& fault : e.faults) std::printf("    fault: %s\n", fault.c_str());
    }
    int slow = 0, faults = 0, fewer = 0;
    for (const instance_evidence& e : all)
        slow += !e.keeps_up, faults += static_cast<int>(e.faults.size()),
            fewer += e.blocks < e.asked;
    std::printf(
        "\n%zu instances: %d with an inner loop that cannot keep up with memory (!), %d whose "
        "shared memory "
        "leaves fewer blocks than asked for, %d faults\n",
        all.size(), slow, fewer, faults);
}

nlohmann::ordered_json as_json(const std::vector<instance_evidence>& all, const arch& target) {
    nlohmann::ordered_json root{{"arch", target.name},
                                {"evidence", "compiled, not measured"},
                                {"cuda", CATENA_CUDA_VERSION},
                                {"date", today()},
                                {"gpu", target.gpu},
                                {"issued_per_byte", issued_per_byte(target)},
                                {"k", evidence_k},
                                {"instances", nlohmann::ordered_json::array()}};
    for (const instance_evidence& e : all) {
        nlohmann::ordered_json one{{"name", e.name},
                                   {"sass_bytes", e.sass_bytes},
                                   {"registers", e.registers},
                                   {"shared_bytes", e.shared_bytes},
                                   {"blocks", e.blocks},
                                   {"asked", e.asked},
                                   {"load16", e.loads16},
                                   {"cp_async", e.async_copies},
                                   {"bulk", e.bulk_copies},
                                   {"mma", e.mma},
                                   {"dp4a", e.dp4a}};
        if (e.has_dot)
            one["dot"] = {{"instructions", e.dot.instructions},
                          {"weight_bytes", e.dot.weight_bytes},
                          {"per_byte", e.dot.per_byte},
                          {"integer_per_byte", e.dot.integer_per_byte},
                          {"keeps_up", e.keeps_up}};
        if (e.counted_us > 0)
            one["predicted"] = {{"stage_bytes", e.stage_bytes},
                                {"stage_issues", e.code.of[0].stage_issues},
                                {"stage_cycles", e.code.of[0].stage_cycles},
                                {"result_issues", e.code.of[0].result_issues},
                                {"result_cycles", e.code.of[0].result_cycles},
                                {"product_issues", e.code.of[0].product_issues},
                                {"product_cycles", e.code.of[0].product_cycles},
                                {"counted_us", e.counted_us},
                                {"by_bytes_us", e.by_bytes_us}};
        if (!e.faults.empty()) one["faults"] = e.faults;
        root["instances"].push_back(std::move(one));
    }
    return root;
}

struct instances_request {
    family_options of;
    std::string json_file;
};

int run(const instances_request& asked) {
    const arch& target = asked.of.target();
    std::vector<instance_evidence> all;
    bool sound = true;
    for (const compiled_family& f : make_families(kept_family, asked.of)) {
        const std::vector<compiled_kernel> kernels = parse_ptxas(f.result.said);
        const std::vector<sass_function> code = read_sass(f.result.cubin, target);
        for (const row& r : f.family.rows) {
            all.push_back(evidence_of(r, target, kernels, code));
            sound = sound && all.back().faults.empty();
        }
    }
    print(all, target);
    if (!asked.json_file.empty())
        tool::write_text(asked.json_file, as_json(all, target).dump(1) + "\n");
    return sound ? 0 : 1;
}

}  // namespace

void add_instances(CLI::App& app, int& code) {
    const auto asked = std::make_shared<instances_request>();
    CLI::App& command = *app.add_subcommand(
        "instances",
        "What the machine code of an arch's instances says: copies, mma, registers, spills, and "
        "the "
        "instructions of the inner loops. Exit code 1: an instance does not do what its policy "
        "says.");
    add_family_options(command, asked->of);
    command.add_option("--json", asked->json_file, "Also write the figures here");
    command.callback([asked, &code] { code = run(*asked); });
}

}  // namespace catena::bench
