#include "stages.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace catena::ab {
namespace {

/// What the launches of one instance took.
struct row_sum {
    double us = 0;
    int launches = 0;
};

}  // namespace

nlohmann::json steps(llama_model* model, int tokens, int sequences) {
    constexpr int before = 2;  // the first plans and loads kernels
    decoder d(model, {.who = side::on,
                      .tokens = tokens + before,
                      .sequences = sequences,
                      .times = timed_steps::yes});
    random_tokens random(model, 1);
    std::vector<llama_token> batch(static_cast<std::size_t>(sequences));
    std::vector<std::string> said;
    std::map<std::string, row_sum> rows;
    for (int i = 0; i < before + tokens; ++i) {
        for (llama_token& t : batch) t = random.next();
        d.step(batch);
        d.wait();
        for (const std::string& line : decoder::catena_said()) {
            char name[256];
            double us = 0;
            int launches = 0;
            if (std::sscanf(line.c_str(), " %lf us in %d launches of %255s", &us, &launches,
                            name) != 3)
                said.push_back(line);
            else if (i >= before) {  // a walk logs the times of the walk before it
                rows[name].us += us;
                rows[name].launches += launches;
            }
        }
    }
    if (rows.empty())
        throw std::runtime_error("Catena logged no times of steps" +
                                 (said.empty() ? std::string() : ": " + said.back()));
    nlohmann::json out{{"catena", said}, {"rows", nlohmann::json::array()}};
    for (const auto& [name, sum] : rows)
        out["rows"].push_back({{"row", name},
                               {"us", sum.us / tokens},
                               {"launches", static_cast<double>(sum.launches) / tokens}});
    return out;
}

}  // namespace catena::ab
