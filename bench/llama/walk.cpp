#include "ab_device.hpp"
#include "stages.hpp"

namespace catena::ab {
namespace {

void decode(llama_model* model, side who, int tokens, int sequences) {
    decoder d(model, {.who = who, .tokens = tokens, .sequences = sequences});
    random_tokens random(model, 1);
    std::vector<llama_token> batch(static_cast<std::size_t>(sequences));
    for (int i = 0; i < tokens; ++i) {
        for (llama_token& t : batch) t = random.next();
        d.step(batch);
        d.wait();
    }
}

}  // namespace

nlohmann::json walk(llama_model* model, int tokens, int sequences) {
    decoder::catena_said();
    decode(model, side::off, tokens, sequences);
    decode(model, side::on, tokens, sequences);
    return {{"catena", decoder::catena_said()}};
}

nlohmann::json phases(llama_model* model, int tokens, int sequences) {
    decoder::catena_said();
    decode(model, side::on, tokens, sequences);
    return {{"blocks", phases_of_device()}, {"catena", decoder::catena_said()}};
}

}  // namespace catena::ab
