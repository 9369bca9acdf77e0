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

/// Whoever takes turns, and by what name.
struct contender {
    decoder& is;
    const char* name;
};

/// Both run the stage, each once before it counts; `before` is called before each turn.
template <class Before>
nlohmann::json in_turns(contender a, contender b, llama_model* model, const speed_stage& stage,
                        int turns, Before before) {
    run(a.is, model, stage, 0);  // plans, loads kernels, captures graphs
    run(b.is, model, stage, 0);
    nlohmann::json out{{a.name, nlohmann::json::array()}, {b.name, nlohmann::json::array()}};
    for (int turn = 0; turn < turns; ++turn) {
        const auto seed = static_cast<std::uint32_t>(turn + 1);
        before();
        const bool a_first = turn % 2 == 0;  // neither is always the second
        if (a_first) out[a.name].push_back(run(a.is, model, stage, seed));
        out[b.name].push_back(run(b.is, model, stage, seed));
        if (!a_first) out[a.name].push_back(run(a.is, model, stage, seed));
    }
    out["catena"] = decoder::catena_said();
    return out;
}

}  // namespace

nlohmann::json speed(llama_model* model, const speed_stage& stage, const effort& e) {
    context_options o{.tokens = stage.tokens, .sequences = stage.sequences};
    decoder off(model, o);
    o.who = side::on;
    decoder on(model, o);
    device_copy copy(e.copy_bytes);
    nlohmann::json copied = nlohmann::json::array();
    nlohmann::json out = in_turns({off, "off"}, {on, "on"}, model, stage, e.turns,
                                  [&] { copied.push_back(copy.bytes_per_us()); });
    out["copy_bytes_per_us"] = copied;
    return out;
}

nlohmann::json race(llama_model* model, const speed_stage& stage, const std::string& rows,
                    const effort& e) {
    context_options o{.who = side::on, .tokens = stage.tokens, .sequences = stage.sequences};
    decoder usual(model, o);
    o.rows = rows;
    decoder candidate(model, o);
    nlohmann::json out =
        in_turns({usual, "default"}, {candidate, "candidate"}, model, stage, e.turns, [] {});
    out["rows"] = rows;
    return out;
}

}  // namespace catena::ab
