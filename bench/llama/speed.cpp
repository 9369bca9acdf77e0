#include "stages.hpp"

#include <chrono>

namespace catena::ab {
namespace {

/// Runs the stage once, from empty memory; tokens a second.
double run(decoder& d, llama_model* model, const speed_stage& s, std::uint32_t seed) {
    using clock = std::chrono::steady_clock;
    random_tokens tokens(model, seed);
    d.clear();
    d.wait();
    std::vector<llama_token> batch(static_cast<std::size_t>(s.prompt ? s.tokens : s.sequences));
    const auto begin = clock::now();
    if (s.prompt) {
        for (llama_token& t : batch) t = tokens.next();
        d.prompt(batch, answered::last);
        d.wait();
    }
    for (int i = 0; i < s.tokens && !s.prompt; ++i) {
        for (llama_token& t : batch) t = tokens.next();
        d.step(batch);
        d.wait();
    }
    const std::chrono::duration<double> seconds = clock::now() - begin;
    return s.tokens * s.sequences / seconds.count();
}

}  // namespace

nlohmann::json speed(llama_model* model, const speed_stage& stage, const effort& e) {
    context_options o{.tokens = stage.tokens, .sequences = stage.sequences};
    decoder off(model, o);
    o.who = side::on;
    decoder on(model, o);
    device_copy copy(e.copy_bytes);
    run(off, model, stage, 0);  // plans, loads kernels, captures graphs
    run(on, model, stage, 0);

    nlohmann::json out{{"off", nlohmann::json::array()},
                       {"on", nlohmann::json::array()},
                       {"copy_bytes_per_us", nlohmann::json::array()}};
    for (int turn = 0; turn < e.turns; ++turn) {
        const auto seed = static_cast<std::uint32_t>(turn + 1);
        out["copy_bytes_per_us"].push_back(copy.bytes_per_us());
        const bool off_first = turn % 2 == 0;  // neither side is always the second
        if (off_first) out["off"].push_back(run(off, model, stage, seed));
        out["on"].push_back(run(on, model, stage, seed));
        if (!off_first) out["off"].push_back(run(off, model, stage, seed));
    }
    out["catena"] = decoder::catena_said();
    return out;
}

}  // namespace catena::ab
