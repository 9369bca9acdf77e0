#include "stages.hpp"

#include <regex>
#include <stdexcept>

namespace catena::ab {
namespace {

/// What Catena logs of a step, and of the walks that it is among (launch/timer.hpp).
const std::regex step_line(
    R"( *(\S+) us, mean (\S+), \S+ %, (\d+) bytes, attainable in (\S+) us: (.*): (\S+))");
const std::regex walks_line(
    R"(catena: (\d+) steps take (\S+) us, by the median of walks: (\d+); .*)");

void random_steps(llama_model* model, int tokens, int sequences) {
    decoder d(
        model,
        {.who = side::on, .tokens = tokens, .sequences = sequences, .times = timed_steps::yes});
    random_tokens random(model, 1);
    std::vector<llama_token> batch(static_cast<std::size_t>(sequences));
    for (int i = 0; i < tokens; ++i) {
        for (llama_token& t : batch) t = random.next();
        d.step(batch);
    }
}

}  // namespace

nlohmann::json steps(llama_model* model, int tokens, int sequences) {
    decoder::catena_said();
    random_steps(model, tokens, sequences);  // times are logged when the context is freed
    nlohmann::json out{{"catena", nlohmann::json::array()}, {"walks", 0}};
    bool of_decoding = false;
    for (const std::string& line : decoder::catena_said()) {
        std::smatch part;
        if (std::regex_match(line, part, walks_line)) {
            of_decoding = std::stoi(part[3]) > out["walks"];
            if (of_decoding)
                out.update({{"walks", std::stoi(part[3])},
                            {"steps", std::stoi(part[1])},
                            {"us", std::stod(part[2])},
                            {"slowest", nlohmann::json::array()}});
        } else if (!std::regex_match(line, part, step_line)) {
            out["catena"].push_back(line);
        } else if (of_decoding) {
            out["slowest"].push_back({{"step", part[5].str()},
                                      {"instance", part[6].str()},
                                      {"us", std::stod(part[1])},
                                      {"mean_us", std::stod(part[2])},
                                      {"bytes", std::stoll(part[3])},
                                      {"attainable_us", std::stod(part[4])}});
        }
    }
    if (out["walks"] == 0)
        throw std::runtime_error("Catena logged no times of steps" +
                                 (out["catena"].empty()
                                      ? std::string()
                                      : ": " + out["catena"].back().get<std::string>()));
    return out;
}

}  // namespace catena::ab
