#include "walks.hpp"

#include "code.hpp"
#include "tuning.hpp"

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <stdexcept>

namespace catena::tune {

namespace {

constexpr const char* walks_format = "catena walks 1";

double predicted(const generator::tuned_problem& p, const arch& a,
                 const std::vector<row>& recorded) {
    const generator::tuned_candidate& c = p.candidates.front();
    row r = {.computes = p.computes,
             .policy = c.policy,
             .order = order_of(c.policy),
             .registers = c.registers,
             .evidence = {}};
    r.code = code_like(r, recorded);
    const int resident = blocks_per_sm(r, p.what, a);
    return predicted_us(r, p.what, a, band_rows(r, p.what, a, resident), resident);
}

}  // namespace

std::vector<walk_sum> walks_of(const std::string& record, const std::string& file, const arch& a,
                               const std::vector<row>& recorded) try {
    const auto root = nlohmann::json::parse(record);
    if (root.at("format") != walks_format)
        throw std::runtime_error(std::string("its format is not '") + walks_format + "'");
    std::vector<walk_sum> out;
    for (const auto& walk : root.at("walks")) {
        const generator::tuning t = generator::parse_tuning(walk.at("record").dump(), file);
        if (t.arch != a.name) continue;
        walk_sum sum = {walk.at("model"), walk.at("sequences"), 0, walk.at("us"), 0};
        for (const generator::tuned_problem& p : t.problems) {
            if (p.candidates.empty()) throw std::runtime_error("a launch has no row");
            sum.steps += p.places;
            sum.predicted_us += p.places * predicted(p, a, recorded);
        }
        out.push_back(sum);
    }
    return out;
} catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(file + " is no record of walks: " + e.what());
} catch (const std::runtime_error& e) {
    throw std::runtime_error(file + " is no record of walks: " + e.what());
}

std::string text(const std::vector<walk_sum>& walks, const std::string& file) {
    std::string out =
        "Catena's steps of a walk, predicted and measured, " + file +
        "\n  steps  predicted us  measured us  predicted / measured  model, sequences\n";
    for (const walk_sum& w : walks) {
        char line[160];
        std::snprintf(line, sizeof line, "%7d %13.0f %12.0f %21.2f  ", w.steps, w.predicted_us,
                      w.measured_us, w.predicted_us / w.measured_us);
        out += line + w.model + ", " + std::to_string(w.sequences) + "\n";
    }
    return out;
}

}  // namespace catena::tune
